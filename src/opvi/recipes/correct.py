"""From a proposal and its weights to draws of the target."""

import numpy as np
from scipy.special import logsumexp

from opvi.families import AbstractTractableFamily
from opvi.posterior.draws import Corrected

REPEATED = 0.01  # share of the mass that may be repeated draws
LEAST_ESS = 0.04


def correct(
    family: AbstractTractableFamily, log_weights: np.ndarray
) -> tuple[Corrected, np.ndarray]:
    """The corrected draws, and log weights relative to the bound."""
    log_w = log_weights - (logsumexp(log_weights) - np.log(len(log_weights)))
    log_bound = _bound(np.exp(np.minimum(log_w, 50.0)))
    relative = log_w - log_bound
    shift = float(np.max(log_weights) - np.max(log_w))
    cost = float(np.exp(log_bound))
    return Corrected(
        family=family, log_bound=log_bound + shift, evaluations_per_draw=cost
    ), relative


def _bound(w: np.ndarray) -> float:
    """The smallest bound above which no more than `REPEATED` of the weight lies (mean weight 1)."""
    ordered = np.sort(w)
    above = np.cumsum(ordered[::-1])[::-1] - ordered * np.arange(len(w), 0, -1)
    k = int(np.argmax(above <= REPEATED * w.sum()))
    return float(np.log(max(ordered[k], 1.0)))
