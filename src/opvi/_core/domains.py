"""Open subsets of R^d with a boundary: a map onto the inside, and what vanishes at the edge.

Bounds are Python numbers, static: a domain has no parameters to learn.
"""

import abc
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool

from opvi._core.errors import OpviError, require
from opvi._core.types import Array, Matrix, Vector

Bound = float | tuple[float, ...]


def _numbers(x: Any) -> Bound:
    x = np.asarray(x, float)
    return float(x) if x.ndim == 0 else tuple(float(v) for v in x)


def _vector(x: Any) -> tuple[float, ...]:
    return tuple(float(v) for v in np.atleast_1d(np.asarray(x, float)))


class AbstractDomain(eqx.Module):
    """S, with boundary B and unit normal v."""

    @abc.abstractmethod
    def contains(self, z: Vector) -> Bool[Array, ""]:
        """Whether z lies inside."""

    @abc.abstractmethod
    def squash(self, y: Vector) -> Vector:
        """A smooth bijection from R^d onto S."""

    @abc.abstractmethod
    def vanishing(self, z: Vector) -> Matrix:
        """M(z): invertible inside, and v(z)' M(z) = 0 on B, so that v' M f = 0 there for every f."""


class Box(AbstractDomain):
    """lower < z < upper by coordinate; a bound may be infinite. `Box(0, inf)` is the positive orthant.

    M is diagonal: 4 (z - a)(b - z) / (b - a)^2 between two bounds, u / (1 + u) at distance u of one.
    """

    lower: Bound = eqx.field(static=True, converter=_numbers)
    upper: Bound = eqx.field(static=True, converter=_numbers)

    def __check_init__(self):
        require(
            bool(np.all(np.asarray(self.lower) < np.asarray(self.upper))),
            OpviError,
            expected="lower < upper in every coordinate",
            got=f"lower={self.lower}, upper={self.upper}",
            write="Box(0.0, 1.0), or Box(0.0, float('inf'))",
        )

    def _bounds(self, z: Vector) -> tuple[Any, ...]:
        """lower and upper (0 where there is none), and which of the two there are."""
        a = np.broadcast_to(np.asarray(self.lower), z.shape)
        b = np.broadcast_to(np.asarray(self.upper), z.shape)
        below, above = np.isfinite(a), np.isfinite(b)
        low, high = np.where(below, a, 0.0), np.where(above, b, np.where(below, a, 0.0) + 1.0)
        return jnp.asarray(low, z.dtype), jnp.asarray(high, z.dtype), below, above

    def contains(self, z: Vector) -> Bool[Array, ""]:
        a, b, below, above = self._bounds(z)
        return jnp.all((~below | (z > a)) & (~above | (z < b)))

    def squash(self, y: Vector) -> Vector:
        a, b, below, above = self._bounds(y)
        both = a + (b - a) * jax.nn.sigmoid(y)
        one = jnp.where(below, a + jax.nn.softplus(y), b - jax.nn.softplus(-y))
        return jnp.where(below & above, both, jnp.where(below | above, one, y))

    def vanishing(self, z: Vector) -> Matrix:
        a, b, below, above = self._bounds(z)
        both = 4.0 * (z - a) * (b - z) / (b - a) ** 2
        # The other branches keep their denominators away from 0, for the sake of their derivatives.
        u = jnp.where(below, z - a, b - z)
        u = jnp.where(below ^ above, u, 1.0)
        one = jnp.where(below | above, u / (1.0 + u), 1.0)
        return jnp.diag(jnp.where(below & above, both, one))


class HalfSpace(AbstractDomain):
    """normal' z > offset.

    M = I - n n' / (1 + u), n the unit normal and u the distance: only the normal part has to vanish.
    """

    normal: tuple[float, ...] = eqx.field(static=True, converter=_vector)
    offset: float = eqx.field(static=True, default=0.0, converter=float)

    def __check_init__(self):
        require(
            0.0 < self._length() < math.inf,
            OpviError,
            expected="a normal vector that is not 0",
            got=f"normal={self.normal}",
            write="HalfSpace((1.0, 0.0), offset=0.0)",
        )

    def _length(self) -> float:
        return float(np.linalg.norm(self.normal))

    def _distance(self, z: Vector) -> tuple[Vector, Array]:
        length = self._length()
        n = jnp.asarray(np.asarray(self.normal) / length, z.dtype)
        return n, n @ z - self.offset / length

    def contains(self, z: Vector) -> Bool[Array, ""]:
        return self._distance(z)[1] > 0

    def squash(self, y: Vector) -> Vector:
        n, u = self._distance(y)
        return y + (jax.nn.softplus(u) - u) * n

    def vanishing(self, z: Vector) -> Matrix:
        n, u = self._distance(z)
        return jnp.eye(z.shape[0], dtype=z.dtype) - jnp.outer(n, n) / (1.0 + u)


class Simplex(AbstractDomain):
    """z_i > 0 and sum_i z_i < 1: d + 1 probabilities by the first d of them.

    M = diag(z) - z z': row i is 0 where z_i is, and 1' M = (1 - sum z) z' is 0 where the last one is.
    """

    def contains(self, z: Vector) -> Bool[Array, ""]:
        return jnp.all(z > 0) & (jnp.sum(z) < 1)

    def squash(self, y: Vector) -> Vector:
        return jax.nn.softmax(jnp.concatenate([y, jnp.zeros((1,), y.dtype)]))[:-1]

    def vanishing(self, z: Vector) -> Matrix:
        return jnp.diag(z) - jnp.outer(z, z)


class EuclideanBall(AbstractDomain):
    """|z - centre| < radius. M = (1 - |z - centre|^2 / radius^2) I."""

    radius: float = eqx.field(static=True, default=1.0, converter=float)
    centre: Bound = eqx.field(static=True, default=0.0, converter=_numbers)

    def __check_init__(self):
        require(
            0.0 < self.radius < math.inf,
            OpviError,
            expected="a radius above 0",
            got=f"radius={self.radius}",
            write="EuclideanBall(radius=1.0)",
        )

    def _unit(self, z: Vector) -> Vector:
        return (z - jnp.asarray(self.centre, z.dtype)) / self.radius

    def contains(self, z: Vector) -> Bool[Array, ""]:
        return jnp.sum(self._unit(z) ** 2) < 1

    def squash(self, y: Vector) -> Vector:
        return jnp.asarray(self.centre, y.dtype) + self.radius * y / jnp.sqrt(1 + jnp.sum(y**2))

    def vanishing(self, z: Vector) -> Matrix:
        eye = jnp.eye(z.shape[0], dtype=z.dtype)
        return (1.0 - jnp.sum(self._unit(z) ** 2)) * eye
