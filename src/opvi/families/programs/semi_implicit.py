"""Semi-implicit programs: a network plus learned Gaussian noise."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from opvi._core.types import Array, Float, Key, Vector
from opvi.families._base import AbstractSemiImplicitFamily
from opvi.families.programs.networks import SkipMLP

SemiImplicitNoise = tuple[Float[Array, " e"], Float[Array, " d"]]


class SemiImplicitProgram(AbstractSemiImplicitFamily):
    """z = g(eps) + s xi, with eps ~ N(0, I) and xi ~ N(0, I); s > 0 is learned for each coordinate.

    Given eps, z is Gaussian, so grad_z log q(z | eps) = -(z - g(eps)) / s^2 = -xi / s, and with it
    E_q[div f] = E[f(z)' xi / s]: no Jacobian of f in any dimension. The noise keeps q smooth.

    `switches` of the inputs of g are random signs. A continuous g alone has to join separated modes
    by a bridge of mass; a sign jumps, as in the paper's two-sided program, and is free of lambda too.
    """

    network: Callable[[Vector], Vector]
    log_scale: Vector
    dim: int = eqx.field(static=True)
    noise_dim: int = eqx.field(static=True)
    switches: int = eqx.field(static=True)

    def __init__(
        self,
        dim: int,
        *,
        key: Key,
        noise_dim: int | None = None,
        width: int = 64,
        depth: int = 2,
        noise_scale: float = 0.5,
        switches: int = 0,
        network: Callable[[Vector], Vector] | None = None,
        activation: Callable = jax.nn.gelu,
    ):
        self.dim = dim
        self.noise_dim = dim if noise_dim is None else noise_dim
        self.switches = switches
        if network is None:
            # With g(eps) = sqrt(1 - s^2) eps the program starts at N(0, I) exactly.
            skip = max(1.0 - noise_scale**2, 0.0) ** 0.5
            network = SkipMLP(
                self.noise_dim + switches,
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
        width = self.noise_dim + self.switches
        noise = jr.normal(key, (n, width + self.dim), self.log_scale.dtype)
        smooth, signs = noise[:, : self.noise_dim], jnp.sign(noise[:, self.noise_dim : width])
        return jnp.concatenate([smooth, signs], axis=1), noise[:, width:]

    def transform(self, eps: SemiImplicitNoise) -> Vector:
        eps_g, xi = eps
        return self.network(eps_g) + jnp.exp(self.log_scale) * xi

    def conditional_score(self, eps: SemiImplicitNoise) -> Vector:
        _, xi = eps
        return -xi * jnp.exp(-self.log_scale)
