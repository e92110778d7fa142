"""Modes: where independent starts ended, and how much of q lies in each basin.

Scores are local: far from a missing mode they are what they would be without it. That there is
another mode is only known from having been there.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from opvi._core.linear import factor_of_inverse
from opvi.diagnostics._arrays import Draws
from opvi.posterior.evaluate import Evaluator
from opvi.targets import AbstractTarget

SAME = 0.5  # sd apart: one end point
NEIGHBOURS = 20.0  # sd apart: perhaps one basin
SINKING = 0.3  # nats: a path that sinks less has no valley


@dataclass(frozen=True)
class Basin:
    """A mode with Laplace's approximation there, and how many starts ended in it."""

    mean: np.ndarray
    tril: np.ndarray
    log_density: float
    starts: int

    @property
    def log_evidence(self) -> float:
        """log of the integral of exp(quadratic approximation)."""
        d = len(self.mean)
        log_det = np.sum(np.log(np.diagonal(self.tril)))
        return float(self.log_density + 0.5 * d * np.log(2 * np.pi) + log_det)


@dataclass(frozen=True)
class Modes:
    """- `centres`: one point a basin, (k, d). - `starts`: how many starts ended in each.
    - `mass`: share of p in each basin, by Laplace. - `share`: share of the draws in each.
    - `growing`: the last starts still ended in basins that were new.
    """

    centres: np.ndarray
    starts: tuple[int, ...]
    mass: np.ndarray
    share: np.ndarray
    growing: bool = False
    gradient_evaluations: int = 0

    @property
    def missed(self) -> tuple[int, ...]:
        """Basins that hold a good part of p and (nearly) none of the draws."""
        return tuple(np.flatnonzero((self.mass > 0.05) & (self.share < 0.2 * self.mass)).tolist())


def modes(target: AbstractTarget, ends: Draws, z: Draws) -> Modes:
    """Group the points where starts ended into basins, and assign the draws to them."""
    evaluate = Evaluator(target)
    points = np.asarray(ends, np.float64)
    values, _ = evaluate(points)
    hessians = evaluate.hessians(points)
    usable = np.isfinite(values) & np.isfinite(hessians).all((1, 2))
    basins = group(evaluate, points[usable], values[usable], hessians[usable])
    return modes_of(basins, z, gradient_evaluations=evaluate.evaluations)


def modes_of(
    basins: Sequence[Basin], z: Draws, *, growing: bool = False, gradient_evaluations: int = 0
) -> Modes:
    """Mass by Laplace's approximations; a draw belongs to the basin in which that is the largest."""
    z64 = np.asarray(z, np.float64)
    evidence = np.array([b.log_evidence for b in basins])
    mass = np.exp(evidence - evidence.max())
    distance = [np.sum(np.linalg.solve(b.tril, (z64 - b.mean).T) ** 2, axis=0) for b in basins]
    height = np.stack([b.log_density - 0.5 * r2 for b, r2 in zip(basins, distance, strict=True)])
    share = np.bincount(np.argmax(height, axis=0), minlength=len(basins)) / len(z64)
    return Modes(
        centres=np.stack([b.mean for b in basins]),
        starts=tuple(b.starts for b in basins),
        mass=mass / mass.sum(),
        share=share,
        growing=growing,
        gradient_evaluations=gradient_evaluations,
    )


def group(
    evaluate: Evaluator, ends: np.ndarray, log_density: np.ndarray, hessians: np.ndarray
) -> list[Basin]:
    """End points joined by a path on which log p does not sink belong to one basin."""
    basins: list[Basin] = []
    for i in np.argsort(-log_density):
        for k, basin in enumerate(basins):
            distance = np.linalg.norm(np.linalg.solve(basin.tril, ends[i] - basin.mean))
            if distance < SAME or (
                distance < NEIGHBOURS and _joined(evaluate, ends[i], float(log_density[i]), basin)
            ):
                basins[k] = Basin(basin.mean, basin.tril, basin.log_density, basin.starts + 1)
                break
        else:
            tril = factor_of_inverse(hessians[i])
            basins.append(Basin(ends[i], tril, float(log_density[i]), 1))
    return basins


def _joined(evaluate: Evaluator, end: np.ndarray, height: float, basin: Basin) -> bool:
    between = np.array([0.15, 0.3, 0.5, 0.7, 0.85])[:, None]
    values, _ = evaluate((1 - between) * end + between * basin.mean)
    if np.isnan(values).any():
        return False
    return bool(values.min() > min(height, basin.log_density) - SINKING)
