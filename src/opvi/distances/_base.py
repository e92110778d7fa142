"""A distance t: R -> [0, inf) (paper, eq. 2)."""

import abc

import equinox as eqx

from opvi._core.types import Scalar


class AbstractDistance(eqx.Module):
    """t(a), and an estimator of it without bias.

    t(mean of draws) is a biased estimate of t(E[.]) unless t is linear. `paired` takes the means of
    `sets` independent sample sets and has expectation t(E[.]), as has its gradient (paper, eq. 7).
    """

    sets: eqx.AbstractVar[int]

    @abc.abstractmethod
    def __call__(self, a: Scalar) -> Scalar:
        """t(a)."""

    @abc.abstractmethod
    def paired(self, *means: Scalar) -> Scalar:
        """An unbiased estimate of t(E[.]) from the means of `sets` independent sample sets."""
