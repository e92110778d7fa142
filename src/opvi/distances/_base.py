"""A distance t: R -> [0, inf) (paper, eq. 2)."""

import abc

import equinox as eqx
import jax.numpy as jnp

from opvi._core.types import Array, Float, Scalar


class AbstractDistance(eqx.Module):
    """t(a), and an estimator of it without bias where there is one.

    t(mean of draws) is a biased estimate of t(E[.]) unless t is linear. `paired` takes what `pool`
    made of each of `sets` independent sample sets, and has expectation t(E[.]), as has its gradient
    (paper, eq. 7). A distance for which that is impossible says so in its docstring.
    """

    sets: eqx.AbstractVar[int]

    @abc.abstractmethod
    def __call__(self, a: Scalar) -> Scalar:
        """t(a)."""

    @abc.abstractmethod
    def pool(self, values: Float[Array, " n"], weights: Float[Array, " n"] | None = None) -> Scalar:
        """One number for one sample set: the mean of the operator's values (`mean`) for every t that
        is a function of E_q[O f]. `weights`, of mean one, where the draws carry some."""

    @abc.abstractmethod
    def paired(self, *means: Scalar) -> Scalar:
        """An unbiased estimate of t(E[.]) from the pooled values of `sets` independent sample sets."""


def mean(values: Float[Array, " n"], weights: Float[Array, " n"] | None = None) -> Scalar:
    """1/n sum_i weight_i h_i, unbiased for E_q[h]."""
    return jnp.mean(values if weights is None else weights * values)
