"""Gaussians and mixtures of them on the host: what the first stages work on."""

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla
from scipy.special import logsumexp


@dataclass(frozen=True)
class Gaussians:
    """q(z) = sum_k w_k N(z; mean_k, L_k L_k'), in double precision."""

    weights: np.ndarray
    means: np.ndarray
    trils: np.ndarray

    @classmethod
    def single(cls, mean: np.ndarray, tril: np.ndarray) -> "Gaussians":
        return cls(np.ones(1), mean[None], tril[None])

    @property
    def dim(self) -> int:
        return self.means.shape[1]

    @property
    def size(self) -> int:
        return len(self.weights)

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        # Stratified: each component has its share of the draws to the last one, in random order.
        places = (np.arange(n) + rng.random()) / n
        labels = np.searchsorted(np.cumsum(self.weights)[:-1], places, side="right")
        labels = rng.permutation(labels)
        eps = rng.standard_normal((n, self.dim))
        z = np.empty((n, self.dim))
        for k in range(self.size):
            mine = labels == k
            z[mine] = self.means[k] + eps[mine] @ self.trils[k].T
        return z

    def log_parts(self, z: np.ndarray) -> np.ndarray:
        """log w_k + log N(z_i; k), (n, K)."""
        out = np.empty((len(z), self.size))
        for k, (mean, tril) in enumerate(zip(self.means, self.trils, strict=True)):
            eps = sla.solve_triangular(tril, (z - mean).T, lower=True)
            log_det = np.sum(np.log(np.diagonal(tril)))
            out[:, k] = -0.5 * np.sum(eps**2, axis=0) - log_det
        with np.errstate(divide="ignore"):
            return out + np.log(self.weights) - 0.5 * self.dim * np.log(2 * np.pi)

    def log_prob(self, z: np.ndarray) -> np.ndarray:
        return np.asarray(logsumexp(self.log_parts(z), axis=1))

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of the mixture."""
        mean = self.weights @ self.means
        gaps = self.means - mean
        inner = np.einsum("k,kij,klj->il", self.weights, self.trils, self.trils)
        return mean, inner + np.einsum("k,ki,kj->ij", self.weights, gaps, gaps)


def concatenate(parts: list[Gaussians], shares: np.ndarray) -> Gaussians:
    """The mixture of mixtures with these shares."""
    shares = np.asarray(shares) / np.sum(shares)
    return Gaussians(
        np.concatenate([s * p.weights for s, p in zip(shares, parts, strict=True)]),
        np.concatenate([p.means for p in parts]),
        np.concatenate([p.trils for p in parts]),
    )
