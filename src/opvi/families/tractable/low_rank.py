"""Low-rank Gaussian: a few directions of correlation on top of independent scales."""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from numpyro.distributions import LowRankMultivariateNormal

from opvi._core.errors import OpviError, require
from opvi._core.types import Array, Float, Key, Scalar, Vector
from opvi.families._base import AbstractReparameterisedFamily, AbstractTractableFamily


class LowRank(AbstractReparameterisedFamily, AbstractTractableFamily):
    """z = loc + exp(log_scale) eps_1 + factor eps_2; covariance diag(exp(2 log_scale)) + factor factor'."""

    loc: Vector
    log_scale: Vector
    factor: Float[Array, "d rank"]
    dim: int = eqx.field(static=True)
    rank: int = eqx.field(static=True)

    def __init__(
        self,
        dim: int,
        *,
        key: Key,
        rank: int = 5,
        loc: Vector | float = 0.0,
        scale: Vector | float = 1.0,
    ):
        require(
            rank >= 1,
            OpviError,
            expected="a rank of at least 1",
            got=f"rank={rank}",
            write=f"LowRank({dim}, key=key, rank=5), or MeanField({dim}) for rank 0",
        )
        dtype = jnp.result_type(float)
        self.dim, self.rank = dim, rank
        self.loc = jnp.full((dim,), loc, dtype)
        self.log_scale = jnp.log(jnp.full((dim,), scale, dtype))
        # Small and random: at exactly zero the gradient of the factor vanishes.
        self.factor = 0.1 * jnp.exp(self.log_scale)[:, None] * jr.normal(key, (dim, rank), dtype)

    def noise(self, key: Key, n: int) -> Float[Array, "n e"]:
        return jr.normal(key, (n, self.dim + self.rank), self.loc.dtype)

    def transform(self, eps: Float[Array, " e"]) -> Vector:
        independent, shared = eps[: self.dim], eps[self.dim :]
        return self.loc + jnp.exp(self.log_scale) * independent + self.factor @ shared

    def log_prob(self, z: Vector) -> Scalar:
        q = LowRankMultivariateNormal(self.loc, self.factor, jnp.exp(2 * self.log_scale))
        return jnp.asarray(q.log_prob(z))
