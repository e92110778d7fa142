"""A target at an inverse temperature: beta log p(x, z). Rising beta is annealing."""

from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
from jaxtyping import PyTree

from opvi._core.types import Key, Scalar, Vector
from opvi.targets._base import AbstractSubsampledTarget, AbstractTarget, subsample


class TemperedTarget(AbstractSubsampledTarget):
    """p^beta: flat for beta near 0, where a family still sees every mode; the target itself at 1.

    Its minibatches are those of the target.
    """

    target: AbstractTarget
    beta: Scalar
    dim: int = eqx.field(static=True)

    def __init__(self, target: AbstractTarget, beta: Scalar):
        self.target, self.beta, self.dim = target, beta, target.dim

    def log_density(self, z: Vector) -> Scalar:
        return self.beta * self.target.log_density(z)

    def minibatch(self, key: Key) -> AbstractTarget:
        return TemperedTarget(subsample(self.target, key), self.beta)

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
