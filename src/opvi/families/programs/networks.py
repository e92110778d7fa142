"""The network inside the programs: affine plus MLP, so that it starts as a Gaussian."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from opvi._core.types import Array, Float, Key, Vector


class SkipMLP(eqx.Module):
    """x -> bias + skip x + mlp(x). The last layer of the MLP starts at zero: the map starts affine.

    A plain push-forward network has to learn the identity first, and collapses on separated modes;
    with the skip it only learns how the target differs from a Gaussian.
    """

    mlp: eqx.nn.MLP
    skip: Float[Array, "out in"]
    bias: Float[Array, " out"]

    def __init__(
        self,
        in_size: int,
        out_size: int,
        *,
        key: Key,
        width: int = 64,
        depth: int = 2,
        scale: float = 1.0,
        activation: Callable = jax.nn.gelu,
    ):
        dtype = jnp.result_type(float)
        k_mlp, k_skip = jr.split(key)
        mlp = eqx.nn.MLP(in_size, out_size, width, depth, activation, key=k_mlp)
        self.mlp = eqx.tree_at(
            lambda m: (m.layers[-1].weight, m.layers[-1].bias), mlp, replace_fn=jnp.zeros_like
        )
        # The first out_size inputs pass straight through; further ones only feed the MLP.
        self.skip = scale * jnp.eye(out_size, in_size, dtype=dtype)
        if in_size < out_size:
            # Fewer noise inputs than latents: random directions, or some latents would start constant.
            self.skip = scale * jr.normal(k_skip, (out_size, in_size), dtype) / in_size**0.5
        self.bias = jnp.zeros((out_size,), dtype)

    def __call__(self, x: Float[Array, " in"]) -> Vector:
        return self.bias + self.skip @ x + self.mlp(x)
