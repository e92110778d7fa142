"""Targets over states instead of real numbers, and over both.

A latent with finitely many states stays in the one flat vector z, as a float that holds an integer
in {0, ..., c}: families, operators and estimators pass one kind of vector around, a mixed model is
one vector too, and floats hold integers exactly (up to 2^24 in float32). `constrain` gives back
integers, counted from the lower end of the support, under the model's names.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from opvi._core.states import Cardinalities
from opvi._core.types import Key, Scalar, Vector
from opvi.targets._base import AbstractSubsampledTarget, AbstractTarget, subsample


class AbstractDiscreteTarget(AbstractTarget):
    """log p(x, z) of states only: z_i in {0, ..., cardinalities[i] - 1}. A mass, so no Jacobian.

    There is no score: what depends on p sees log densities at z and at the states beside it.
    """

    cardinalities: eqx.AbstractVar[Cardinalities]


class AbstractMixedTarget(AbstractTarget):
    """z = (x, k): first `continuous` real numbers, then one coordinate for each discrete latent."""

    continuous: eqx.AbstractVar[int]
    cardinalities: eqx.AbstractVar[Cardinalities]


class _AbstractView(AbstractTarget):
    """Another target, read as one of the kinds above."""

    target: eqx.AbstractVar[AbstractTarget]

    def log_density(self, z: Vector) -> Scalar:
        return self.target.log_density(z)

    def constrain(self, z: Vector) -> PyTree:
        return self.target.constrain(z)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.target.columns

    @property
    def dims(self) -> Mapping[str, Sequence[str]]:
        return self.target.dims

    @property
    def coords(self) -> Mapping[str, Sequence[Any]]:
        return self.target.coords


class DiscreteTarget(_AbstractView, AbstractDiscreteTarget):
    """A target all of whose coordinates are states."""

    target: AbstractTarget
    cardinalities: Cardinalities = eqx.field(static=True)
    dim: int = eqx.field(static=True)

    def __init__(self, target: AbstractTarget, cardinalities: Cardinalities):
        self.target, self.cardinalities, self.dim = target, cardinalities, target.dim


class SubsampledDiscreteTarget(_AbstractView, AbstractDiscreteTarget, AbstractSubsampledTarget):
    """The same with data to subsample: for operators linear in log p (KL), not for ratios of p."""

    target: AbstractTarget
    cardinalities: Cardinalities = eqx.field(static=True)
    dim: int = eqx.field(static=True)

    def __init__(self, target: AbstractTarget, cardinalities: Cardinalities):
        self.target, self.cardinalities, self.dim = target, cardinalities, target.dim

    def minibatch(self, key: Key) -> AbstractTarget:
        return DiscreteTarget(subsample(self.target, key), self.cardinalities)


class MixedTarget(AbstractMixedTarget, AbstractSubsampledTarget):
    """A target some of whose coordinates are states, with the real numbers moved to the front.

    `order[i]` is the place of coordinate i of this target among the coordinates of the inner one.
    """

    target: AbstractTarget
    order: tuple[int, ...] = eqx.field(static=True)
    continuous: int = eqx.field(static=True)
    cardinalities: Cardinalities = eqx.field(static=True)
    dim: int = eqx.field(static=True)

    def __init__(self, target: AbstractTarget, states: tuple[int | None, ...]):
        real = tuple(i for i, s in enumerate(states) if s is None)
        discrete = tuple(i for i, s in enumerate(states) if s is not None)
        self.target, self.order, self.continuous = target, real + discrete, len(real)
        self.cardinalities = tuple(s for s in states if s is not None)
        self.dim = target.dim

    def _inner(self, z: Vector) -> Vector:
        return z[jnp.asarray(np.argsort(self.order))]

    def log_density(self, z: Vector) -> Scalar:
        return self.target.log_density(self._inner(z))

    def minibatch(self, key: Key) -> AbstractTarget:
        return eqx.tree_at(lambda t: t.target, self, subsample(self.target, key))

    def constrain(self, z: Vector) -> PyTree:
        return self.target.constrain(self._inner(z))

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.target.columns[i] for i in self.order)

    @property
    def dims(self) -> Mapping[str, Sequence[str]]:
        return self.target.dims

    @property
    def coords(self) -> Mapping[str, Sequence[Any]]:
        return self.target.coords


def by_states(
    target: AbstractTarget, states: tuple[int | None, ...], *, subsampled: bool
) -> AbstractTarget:
    """`target` as the kind of target it is; `states[i]` is None where coordinate i is a real number."""
    cardinalities = tuple(s for s in states if s is not None)
    if not cardinalities:
        return target
    if len(cardinalities) < len(states):
        return MixedTarget(target, states)
    return (SubsampledDiscreteTarget if subsampled else DiscreteTarget)(target, cardinalities)
