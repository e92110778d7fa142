"""The multivariate Student-t: a full-rank Gaussian with heavy tails."""

import math

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import jax.scipy.linalg as jsl

from opvi._core.errors import OpviError, require
from opvi._core.types import Array, Float, Key, Matrix, Scalar, Vector
from opvi.families._base import AbstractReparameterisedFamily, AbstractTractableFamily


def check_dof(dof: float, write: str) -> None:
    require(
        0.0 < dof < math.inf,
        OpviError,
        expected="degrees of freedom above 0 (and finite: without bound they are the Gaussian)",
        got=f"dof={dof}",
        write=write,
    )


class StudentT(AbstractReparameterisedFamily, AbstractTractableFamily):
    """z = loc + L eps, eps = x sqrt(dof / c) with x ~ N(0, I) and c ~ chi^2(dof): one c for all of x.

    log q(z) = -(dof + d)/2 log(1 + |eps|^2 / dof) - log |L| + log Gamma((dof + d)/2)
               - log Gamma(dof/2) - d/2 log(pi dof).

    The covariance is dof / (dof - 2) L L'. The coordinates share their tail: one that is far out has
    company. `dof` is chosen and not learned: z = R(eps) needs noise whose law is free of lambda.
    """

    loc: Vector
    log_diagonal: Vector
    off_diagonal: Matrix
    dof: float = eqx.field(static=True)
    dim: int = eqx.field(static=True)

    def __init__(
        self,
        dim: int,
        *,
        key: Key | None = None,
        dof: float = 5.0,
        loc: Vector | float = 0.0,
        scale_tril: Matrix | float = 1.0,
    ):
        del key  # starts where it is told to
        check_dof(dof, f"StudentT({dim}, dof=5.0), or FullRank({dim})")
        dtype = jnp.result_type(float)
        tril = jnp.asarray(scale_tril, dtype)
        tril = tril * jnp.eye(dim, dtype=dtype) if tril.ndim == 0 else tril
        self.dim, self.dof = dim, float(dof)
        self.loc = jnp.full((dim,), loc, dtype)
        self.log_diagonal = jnp.log(jnp.diagonal(tril))
        self.off_diagonal = jnp.tril(tril, -1)

    @property
    def scale_tril(self) -> Matrix:
        return jnp.tril(self.off_diagonal, -1) + jnp.diag(jnp.exp(self.log_diagonal))

    def noise(self, key: Key, n: int) -> Float[Array, "n d"]:
        k_normal, k_chi = jr.split(key)
        dtype = self.loc.dtype
        x = jr.normal(k_normal, (n, self.dim), dtype)
        half = jr.gamma(k_chi, 0.5 * self.dof, (n, 1), dtype)  # c / 2
        return x * jnp.sqrt(0.5 * self.dof / half)

    def transform(self, eps: Vector) -> Vector:
        return self.loc + self.scale_tril @ eps

    def log_prob(self, z: Vector) -> Scalar:
        eps = jsl.solve_triangular(self.scale_tril, z - self.loc, lower=True)
        dof, d = self.dof, self.dim
        constant = (
            math.lgamma((dof + d) / 2) - math.lgamma(dof / 2) - d / 2 * math.log(math.pi * dof)
        )
        fall = 0.5 * (dof + d) * jnp.log1p(jnp.sum(eps**2) / dof)
        return constant - fall - jnp.sum(self.log_diagonal)
