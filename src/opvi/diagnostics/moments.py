"""Two sets of paired draws, before and after some moves that leave p invariant: what changed?

Where the moves are a reversible Markov chain and the draws came from p, the pairs (before, after) are
exchangeable: every difference below is noise whose law is known by swapping pairs. Where the chain forgets
only part of the start, it has repaired only part of the error. With slope_i the regression of after on
before, a fraction 1 - slope_i of a shift (1 - slope_i^2 of a variance) is gone: dividing by it
estimates the whole.
"""

from dataclasses import dataclass

import numpy as np

from opvi.diagnostics._arrays import Column, Draws, names

MOST_EXTRAPOLATION = 0.9  # a chain that remembers more than this says nothing about the rest


@dataclass(frozen=True)
class Moments:
    """Draws against p, per column, in units of p's standard deviation; `*_error` are standard errors.

    - `shift`: (mean of the draws - mean of p) / sd of p.
    - `log_sd_ratio`: log(sd of the draws / sd of p).
    - `w1`, `w1_floor`: 1-Wasserstein distance of before and after, and what it is if nothing is wrong.
    - `memory`: slope of after on before; 0 is a chain that has forgotten its start.
    """

    columns: tuple[str, ...]
    shift: Column
    shift_error: Column
    log_sd_ratio: Column
    log_sd_ratio_error: Column
    w1: Column
    w1_floor: Column
    memory: Column


def paired_moments(
    before: Draws, after: Draws, columns: tuple[str, ...] | None = None, *, swaps: int = 20
) -> Moments:
    """Compare paired draws, column by column."""
    b, a = np.asarray(before, np.float64), np.asarray(after, np.float64)
    finite = np.isfinite(b).all(1) & np.isfinite(a).all(1)
    b, a = b[finite], a[finite]
    n, d = b.shape
    centre, sd = a.mean(0), np.maximum(a.std(0, ddof=1), 1e-300)
    b, a = (b - centre) / sd, (a - centre) / sd
    b0, a0 = b - b.mean(0), a - a.mean(0)
    vb, va = np.maximum(np.mean(b0**2, 0), 1e-300), np.maximum(np.mean(a0**2, 0), 1e-300)
    memory = np.clip(np.mean(b0 * a0, 0) / vb, 0.0, MOST_EXTRAPOLATION)
    repaired, repaired2 = 1.0 - memory, 1.0 - memory**2
    influence = 0.5 * (b0**2 / vb - a0**2 / va)
    w1 = np.abs(np.sort(b, 0) - np.sort(a, 0)).mean(0)
    return Moments(
        columns=names(columns, d),
        shift=(b.mean(0) - a.mean(0)) / repaired,
        shift_error=(b - a).std(0, ddof=1) / np.sqrt(n) / repaired,
        log_sd_ratio=0.5 * np.log(vb / va) / repaired2,
        log_sd_ratio_error=influence.std(0, ddof=1) / np.sqrt(n) / repaired2,
        w1=w1 / repaired,
        w1_floor=_floor(b, a, swaps) / repaired,
        memory=memory,
    )


def _floor(b: np.ndarray, a: np.ndarray, swaps: int) -> np.ndarray:
    """Mean W1 after swapping each pair with probability 1/2: its law if before and after agree."""
    generator = np.random.default_rng(0)
    total = np.zeros(b.shape[1])
    for _ in range(swaps):
        swap = generator.random(len(b))[:, None] < 0.5
        x, y = np.where(swap, a, b), np.where(swap, b, a)
        total += np.abs(np.sort(x, 0) - np.sort(y, 0)).mean(0)
    return total / max(swaps, 1)
