"""Sections: what is left of the density far out on lines through draws?

On the line z + t v the density has the mass int p(z + t v) dt; the share of it beyond some sd, in
the mean over draws of p, is the mass of p that lies out there (a Gibbs step along v leads there as
often). Here it is the median of a few lines, each known roughly. Scores at draws cannot see it. It
is near 0 for a fit that covers p, noticeable for heavy tails and for a mode on the line, and where
the share of the last decade is no smaller than that of the one before, the integral has no end: the
density is improper.
"""

from dataclasses import dataclass

import numpy as np

from opvi.posterior.evaluate import Evaluator

INSIDE = np.array([0.75, 1.5, 3.0])
OUTSIDE = np.array([6.0, 15.0, 40.0, 100.0, 300.0, 1e3, 1e4, 1e5, 1e6])
BEYOND_ROUNDING = 3  # distances at which float32 loses the place itself
ROUNDING = 16  # units in the last place of log p that are noise
VISIBLE = 0.1  # a change of log p that has to be seen


@dataclass(frozen=True)
class Sections:
    """One entry a direction: - `outside`: share of the mass beyond 6 steps.
    - `endless`: it does not get less with distance. - `flat`: nor does the density itself change.
    """

    outside: np.ndarray
    endless: np.ndarray
    flat: np.ndarray
    gradient_evaluations: int = 0


def sections(evaluate: Evaluator, z: np.ndarray, units: np.ndarray, *, lines: int = 3) -> Sections:
    """Along the rows of `units`, one of which is one step (an sd), through `lines` rows of `z`."""
    spent = evaluate.evaluations
    base = z[np.linspace(0, len(z) - 1, min(lines, len(z))).astype(int)]
    t = np.concatenate([-OUTSIDE[::-1], -INSIDE[::-1], [0.0], INSIDE, OUTSIDE])
    points = base[:, None, None] + t[:, None] * units[:, None]
    values, _ = evaluate(points.reshape(-1, evaluate.dim))
    values = np.where(np.isfinite(values), values, -np.inf).reshape(len(base), len(units), len(t))
    centre = len(OUTSIDE) + len(INSIDE)
    top = values.max(2, keepdims=True)
    density = np.exp(values - np.where(np.isfinite(top), top, 0.0))
    inner = density[..., len(OUTSIDE) : -len(OUTSIDE)] @ _weights(t[len(OUTSIDE) : -len(OUTSIDE)])
    rings = _rings(density[..., : len(OUTSIDE)][..., ::-1]), _rings(density[..., -len(OUTSIDE) :])
    outer = [ring.sum(-1) for ring in rings]
    share = (outer[0] + outer[1]) / np.maximum(inner + outer[0] + outer[1], 1e-300)
    ends = density[..., 1::-1], density[..., -2:]
    endless = [
        # p t does not get less: p falls no faster than 1 / t.
        (end[..., 1] * OUTSIDE[-1] >= end[..., 0] * OUTSIDE[-2])
        & (ring[..., -1] > 0.01 * (inner + sum(outer)))
        for end, ring in zip(ends, rings, strict=True)
    ]
    here = values[..., centre, None]
    noise = ROUNDING * np.finfo(evaluate.dtype).eps * np.abs(here)
    change = np.abs(values - here) <= 0.1 * VISIBLE + noise
    near = len(OUTSIDE) - BEYOND_ROUNDING
    flat = [
        change[..., BEYOND_ROUNDING : len(OUTSIDE)].all(-1),
        change[..., centre + 1 : centre + 1 + len(INSIDE) + near].all(-1),
    ]
    # Where rounding hides a change, nothing is said.
    seen = np.all(noise < VISIBLE)
    return Sections(
        outside=np.median(share, axis=0),
        endless=np.asarray((endless[0] | endless[1]).all(0) & seen),
        flat=np.asarray((flat[0] | flat[1]).all(0) & seen),
        gradient_evaluations=evaluate.evaluations - spent,
    )


def _weights(t: np.ndarray) -> np.ndarray:
    """Of the trapezoidal rule."""
    gaps = np.diff(t)
    return 0.5 * (np.append(gaps, 0.0) + np.append(0.0, gaps))


def _rings(density: np.ndarray) -> np.ndarray:
    """Mass between one distance and the next: the trapezoidal rule in log t, by p t."""
    by_log = density * OUTSIDE
    return 0.5 * (by_log[..., 1:] + by_log[..., :-1]) * np.diff(np.log(OUTSIDE))
