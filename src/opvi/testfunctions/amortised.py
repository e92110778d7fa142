"""Test functions that see what was observed: f(z, score; x), one network for every x."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from opvi._core.types import Array, Float, Key, PyTree, Vector
from opvi.testfunctions._base import AbstractTestFunction


class AmortisedTestFunction(eqx.Module):
    """x -> f(. ; x): a network of z, the score and h(x), with an affine part and a gate on the score.

    The supremum over the L2 ball is grad log p(z | x) - grad log q(z | x) for each x: a different
    function for each x, which one network can only be if it is told x.
    """

    encoder: eqx.nn.MLP
    network: eqx.nn.MLP
    gate: Vector
    features: Callable[[PyTree], Float[Array, " features"]] = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        dim: int,
        *,
        key: Key,
        features: Callable[[PyTree], Float[Array, " features"]],
        width: int = 64,
        depth: int = 2,
        context: int = 32,
        activation: Callable = jax.nn.gelu,
    ):
        encoder_key, network_key = jr.split(key)
        self.encoder = eqx.nn.MLP(inputs, context, width, 1, activation, key=encoder_key)
        self.network = eqx.nn.MLP(2 * dim + context, dim, width, depth, activation, key=network_key)
        self.gate = jnp.zeros((dim,), jnp.result_type(float))
        self.features = features

    def __call__(self, x: PyTree) -> AbstractTestFunction:
        return _At(self.network, self.gate, self.encoder(self.features(x)))


class _At(AbstractTestFunction):
    """f(. ; x) at one x."""

    network: eqx.nn.MLP
    gate: Vector
    context: Float[Array, " context"]

    def __call__(self, z: Vector, score: Vector) -> Vector:
        # The score squashed below 5 sqrt(d), as in `NeuralTestFunction`.
        seen = score / jnp.sqrt(1.0 + jnp.sum(score**2) / (25.0 * z.shape[0]))
        return self.network(jnp.concatenate([z, seen, self.context])) + self.gate * seen
