"""Mean-field Gaussian: one mean and one scale for each coordinate."""

import math

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from opvi._core.types import Array, Float, Key, Scalar, Vector
from opvi.families._base import AbstractReparameterisedFamily, AbstractTractableFamily


class MeanField(AbstractReparameterisedFamily, AbstractTractableFamily):
    """z = loc + exp(log_scale) eps, eps ~ N(0, I)."""

    loc: Vector
    log_scale: Vector
    dim: int = eqx.field(static=True)

    def __init__(
        self,
        dim: int,
        *,
        key: Key | None = None,
        loc: Vector | float = 0.0,
        scale: Vector | float = 1.0,
    ):
        del key  # starts where it is told to
        self.dim = dim
        self.loc = jnp.full((dim,), loc, jnp.result_type(float))
        self.log_scale = jnp.log(jnp.full((dim,), scale, jnp.result_type(float)))

    def noise(self, key: Key, n: int) -> Float[Array, "n d"]:
        return jr.normal(key, (n, self.dim), self.loc.dtype)

    def transform(self, eps: Vector) -> Vector:
        return self.loc + jnp.exp(self.log_scale) * eps

    def log_prob(self, z: Vector) -> Scalar:
        eps = (z - self.loc) * jnp.exp(-self.log_scale)
        constant = 0.5 * self.dim * math.log(2 * math.pi)
        return -0.5 * jnp.sum(eps**2) - jnp.sum(self.log_scale) - constant
