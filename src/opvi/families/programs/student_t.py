"""A semi-implicit program with Student-t noise: tails that a network of Gaussian noise does not reach."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from opvi._core.types import Array, Float, Key, Vector
from opvi.families._base import AbstractSemiImplicitFamily
from opvi.families.programs.networks import SkipMLP
from opvi.families.tractable.student_t import check_dof

StudentTNoise = tuple[Float[Array, " e"], Float[Array, " d"]]


class StudentTProgram(AbstractSemiImplicitFamily):
    """z = g(eps) + s xi, with eps ~ N(0, I) and the entries of xi independent Student-t of `dof` degrees.

    The image of a Gaussian under a map that grows at most linearly has Gaussian tails. Here the tails
    are those of the noise, |z|^-(dof + 1), and with u = (z - g(eps)) / s = xi

        grad_z log q(z | eps) = -(dof + 1) xi / (s (dof + xi^2)),

    which is bounded: E_q[div f] = -E[f(z)' grad_z log q(z | eps)] needs no Jacobian of f here either.

    `dof` is chosen and not learned: z = R(eps) needs noise whose law is free of lambda. Below 2 the
    variance is infinite; take `dof` at most that of the posterior's tails, or 3 if they are not known.
    """

    network: Callable[[Vector], Vector]
    log_scale: Vector
    dof: float = eqx.field(static=True)
    dim: int = eqx.field(static=True)
    noise_dim: int = eqx.field(static=True)

    def __init__(
        self,
        dim: int,
        *,
        key: Key,
        dof: float = 3.0,
        noise_dim: int | None = None,
        width: int = 64,
        depth: int = 2,
        noise_scale: float = 0.5,
        network: Callable[[Vector], Vector] | None = None,
        activation: Callable = jax.nn.gelu,
    ):
        check_dof(dof, "StudentTProgram(dim, key=key, dof=3.0)")
        self.dim, self.dof = dim, float(dof)
        self.noise_dim = dim if noise_dim is None else noise_dim
        if network is None:
            skip = max(1.0 - noise_scale**2, 0.0) ** 0.5
            network = SkipMLP(
                self.noise_dim,
                dim,
                key=key,
                width=width,
                depth=depth,
                scale=skip,
                activation=activation,
            )
        self.network = network
        self.log_scale = jnp.full((dim,), jnp.log(noise_scale), jnp.result_type(float))

    def noise(self, key: Key, n: int) -> tuple[Float[Array, "n e"], Float[Array, "n d"]]:
        k_smooth, k_xi = jr.split(key)
        dtype = self.log_scale.dtype
        smooth = jr.normal(k_smooth, (n, self.noise_dim), dtype)
        return smooth, jr.t(k_xi, self.dof, (n, self.dim), dtype)

    def transform(self, eps: StudentTNoise) -> Vector:
        smooth, xi = eps
        return self.network(smooth) + jnp.exp(self.log_scale) * xi

    def conditional_score(self, eps: StudentTNoise) -> Vector:
        _, xi = eps
        return -(self.dof + 1.0) * xi / (self.dof + xi**2) * jnp.exp(-self.log_scale)
