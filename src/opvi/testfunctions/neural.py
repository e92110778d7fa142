"""Neural test functions (paper, section 3: "we use neural networks")."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from opvi._core.errors import OpviError, require
from opvi._core.types import Key, Matrix, Vector
from opvi.testfunctions._base import AbstractTestFunction, AbstractTestFunctionFamily
from opvi.testfunctions.balls import AbstractBall, L2Ball


def _clip(score: Vector, norm: float) -> Vector:
    """The score with its length squashed smoothly below `norm`: heavy tails must not blow f up."""
    return score / jnp.sqrt(1.0 + jnp.sum(score**2) / norm**2)


class _Neural(AbstractTestFunction):
    """f(z) = net(z, score) + A z + b + c score; the ball acts on every layer and on the value."""

    layers: tuple[eqx.nn.Linear, ...]
    weight: Matrix
    bias: Vector
    gate: Vector | None
    ball: AbstractBall
    activation: Callable = eqx.field(static=True)
    sees_score: bool = eqx.field(static=True)
    score_norm: float = eqx.field(static=True)

    def __call__(self, z: Vector, score: Vector) -> Vector:
        seen = _clip(score, self.score_norm)
        h = jnp.concatenate([z, seen]) if self.sees_score else z
        for layer in self.layers[:-1]:
            h = self.ball.project(self.activation(layer(h)))
        out = self.layers[-1](h) + self.weight @ z + self.bias
        if self.gate is not None:
            out = out + self.gate * seen
        return self.ball.project(out)


class NeuralTestFunction(AbstractTestFunctionFamily):
    """Networks of `depth` hidden layers of `width` units, with an affine part.

    - `ball`: `L2Ball()` (default, what makes the objective work) or `BoundedNorm(2.0)` (the paper's).
    - `sees_score`: give the network grad log p(z) beside z: what makes a hundred dimensions work.
    - `score_gate`: also add c * grad log p(z), c learned.
    """

    width: int = eqx.field(static=True, default=64)
    depth: int = eqx.field(static=True, default=2)
    ball: AbstractBall = eqx.field(default_factory=L2Ball)
    activation: Callable = eqx.field(static=True, default=jax.nn.gelu)
    sees_score: bool = eqx.field(static=True, default=False)
    score_gate: bool = eqx.field(static=True, default=False)
    score_norm: float | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        require(
            self.width >= 1 and self.depth >= 1,
            OpviError,
            expected="a width and a depth of at least 1",
            got=f"width={self.width}, depth={self.depth}",
            write="NeuralTestFunction(width=64, depth=2), or LinearTestFunction()",
        )

    def init(self, dim: int, *, key: Key) -> _Neural:
        dtype = jnp.result_type(float)
        sizes = [2 * dim if self.sees_score else dim] + [self.width] * self.depth + [dim]
        keys = jr.split(key, len(sizes) - 1)
        layers = [
            eqx.nn.Linear(i, o, key=k) for i, o, k in zip(sizes[:-1], sizes[1:], keys, strict=True)
        ]
        return _Neural(
            layers=tuple(layers),
            weight=jnp.zeros((dim, dim), dtype),
            bias=jnp.zeros((dim,), dtype),
            gate=jnp.zeros((dim,), dtype) if self.score_gate else None,
            ball=self.ball,
            activation=self.activation,
            sees_score=self.sees_score,
            # In whitened coordinates a typical score has length sqrt(d).
            score_norm=5.0 * dim**0.5 if self.score_norm is None else self.score_norm,
        )
