"""t(a) = a^2, the paper's distance for Langevin-Stein (eq. 5)."""

import equinox as eqx

from opvi._core.types import Array, Float, Scalar
from opvi.distances._base import AbstractDistance, mean


class Square(AbstractDistance):
    """t(a) = a^2. E[mean^2] = (E a)^2 + Var/n is biased; a b from two independent sets is not."""

    sets: int = eqx.field(static=True, default=2, init=False)

    def __call__(self, a: Scalar) -> Scalar:
        return a**2

    def pool(self, values: Float[Array, " n"], weights: Float[Array, " n"] | None = None) -> Scalar:
        return mean(values, weights)

    def paired(self, *means: Scalar) -> Scalar:
        a, b = means
        return a * b
