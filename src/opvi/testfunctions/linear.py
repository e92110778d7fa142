"""Linear test functions: the smallest F with a meaning of its own."""

import equinox as eqx
import jax.numpy as jnp

from opvi._core.errors import OpviError, require
from opvi._core.types import Key, Matrix, Vector
from opvi.testfunctions._base import AbstractTestFunction, AbstractTestFunctionFamily
from opvi.testfunctions.balls import AbstractBall, L2Ball


class _Linear(AbstractTestFunction):
    """f(z) = A z + b."""

    weight: Matrix
    bias: Vector

    def __call__(self, z: Vector, score: Vector) -> Vector:
        del score
        return self.weight @ z + self.bias


class LinearTestFunction(AbstractTestFunctionFamily):
    """F = {A z + b}.

    E_q[O_LS f] = 0 for every such f says E_q[s] = 0 and E_q[s z'] = -I, s = grad log p: with a
    Gaussian q exactly the stationary points of KL.
    """

    ball: AbstractBall = eqx.field(default_factory=L2Ball)

    def __check_init__(self):
        require(
            self.ball.linear,
            OpviError,
            expected="L2Ball(): no bound on |f(z)| leaves A z + b linear",
            got=f"{type(self.ball).__name__}()",
            write="LinearTestFunction(), or NeuralTestFunction(ball=BoundedNorm())",
        )

    def init(self, dim: int, *, key: Key) -> _Linear:
        del key
        dtype = jnp.result_type(float)
        return _Linear(jnp.zeros((dim, dim), dtype), jnp.zeros((dim,), dtype))
