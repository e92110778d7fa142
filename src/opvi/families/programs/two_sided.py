"""The paper's two-sided program for one latent (eq. toy_var_prog)."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from opvi._core.errors import OpviError, require
from opvi._core.types import Array, Float, Key, Scalar, Vector
from opvi.families._base import AbstractReparameterisedFamily


class _Positive(eqx.Module):
    """R(eps; lambda) > 0: softplus of an affine map plus an MLP."""

    mlp: eqx.nn.MLP
    slope: Scalar
    bias: Scalar

    def __init__(self, width: int, depth: int, *, key: Key):
        dtype = jnp.result_type(float)
        self.mlp = eqx.nn.MLP("scalar", "scalar", width, depth, jnp.tanh, key=key)
        self.slope = jnp.ones((), dtype)
        self.bias = jnp.ones((), dtype)

    def __call__(self, eps: Scalar) -> Scalar:
        return jax.nn.softplus(self.bias + self.slope * eps + self.mlp(eps))


class TwoSidedProgram(AbstractReparameterisedFamily):
    """z = 1[eps_3 > 0] R(eps_1; lambda_1) - 1[eps_3 <= 0] R(eps_2; lambda_2), R positive.

    Half of the mass on each side of zero, each side with its own shape. The sign is noise, free of
    lambda, so z is differentiable in lambda; its density is intractable.
    """

    positive: _Positive
    negative: _Positive
    dim: int = eqx.field(static=True)

    def __init__(self, dim: int = 1, *, key: Key, width: int = 32, depth: int = 2):
        require(
            dim == 1,
            OpviError,
            expected="one latent: the two sides are the halves of the real line",
            got=f"dim={dim}",
            write=f"SemiImplicitProgram({dim}, key=key)",
        )
        k_positive, k_negative = jr.split(key)
        self.positive = _Positive(width, depth, key=k_positive)
        self.negative = _Positive(width, depth, key=k_negative)
        self.dim = 1

    def noise(self, key: Key, n: int) -> Float[Array, "n 3"]:
        return jr.normal(key, (n, 3))

    def transform(self, eps: Float[Array, "3"]) -> Vector:
        right = self.positive(eps[0])
        left = -self.negative(eps[1])
        return jnp.where(eps[2] > 0, right, left)[None]
