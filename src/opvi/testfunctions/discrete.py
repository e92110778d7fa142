"""Test functions of states: a table where they can be listed, a network where they cannot."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from opvi._core.errors import OpviError, require
from opvi._core.states import Cardinalities, index, number_of_states, one_hot
from opvi._core.types import Array, Float, Key, Vector
from opvi.testfunctions._base import AbstractTestFunction, AbstractTestFunctionFamily
from opvi.testfunctions.balls import AbstractBall, L2Ball

_MOST = 2**16


class _Table(AbstractTestFunction):
    """f(z) = values[place of z in the order]."""

    values: Float[Array, "s m"]
    ball: AbstractBall
    cardinalities: Cardinalities = eqx.field(static=True)

    def __call__(self, z: Vector, score: Vector) -> Float[Array, " m"]:
        del score
        return self.ball.project(self.values[index(z, self.cardinalities)])


class TableTestFunction(AbstractTestFunctionFamily):
    """Every function of the states: one row of `outputs` numbers each. For a few thousand states.

    `outputs`: 1 for `DiscreteStein`; left out, one for each latent, as `GibbsStein` takes them.
    """

    cardinalities: Cardinalities = eqx.field(static=True, converter=tuple)
    outputs: int | None = eqx.field(static=True, default=None)
    ball: AbstractBall = eqx.field(default_factory=L2Ball)

    def __check_init__(self):
        states = number_of_states(self.cardinalities)
        require(
            states <= _MOST,
            OpviError,
            expected=f"at most {_MOST:,} states in a table",
            got=f"{states:,}",
            write="StateTestFunction(target.cardinalities)",
        )

    def init(self, dim: int, *, key: Key) -> _Table:
        del key
        outputs = dim if self.outputs is None else self.outputs
        shape = (number_of_states(self.cardinalities), outputs)
        return _Table(jnp.zeros(shape, jnp.result_type(float)), self.ball, self.cardinalities)


class _States(AbstractTestFunction):
    """f(z) = net(x, one-hot states) + A (x, one-hot states) + b; the ball acts as in `_Neural`."""

    layers: tuple[eqx.nn.Linear, ...]
    weight: Float[Array, "m i"]
    bias: Float[Array, " m"]
    ball: AbstractBall
    activation: Callable = eqx.field(static=True)
    cardinalities: Cardinalities = eqx.field(static=True)

    def __call__(self, z: Vector, score: Vector) -> Float[Array, " m"]:
        del score
        x, k = z[: -len(self.cardinalities)], z[-len(self.cardinalities) :]
        seen = jnp.concatenate([x, one_hot(k, self.cardinalities)[:, 1:].ravel()])
        h = seen
        for layer in self.layers[:-1]:
            h = self.ball.project(self.activation(layer(h)))
        return self.ball.project(self.layers[-1](h) + self.weight @ seen + self.bias)


class StateTestFunction(AbstractTestFunctionFamily):
    """Networks that see the states one-hot, after the real numbers of a mixed target.

    `outputs`: 1 for `DiscreteStein`; left out, one for each latent, as `GibbsStein` takes them.
    """

    cardinalities: Cardinalities = eqx.field(static=True, converter=tuple)
    outputs: int | None = eqx.field(static=True, default=None)
    width: int = eqx.field(static=True, default=64)
    depth: int = eqx.field(static=True, default=2)
    ball: AbstractBall = eqx.field(default_factory=L2Ball)
    activation: Callable = eqx.field(static=True, default=jax.nn.gelu)

    def __check_init__(self):
        require(
            self.width >= 1 and self.depth >= 1,
            OpviError,
            expected="a width and a depth of at least 1",
            got=f"width={self.width}, depth={self.depth}",
            write="StateTestFunction(target.cardinalities, width=64, depth=2)",
        )

    def init(self, dim: int, *, key: Key) -> _States:
        dtype = jnp.result_type(float)
        k = len(self.cardinalities)
        outputs = dim if self.outputs is None else self.outputs
        inputs = dim - k + k * (max(self.cardinalities) - 1)
        sizes = [inputs] + [self.width] * self.depth + [outputs]
        keys = jr.split(key, len(sizes) - 1)
        layers = [
            eqx.nn.Linear(i, o, key=k) for i, o, k in zip(sizes[:-1], sizes[1:], keys, strict=True)
        ]
        return _States(
            layers=tuple(layers),
            weight=jnp.zeros((outputs, inputs), dtype),
            bias=jnp.zeros((outputs,), dtype),
            ball=self.ball,
            activation=self.activation,
            cardinalities=self.cardinalities,
        )
