"""Balls: the ways to keep sup_f finite.

A ball changes what is averaged over draws (`integrand`) and whether the distance is still needed on
top of the average (`linear`).
"""

import abc

import equinox as eqx
import jax.numpy as jnp

from opvi._core.types import Scalar, Vector


class AbstractBall(eqx.Module):
    """A set of test functions in which the supremum is finite."""

    linear: eqx.AbstractVar[bool]
    """Whether the objective at fixed f is an expectation, so that no second sample set is needed."""

    @abc.abstractmethod
    def project(self, h: Vector) -> Vector:
        """What the ball does to a vector of activations (and to the value of f)."""

    @abc.abstractmethod
    def integrand(self, of: Scalar, f: Vector) -> Scalar:
        """What is averaged over draws, from (O f)(z) and f(z)."""


class BoundedNorm(AbstractBall):
    """|f(z)| <= norm, and the same for every hidden layer: the paper's bound (section 4.2, norm two).

    t acts on E_q[O f], so with the square two independent sample sets are needed.
    """

    norm: float = eqx.field(static=True, default=2.0)
    linear: bool = eqx.field(static=True, default=False, init=False)

    def project(self, h: Vector) -> Vector:
        # h min(1, norm / |h|), written so that the gradient at h = 0 is finite.
        squared = jnp.sum(h**2)
        outside = squared > self.norm**2
        length = jnp.sqrt(jnp.where(outside, squared, 1.0))
        return jnp.where(outside, self.norm / length, 1.0) * h

    def integrand(self, of: Scalar, f: Vector) -> Scalar:
        del f
        return of


class L2Ball(AbstractBall):
    """E_q |f|^2 <= 1, in its dual form.

    With the square distance, and c the scale of f (c^2 E|f|^2 <= 1 is binding at the supremum),

        sup_{E|f|^2 <= 1} (E[O f])^2 = sup_f (E[O f])^2 / E|f|^2 = sup_f  2 E[O f] - E|f|^2,

    an expectation: unbiased from one sample set. For the Langevin-Stein operator the supremum is at
    f* = grad log p - grad log q and its value is the Fisher divergence E_q |f*|^2.
    """

    linear: bool = eqx.field(static=True, default=True, init=False)

    def project(self, h: Vector) -> Vector:
        return h

    def integrand(self, of: Scalar, f: Vector) -> Scalar:
        return 2.0 * of - jnp.sum(f**2)


class RKHSBall(AbstractBall):
    """|f|_H <= 1 in a reproducing-kernel space, in its dual form: sup_f 2 E[O f] - |f|_H^2.

    |f|_H is no mean over draws, so at a fixed f what is averaged is O f alone; the supremum is known in
    closed form.
    """

    linear: bool = eqx.field(static=True, default=True, init=False)

    def project(self, h: Vector) -> Vector:
        return h

    def integrand(self, of: Scalar, f: Vector) -> Scalar:
        del f
        return of
