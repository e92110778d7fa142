"""Draws of a Gaussian mixture with what the target says about them, and the weights that follow."""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from opvi.posterior.evaluate import Evaluator
from opvi.recipes.gaussians import Gaussians


@dataclass(frozen=True)
class Weighed:
    """Draws z_i of q with log p, its gradient and log q."""

    z: np.ndarray
    log_density: np.ndarray
    score: np.ndarray
    log_q: np.ndarray

    @property
    def log_weights(self) -> np.ndarray:
        """log p - log q; -inf where the model is not finite."""
        return log_ratio(self.log_density, self.log_q)

    @property
    def ess(self) -> float:
        return ess_fraction(self.log_weights)

    @property
    def log_evidence(self) -> float:
        return float(logsumexp(self.log_weights) - np.log(len(self.z)))


def weigh(evaluate: Evaluator, q: Gaussians, rng: np.random.Generator, n: int) -> Weighed:
    z = q.sample(rng, n).astype(evaluate.dtype).astype(np.float64)  # where the target will be asked
    values, scores = evaluate(z)
    return Weighed(z, values, scores, q.log_prob(z))


def log_ratio(log_density: np.ndarray, log_q: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(log_density), log_density - log_q, -np.inf)


def ess_fraction(log_weights: np.ndarray) -> float:
    """1 / (n sum w^2) for normalised weights: the share of draws that counts."""
    if not np.isfinite(log_weights).any():
        return 0.0
    log_w = log_weights - np.asarray(logsumexp(log_weights))
    return float(np.exp(-np.asarray(logsumexp(2 * log_w))) / len(log_w))


def tempered_weights(log_weights: np.ndarray) -> np.ndarray:
    """Normalised weights with no one of them above n^(-1/2): what a fit to them can bear."""
    log_w = log_weights - np.asarray(logsumexp(log_weights))
    capped = np.exp(np.minimum(log_w, -0.5 * np.log(len(log_w))))
    return capped / capped.sum()
