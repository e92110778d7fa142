"""A mixture of full-rank Gaussians, its components in one stack."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import jax.scipy.linalg as jsl

from opvi._core.errors import OpviError, require
from opvi._core.types import Array, Float, Key, Scalar, Vector
from opvi.families._base import AbstractTractableFamily


class GaussianMixture(AbstractTractableFamily):
    """q(z) = sum_k w_k N(z; loc_k, L_k L_k').

    Stacked, so that what is compiled does not grow with the number of components. For a mixture whose
    weights are learned by gradient, or of other families, see `Mixture`.
    """

    log_weights: Float[Array, " k"]
    locs: Float[Array, "k d"]
    scale_trils: Float[Array, "k d d"]
    dim: int = eqx.field(static=True)

    def __init__(
        self,
        weights: Float[Array, " k"],
        locs: Float[Array, "k d"],
        scale_trils: Float[Array, "k d d"],
    ):
        k, d = locs.shape
        require(
            weights.shape == (k,) and scale_trils.shape == (k, d, d),
            OpviError,
            expected=f"{k} weights and {k} lower-triangular {d} x {d} matrices",
            got=f"shapes {weights.shape} and {scale_trils.shape}",
            write="GaussianMixture(jnp.array([.5, .5]), locs, jnp.stack([tril_1, tril_2]))",
        )
        self.log_weights = jnp.log(weights / jnp.sum(weights))
        self.locs, self.scale_trils, self.dim = locs, scale_trils, d

    def sample(self, key: Key, n: int) -> Float[Array, "n d"]:
        labels = jr.categorical(jr.fold_in(key, 0), self.log_weights, shape=(n,))
        eps = jr.normal(jr.fold_in(key, 1), (n, self.dim), self.locs.dtype)
        return jax.vmap(lambda k, e: self.locs[k] + self.scale_trils[k] @ e)(labels, eps)

    def log_prob(self, z: Vector) -> Scalar:
        def part(loc, tril):
            eps = jsl.solve_triangular(tril, z - loc, lower=True)
            return -0.5 * jnp.sum(eps**2) - jnp.sum(jnp.log(jnp.diagonal(tril)))

        parts = jax.vmap(part)(self.locs, self.scale_trils) + self.log_weights
        return jax.nn.logsumexp(parts) - 0.5 * self.dim * math.log(2 * math.pi)
