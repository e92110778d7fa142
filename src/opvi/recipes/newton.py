"""Ascent to the modes: damped Newton steps in scaled coordinates, many starts at once.

With D_i = (|H_ii| + c g_i^2)^(-1/2), c small and c = 1, every coordinate is measured in its own
units, and the Hessian of a posterior with scales from 1e-6 to 1e6 is as harmless as any. The step
uses the absolute values of its eigenvalues, so that it climbs away from saddles.
"""

from dataclasses import dataclass, field

import numpy as np

from opvi._core.linear import scaled_eigh
from opvi.posterior.evaluate import Evaluator

DAMPINGS = np.array([0.0, 0.03, 0.3, 3.0, 30.0, 1000.0])
STEEP_DAMPINGS = np.array([0.0, 0.3, 30.0])
CURVED = 1e-4  # share of the slope in the units of a coordinate that has a curvature
CONVERGED = 1e-4  # the gain a Newton step promises, in nats: a hundredth of an sd


@dataclass
class Ascent:
    """One start on its way up. `path`: the points it came through, with H and g."""

    z: np.ndarray
    log_density: float
    score: np.ndarray
    hessian: np.ndarray | None = None
    converged: bool = False
    stuck: bool = False
    path: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)

    @property
    def running(self) -> bool:
        return not (self.converged or self.stuck)


def ascend(evaluate: Evaluator, starts: np.ndarray, steps: int = 40) -> list[Ascent]:
    """Climb from every start at which log p and its gradient are finite."""
    values, scores = evaluate(starts)
    finite = np.isfinite(values) & np.isfinite(scores).all(1)
    ascents = [Ascent(starts[i], values[i], scores[i]) for i in np.flatnonzero(finite)]
    for _ in range(steps):
        running = [a for a in ascents if a.running]
        if not running:
            break
        hessians = evaluate.hessians(np.stack([a.z for a in running]))
        candidates = []
        for ascent, hessian in zip(running, hessians, strict=True):
            candidates.append(_candidates(ascent, hessian))
        tried = np.concatenate(candidates)
        values, scores = evaluate(tried)
        good = np.isfinite(values) & np.isfinite(scores).all(1)
        values = np.where(good, values, -np.inf).reshape(len(running), -1)
        scores = scores.reshape(*values.shape, -1)
        for i, ascent in enumerate(running):
            best = int(np.argmax(values[i]))
            if not values[i, best] > ascent.log_density:
                ascent.stuck = not ascent.converged
                continue
            ascent.z = candidates[i][best]
            ascent.log_density, ascent.score = float(values[i, best]), scores[i, best]
    _close(evaluate, ascents)
    return ascents


def _candidates(ascent: Ascent, hessian: np.ndarray) -> np.ndarray:
    """Newton points with more and more damping; notes whether the first promises nothing."""
    if not np.isfinite(hessian).all():
        unit = 1.0 / np.maximum(np.abs(ascent.score), 1e-30)
        steps = unit * np.sign(ascent.score) / (1.0 + DAMPINGS[:, None])
        return ascent.z + np.concatenate([steps, np.zeros((len(STEEP_DAMPINGS), len(unit)))])
    ascent.path.append((ascent.z, hessian, ascent.score))
    ascent.hessian = hessian
    # By the curvature alone a step is exact on a quadratic; by the slope it is no longer than a
    # width where the curvature is next to nothing.
    curved, gain, rising = _steps(hessian, ascent.score, CURVED, DAMPINGS)
    steep, _, _ = _steps(hessian, ascent.score, 1.0, STEEP_DAMPINGS)
    ascent.converged = gain < CONVERGED and not rising
    return ascent.z + np.concatenate([curved, steep])


def _steps(
    hessian: np.ndarray, score: np.ndarray, steepness: float, dampings: np.ndarray
) -> tuple[np.ndarray, float, bool]:
    """Steps, the gain that the longest promises, and whether log p curves upwards somewhere."""
    unit, values, vectors = scaled_eigh(hessian, steepness * score)
    slope = vectors.T @ (unit * score)
    curvature = np.maximum(np.abs(values), 1e-7 * max(np.abs(values).max(), 1e-30))
    steps = slope[None, :] / (curvature[None, :] + dampings[:, None])
    return (
        (steps @ vectors.T) * unit,
        float(0.5 * np.sum(slope**2 / curvature)),
        bool(values[0] <= 0),
    )


def _close(evaluate: Evaluator, ascents: list[Ascent]) -> None:
    """The curvature at the end point, for Laplace's approximation.

    A start that float32 stopped short of the tolerance has arrived too, when what is left is less
    than the rounding of log p.
    """
    rest = [a for a in ascents if not a.converged]
    if rest:
        for ascent, hessian in zip(
            rest, evaluate.hessians(np.stack([a.z for a in rest])), strict=True
        ):
            if not np.isfinite(hessian).all():
                continue
            ascent.hessian = hessian
            _, gain, rising = _steps(hessian, ascent.score, CURVED, DAMPINGS[:1])
            ascent.converged = gain < 0.05 and not rising
