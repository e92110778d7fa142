"""A target in the coordinates of an affine map z = loc + scale y, in which a good Gaussian is N(0, I)."""

from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import PyTree

from opvi._core.types import Key, Matrix, Scalar, Vector
from opvi.targets._base import AbstractSubsampledTarget, AbstractTarget, subsample


class WhitenedTarget(AbstractSubsampledTarget):
    """log p(loc + scale y) + log |det scale|, for a lower-triangular scale.

    Its score is scale' grad log p: badly scaled posteriors become well scaled ones. The constant
    log |det scale| keeps log densities comparable between coordinates.
    """

    target: AbstractTarget
    loc: Vector
    scale: Matrix
    dim: int = eqx.field(static=True)

    def __init__(self, target: AbstractTarget, loc: Vector, scale: Matrix):
        self.target, self.loc, self.scale, self.dim = target, loc, scale, target.dim

    def unwhiten(self, y: Vector) -> Vector:
        return self.loc + self.scale @ y

    def log_density(self, z: Vector) -> Scalar:
        log_det = jnp.sum(jnp.log(jnp.abs(jnp.diagonal(self.scale))))
        return self.target.log_density(self.unwhiten(z)) + log_det

    def minibatch(self, key: Key) -> AbstractTarget:
        return WhitenedTarget(subsample(self.target, key), self.loc, self.scale)

    def constrain(self, z: Vector) -> PyTree:
        return self.target.constrain(self.unwhiten(z))

    @property
    def columns(self) -> tuple[str, ...]:
        return self.target.columns

    @property
    def dims(self) -> Mapping[str, Sequence[str]]:
        return self.target.dims

    @property
    def coords(self) -> Mapping[str, Sequence[Any]]:
        return self.target.coords
