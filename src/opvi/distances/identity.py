"""t(a) = a, for operators whose expectation cannot be negative (KL)."""

import equinox as eqx

from opvi._core.types import Array, Float, Scalar
from opvi.distances._base import AbstractDistance, mean


class Identity(AbstractDistance):
    """t(a) = a. Linear, so one sample set is unbiased and a constant in the operator does not matter."""

    sets: int = eqx.field(static=True, default=1, init=False)

    def __call__(self, a: Scalar) -> Scalar:
        return a

    def pool(self, values: Float[Array, " n"], weights: Float[Array, " n"] | None = None) -> Scalar:
        return mean(values, weights)

    def paired(self, *means: Scalar) -> Scalar:
        (a,) = means
        return a
