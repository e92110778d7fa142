"""Full-rank Gaussian through its Cholesky factor."""

import math

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import jax.scipy.linalg as jsl

from opvi._core.types import Array, Float, Key, Matrix, Scalar, Vector
from opvi.families._base import AbstractReparameterisedFamily, AbstractTractableFamily


class FullRank(AbstractReparameterisedFamily, AbstractTractableFamily):
    """z = loc + L eps, L lower triangular with a positive diagonal (stored as its logarithm)."""

    loc: Vector
    log_diagonal: Vector
    off_diagonal: Matrix
    dim: int = eqx.field(static=True)

    def __init__(
        self,
        dim: int,
        *,
        key: Key | None = None,
        loc: Vector | float = 0.0,
        scale_tril: Matrix | float = 1.0,
    ):
        del key  # starts where it is told to
        dtype = jnp.result_type(float)
        tril = jnp.asarray(scale_tril, dtype)
        tril = tril * jnp.eye(dim, dtype=dtype) if tril.ndim == 0 else tril
        self.dim = dim
        self.loc = jnp.full((dim,), loc, dtype)
        self.log_diagonal = jnp.log(jnp.diagonal(tril))
        self.off_diagonal = jnp.tril(tril, -1)

    @property
    def scale_tril(self) -> Matrix:
        return jnp.tril(self.off_diagonal, -1) + jnp.diag(jnp.exp(self.log_diagonal))

    def noise(self, key: Key, n: int) -> Float[Array, "n d"]:
        return jr.normal(key, (n, self.dim), self.loc.dtype)

    def transform(self, eps: Vector) -> Vector:
        return self.loc + self.scale_tril @ eps

    def log_prob(self, z: Vector) -> Scalar:
        eps = jsl.solve_triangular(self.scale_tril, z - self.loc, lower=True)
        constant = 0.5 * self.dim * math.log(2 * math.pi)
        return -0.5 * jnp.sum(eps**2) - jnp.sum(self.log_diagonal) - constant
