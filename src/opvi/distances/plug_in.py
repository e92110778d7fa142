"""Any function as a distance, with the bias that goes with it."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp

from opvi._core.types import Array, Float, Scalar
from opvi.distances._base import AbstractDistance, mean
from opvi.distances._checks import check_distance


class PlugIn(AbstractDistance):
    """t(a) for a function t of your own, estimated by t(mean of n draws).

    **There is no unbiased paired form** of a t that is no polynomial (use `Distance` for one that is):

        E[t(mean)] = t(a) + t''(a) Var(h) / (2 n) + O(1/n^2),   a = E_q[h],

    too high where t is convex, and the gradient is biased by the gradient of that. Take many draws.
    """

    t: Callable[[Scalar], Scalar] = eqx.field(static=True)
    sets: int = eqx.field(static=True, default=1, init=False)

    def __check_init__(self):
        t = jax.jit(self.t)
        check_distance(lambda a: t(jnp.asarray(a)), "PlugIn(lambda a: jnp.sqrt(1 + a**2) - 1)")

    def __call__(self, a: Scalar) -> Scalar:
        return self.t(a)

    def pool(self, values: Float[Array, " n"], weights: Float[Array, " n"] | None = None) -> Scalar:
        return mean(values, weights)

    def paired(self, *means: Scalar) -> Scalar:
        (a,) = means
        return self.t(a)
