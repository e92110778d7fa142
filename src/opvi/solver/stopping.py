"""May a run with a constant rate stop? When its iterates are stationary, and their mean is known.

At a constant rate the iterates of a stochastic descent end in a stationary law around the optimum; their
mean is closer to it than any one of them. As in RABVI (Welandawe et al. 2022), two questions:

    stationary?    some window of the last iterates has split R-hat < `r_hat` in every parameter
    known?         the mean over it has an effective sample size of `ess`: its Monte Carlo error is
                   ess^(-1/2) of the spread of the iterates

R-hat alone stops on a plateau that drifts slowly, since the drift within a short window hides in the
noise. So the mean over the window must not lean either: the slope over the window, in its own
standard errors, stays below `slope`.
"""

from dataclasses import dataclass

import numpy as np

LEAST = 40  # iterates in a window
SHARES = (0.9, 0.7, 0.5)  # of all iterates: windows that are tried, the longest first


@dataclass(frozen=True)
class Stop:
    """What was found: `start` is the first iterate of the window that is averaged."""

    stop: bool
    start: int
    r_hat: float
    ess: float
    slope: float


@dataclass(frozen=True)
class StoppingRule:
    """`rule(iterates)` for iterates (n, k), one row each so many steps."""

    r_hat: float = 1.05
    ess: float = 100.0
    slope: float = 2.0

    def __call__(self, iterates: np.ndarray) -> Stop:
        x = np.asarray(iterates, np.float64)
        best = Stop(False, 0, np.inf, 0.0, np.inf)
        for share in SHARES:
            start = len(x) - int(share * len(x))
            window = x[start:]
            if len(window) < LEAST or not np.isfinite(window).all():
                continue
            window = window[:, window.std(0) > 0]
            if window.shape[1] == 0:  # nothing moves: stuck, for all that can be seen
                continue
            r_hat, ess = float(_split_r_hat(window).max()), float(_ess(window).min())
            slope = float(_slope(window).max())
            found = Stop(
                r_hat < self.r_hat and ess >= self.ess and slope < self.slope,
                start,
                r_hat,
                ess,
                slope,
            )
            if found.stop:
                return found
            best = min(best, found, key=lambda s: s.r_hat)
        return best


def _split_r_hat(x: np.ndarray) -> np.ndarray:
    """R-hat of the two halves, by column."""
    half = len(x) // 2
    halves = np.stack([x[:half], x[-half:]])
    within = halves.var(1, ddof=1).mean(0)
    between = halves.mean(1).var(0, ddof=1)
    return np.sqrt((half - 1) / half + between / np.maximum(within, 1e-300))


def _ess(x: np.ndarray) -> np.ndarray:
    """Effective sample size of the mean, by column: Geyer's initial monotone sequence."""
    n = len(x)
    centred = x - x.mean(0)
    size = 2 ** int(np.ceil(np.log2(2 * n)))
    spectrum = np.abs(np.fft.rfft(centred, size, axis=0)) ** 2
    rho = np.fft.irfft(spectrum, size, axis=0)[:n]
    rho = rho / np.maximum(rho[0], 1e-300)
    pairs = rho[: 2 * (n // 2)].reshape(-1, 2, x.shape[1]).sum(1)
    pairs = np.where(np.cumsum(pairs <= 0, axis=0) > 0, 0.0, pairs)
    pairs = np.minimum.accumulate(pairs, axis=0)
    return n / np.maximum(2 * pairs.sum(0) - 1, 1e-3)


def _slope(x: np.ndarray) -> np.ndarray:
    """|slope of a line through the window| in standard errors that know the autocorrelation."""
    n = len(x)
    t = np.linspace(-1.0, 1.0, n)
    slope = t @ (x - x.mean(0)) / (t @ t)
    rest = x - x.mean(0) - np.outer(t, slope)
    error = rest.std(0) * np.sqrt(3.0 / np.minimum(_ess(rest), n))
    return np.abs(slope) / np.maximum(error, 1e-300)
