"""Feature maps phi: R^d -> R^k. Test functions W' phi(z) are linear in W, so their supremum is a solve."""

import abc
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jax.typing import ArrayLike

from opvi._core.errors import OpviError, require
from opvi._core.types import Array, Float, Vector


class AbstractFeatureMap(eqx.Module):
    """phi: R^d -> R^k, fixed."""

    scale: eqx.AbstractVar[float | None]
    """The length on which features vary; the median distance between the draws where left out."""

    @abc.abstractmethod
    def __call__(self, z: Vector, scale: ArrayLike) -> Float[Array, " k"]:
        """phi(z), at the given length scale."""


class LinearFeatures(AbstractFeatureMap):
    """(1, z): affine test functions. With a Gaussian q, stationary exactly where KL is."""

    scale: ClassVar[float | None] = 1.0

    def __call__(self, z: Vector, scale: ArrayLike) -> Float[Array, " k"]:
        del scale
        return jnp.concatenate([jnp.ones((1,), z.dtype), z])


class RandomFeatures(AbstractFeatureMap):
    """(1, z, cos(w_1' z / scale + b_1), ...), w_j ~ N(0, I): an RBF kernel by its random waves.

    The waves are a function of `seed` and the dimension alone.
    """

    waves: int = eqx.field(static=True, default=100)
    scale: float | None = eqx.field(static=True, default=None)
    seed: int = eqx.field(static=True, default=0)

    def __check_init__(self):
        require(
            self.waves >= 1,
            OpviError,
            expected="at least one wave",
            got=f"waves={self.waves}",
            write="RandomFeatures(waves=100), or LinearFeatures()",
        )
        require(
            self.scale is None or 0.0 < self.scale < float("inf"),
            OpviError,
            expected="a length scale above 0",
            got=f"scale={self.scale}",
            write="RandomFeatures(scale=1.0), or RandomFeatures() for the median distance of the draws",
        )

    def __call__(self, z: Vector, scale: ArrayLike) -> Float[Array, " k"]:
        k_w, k_b = jr.split(jr.key(self.seed))
        w = jr.normal(k_w, (self.waves, z.shape[0]), z.dtype)
        b = jr.uniform(k_b, (self.waves,), z.dtype, maxval=2.0 * jnp.pi)
        return jnp.concatenate([jnp.ones((1,), z.dtype), z, jnp.cos(w @ z / scale + b)])
