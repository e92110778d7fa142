"""How far draws are from reference draws: the numbers of the benchmark tables.

All functions take arrays of shape (draws, parameters) and work per parameter (column), in units of the
reference's standard deviation. Columns with heavy tails, whose mean and sd no number of draws settles,
must be transformed first: `Posterior.comparable` does so, taking logarithms of K_m and V_m in
one_comp_mm_elim_abs (half-Cauchy priors), and `evaluate` calls it.

Draws that are not finite score infinity, so that a failed fit can only lose a comparison.
"""

from itertools import combinations

import numpy as np

from benchmarks.posteriors import Posterior


def mean_err(draws, reference) -> float:
    """max_j |mean_j - mean_ref_j| / sd_ref_j"""
    return _finite(np.max(np.abs(draws.mean(0) - reference.mean(0)) / _sd(reference)))


def logsd_err(draws, reference) -> float:
    """max_j |log(sd_j / sd_ref_j)|"""
    with np.errstate(divide="ignore"):
        return _finite(np.max(np.abs(np.log(_sd(draws)) - np.log(_sd(reference)))))


def w1(draws, reference) -> float:
    """mean_j W1(draws_j, reference_j) / sd_ref_j"""
    return _finite(np.mean(wasserstein_1d(draws, reference) / _sd(reference)))


def w1_floor(reference, chains: int, draws: int = 4000) -> float:
    """The `w1` that `draws` exact draws are expected to have: some of the reference against the rest.

    Whole chains go to one side, so that neighbours within a chain never face each other (that would make
    the floor too low). One split is noisy, by 10 to 30% of its value, and so is the mean over a
    few; this is the mean over all ways to choose the chains.
    """
    return float(np.mean(w1_floor_splits(reference, chains, draws)))


def w1_floor_splits(reference, chains: int, draws: int = 4000) -> np.ndarray:
    """The terms of `w1_floor`, one per choice of chains: how far luck moves a perfect sampler."""
    reference = np.asarray(reference)
    rows = len(reference)
    length, rest = divmod(rows, chains)
    taken, odd = divmod(draws, max(length, 1))
    if rest or odd or not 0 < taken < chains:
        raise ValueError(
            f"{draws} draws are not a number of whole chains of a reference "
            f"with {rows} rows in {chains} chains"
        )
    order = np.argsort(reference, axis=0)
    gaps = np.diff(np.take_along_axis(reference, order, axis=0), axis=0) / _sd(reference)
    chain = order[:-1] // length
    out = []
    for chosen in combinations(range(chains), taken):
        weight = np.full(chains, -1 / (rows - draws))
        weight[list(chosen)] = 1 / draws
        # W1 = int |F_some(x) - F_others(x)| dx: one sort serves every split.
        out.append(np.mean(np.sum(np.abs(np.cumsum(weight[chain], axis=0)) * gaps, axis=0)))
    return np.array(out)


def wasserstein_1d(x, y) -> np.ndarray:
    """W1 = int_0^1 |F_x^-1(u) - F_y^-1(u)| du of each column, exact for any two sample sizes."""
    x, y = np.sort(np.asarray(x, np.float64), axis=0), np.sort(np.asarray(y, np.float64), axis=0)
    n, m = len(x), len(y)
    # Both quantile functions are constant between the points i / n and j / m; counted in units of 1 / (n m).
    ends = np.union1d(np.arange(1, n + 1) * m, np.arange(1, m + 1) * n)
    widths = np.diff(ends, prepend=0) / (n * m)
    with np.errstate(invalid="ignore"):
        gaps = np.abs(x[(ends - 1) // m] - y[(ends - 1) // n])
    return np.tensordot(widths, gaps, axes=1)


def evaluate(posterior: Posterior, columns, floor_draws: int = 4000) -> dict[str, float]:
    """All metrics of draws given as reference columns (`posterior.columns(sites)`), after `comparable`."""
    draws, reference = posterior.comparable(columns), posterior.comparable(posterior.reference)
    return {
        "mean_err": mean_err(draws, reference),
        "logsd_err": logsd_err(draws, reference),
        "w1": w1(draws, reference),
        "w1_floor": w1_floor(reference, posterior.chains, floor_draws),
    }


def _sd(draws) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.std(draws, axis=0, ddof=1)


def _finite(value) -> float:
    return float(value) if np.isfinite(value) else float("inf")
