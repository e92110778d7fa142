"""From a proposal and its weights to draws of the target."""

import numpy as np
from scipy.special import logsumexp

from opvi.families import AbstractTractableFamily
from opvi.posterior.draws import Corrected

REPEATED = 0.01  # share of the mass that may be repeated draws


def correct(family: AbstractTractableFamily, log_weights: np.ndarray) -> Corrected:
    """Draws of the family, corrected by weights like these."""
    log_w, log_mean = _relative(log_weights)
    bound = _bound(np.exp(log_w))
    return Corrected(
        family=family, log_bound=float(np.log(bound) + log_mean), evaluations_per_draw=bound
    )


def heaviest(log_weights: np.ndarray) -> float:
    """The bound above which little of the mass lies, in units of the mean weight."""
    return _bound(np.exp(_relative(log_weights)[0]))


def _relative(log_weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Log weights over their mean, and the log of that."""
    if not np.isfinite(log_weights).any():
        return np.zeros(len(log_weights)), 0.0
    log_mean = float(logsumexp(log_weights) - np.log(len(log_weights)))
    return np.minimum(log_weights - log_mean, 50.0), log_mean


def _bound(w: np.ndarray) -> float:
    """The smallest bound above which no more than `REPEATED` of the weight lies (mean weight 1)."""
    ordered = np.sort(w)
    above = np.cumsum(ordered[::-1])[::-1] - ordered * np.arange(len(w), 0, -1)
    k = int(np.argmax(above <= REPEATED * w.sum()))
    return float(max(ordered[k], 1.0))
