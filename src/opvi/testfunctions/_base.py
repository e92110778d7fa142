"""Test functions. `AbstractTestFunctionFamily` is the set F; `AbstractTestFunction` is one f_theta in it.

F is part of the objective and holds no arrays; f_theta is what the solver maximises over, and its
arrays are the parameters theta.
"""

import abc

import equinox as eqx
import jax.numpy as jnp

from opvi._core.types import Array, Float, Key, Vector
from opvi.testfunctions.balls import AbstractBall, BoundedNorm


class AbstractTestFunction(eqx.Module):
    """f_theta: R^d -> R^d."""

    @abc.abstractmethod
    def __call__(self, z: Vector, score: Vector) -> Vector:
        """f_theta(z). `score` is grad log p(x, z), a function of z that f may use or ignore."""


class Evaluated(AbstractTestFunction):
    """f, remembering its value at one draw.

    An integrand asks for f(z) in several terms (the score term, the divergence-free term, the
    ball). Each call would be a backward pass of its own: this makes it one.
    """

    f: AbstractTestFunction
    z: Vector
    value: Float[Array, " outputs"]

    def __call__(self, z: Vector, score: Vector) -> Float[Array, " outputs"]:
        # By identity: under a transformation (jvp, for an exact divergence) z is another object.
        return self.value if z is self.z else self.f(z, score)


class AbstractTestFunctionFamily(eqx.Module):
    """F, with the ball that bounds it."""

    ball: eqx.AbstractVar[AbstractBall]

    @abc.abstractmethod
    def init(self, dim: int, *, key: Key) -> AbstractTestFunction:
        """A first member of F on R^dim."""


class _Nothing(AbstractTestFunction):
    def __call__(self, z: Vector, score: Vector) -> Vector:
        return jnp.zeros_like(z)


class NoTestFunction(AbstractTestFunctionFamily):
    """For operators that map every f to the same function, as KL does (paper, eq. 6)."""

    ball: AbstractBall = BoundedNorm()

    def init(self, dim: int, *, key: Key) -> AbstractTestFunction:
        return _Nothing()
