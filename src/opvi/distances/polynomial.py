"""Polynomial distances: those of which an unbiased paired form can be written down, and is."""

import math
from collections.abc import Callable, Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from opvi._core.errors import OpviError, require, teach
from opvi._core.types import Array, Float, Scalar
from opvi.distances._base import AbstractDistance, mean
from opvi.distances._checks import check_distance
from opvi.distances._tracing import NotPolynomial, coefficients_of
from opvi.distances.square import Square


class Polynomial(AbstractDistance):
    """t(a) = sum_k c_k a^k, with c_0 = 0 and t >= 0. Degree d takes d independent sets.

    With means a_1, ..., a_d of independent sets, E[a_1 ... a_k] = (E a)^k. Every choice of k of the sets
    will do, and their average e_k(a_1, ..., a_d) / binom(d, k), e_k the elementary symmetric polynomial,
    has the least variance:

        paired = sum_k c_k e_k(a_1, ..., a_d) / binom(d, k).
    """

    coefficients: tuple[float, ...] = eqx.field(static=True)
    sets: int = eqx.field(static=True)

    def __init__(self, coefficients: Sequence[float]):
        c = np.trim_zeros(np.asarray(coefficients, float), "b")
        require(
            c.ndim == 1 and len(c) >= 2 and bool(np.all(np.isfinite(c))),
            OpviError,
            expected="the coefficients c_0, c_1, ... of a polynomial that is not constant",
            got=f"{tuple(coefficients)}",
            write="Polynomial((0.0, 0.0, 1.0)), which is a^2",
        )
        self.coefficients, self.sets = tuple(float(x) for x in c), len(c) - 1
        check_distance(lambda a: np.polynomial.polynomial.polyval(a, c), "a^2, a^2 + a^4, ...")

    def __call__(self, a: Scalar) -> Scalar:
        value = jnp.zeros_like(a)
        for c in reversed(self.coefficients):
            value = value * a + c
        return value

    def pool(self, values: Float[Array, " n"], weights: Float[Array, " n"] | None = None) -> Scalar:
        return mean(values, weights)

    def paired(self, *means: Scalar) -> Scalar:
        elementary = [jnp.ones_like(means[0])] + [jnp.zeros_like(means[0])] * self.sets
        for a in means:
            for k in range(self.sets, 0, -1):
                elementary[k] = elementary[k] + a * elementary[k - 1]
        terms = zip(self.coefficients, elementary, strict=True)
        weighted = [c * e / math.comb(self.sets, k) for k, (c, e) in enumerate(terms)]
        return sum(weighted[1:], start=weighted[0])


def Distance(t: Callable[[Scalar], Scalar]) -> AbstractDistance:
    """Any polynomial t, from the function itself: `Distance(lambda a: a**2 + a**4)`.

    Its coefficients are read from what JAX traces, and with them the unbiased paired form. There is
    none for other functions, which are refused here; `PlugIn` takes them, with their bias.
    """
    try:
        c = coefficients_of(t)
    except NotPolynomial as error:
        raise OpviError(
            teach(
                "a polynomial: from n draws only polynomials in E[.], of degree n at most, can be "
                "estimated without bias",
                f"a function made with {error}",
                "Distance(lambda a: a**2 + a**4), or PlugIn(t), whose bias t''(E[.]) Var / (2 n) you "
                "accept",
            )
        ) from None
    return Square() if c == (0.0, 0.0, 1.0) else Polynomial(c)
