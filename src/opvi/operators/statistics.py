"""Three ways to estimate E_{z, z' ~ q} h(z, z') from draws of q."""

import abc
from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp

from opvi._core.errors import IncompatibleError, require
from opvi._core.types import Array, Float, Scalar

Weights = Float[Array, " n"] | None
Pairs = Float[Array, "n m"]


class AbstractStatistic(eqx.Module):
    """E_{z, z' ~ q} h(z, z') from `sets` independent sets of draws."""

    sets: eqx.AbstractVar[int]

    @abc.abstractmethod
    def __call__(self, h: Callable[[int, int], Pairs], weights: tuple[Weights, ...]) -> Scalar:
        """`h(k, l)` is the matrix of h at all pairs of a draw of set k and a draw of set l."""


class UStatistic(AbstractStatistic):
    """1/(n (n - 1)) sum_{i != j} h(z_i, z_j): unbiased from one set, and may be negative.

    Of the unbiased ones the least noisy: n^2 pairs from n draws.
    """

    sets: int = eqx.field(static=True, default=1, init=False)

    def __call__(self, h: Callable[[int, int], Pairs], weights: tuple[Weights, ...]) -> Scalar:
        pairs = _weighted(h(0, 0), weights[0], weights[0])
        n = pairs.shape[0]
        check_pairs(n)
        return jnp.sum(pairs * (1.0 - jnp.eye(n, dtype=pairs.dtype))) / (n * (n - 1))


class TwoBatches(AbstractStatistic):
    """mean_{i, j} h(z_i, z'_j) over two independent sets: the paper's two sample sets (eq. 7).

    Unbiased, also where the draws of one set are not independent of each other (mixture weights).
    """

    sets: int = eqx.field(static=True, default=2, init=False)

    def __call__(self, h: Callable[[int, int], Pairs], weights: tuple[Weights, ...]) -> Scalar:
        return jnp.mean(_weighted(h(0, 1), *weights))


class VStatistic(AbstractStatistic):
    """mean_{i, j} h(z_i, z_j) over one set, i = j included: the supremum for the draws themselves.

    **Biased** upwards by (E h(z, z) - E h(z, z')) / n, of which the gradient pulls draws to where
    h(z, z) is small; never negative, and 0 is its least value.
    """

    sets: int = eqx.field(static=True, default=1, init=False)

    def __call__(self, h: Callable[[int, int], Pairs], weights: tuple[Weights, ...]) -> Scalar:
        return jnp.mean(_weighted(h(0, 0), weights[0], weights[0]))


def check_pairs(n: int) -> None:
    """Refuse a number of draws that makes no pair."""
    require(
        n >= 2,
        IncompatibleError,
        expected="at least two draws: a kernel compares pairs of them",
        got=f"{n}",
        write="Reparameterised(draws=256)",
    )


def _weighted(h: Pairs, left: Weights, right: Weights) -> Pairs:
    h = h if left is None else left[:, None] * h
    return h if right is None else h * right[None]
