"""An affine image of a family: how a fit in whitened coordinates is read in the original ones."""

import equinox as eqx
import jax.numpy as jnp
import jax.scipy.linalg as jsl

from opvi._core.types import Array, Float, Key, Matrix, Noise, Scalar, Vector
from opvi.families._base import (
    AbstractReparameterisedFamily,
    AbstractSemiImplicitFamily,
    AbstractTractableFamily,
    AbstractTransportFamily,
    AbstractWeightedFamily,
)


class _AbstractAffine(AbstractReparameterisedFamily):
    """z = loc + scale y."""

    base: eqx.AbstractVar[AbstractReparameterisedFamily]
    loc: eqx.AbstractVar[Vector]
    scale: eqx.AbstractVar[Matrix]

    @property
    def log_det(self) -> Scalar:
        return jnp.sum(jnp.log(jnp.abs(jnp.diagonal(self.scale))))

    def noise(self, key: Key, n: int) -> Noise:
        return self.base.noise(key, n)

    def transform(self, eps: Noise) -> Vector:
        # The lower triangle alone, as in the density: a gradient step fills the upper one too.
        return self.loc + jnp.tril(self.scale) @ self.base.transform(eps)


class _AbstractConditional(_AbstractAffine, AbstractSemiImplicitFamily):
    def conditional_score(self, eps: Noise) -> Vector:
        assert isinstance(self.base, AbstractSemiImplicitFamily)
        # grad_z log q(z | eps) = scale^-T grad_y log q(y | eps).
        score = self.base.conditional_score(eps)
        return jsl.solve_triangular(self.scale, score, lower=True, trans="T")


class _AbstractDensity(_AbstractAffine, AbstractTractableFamily):
    def log_prob(self, z: Vector) -> Scalar:
        assert isinstance(self.base, AbstractTractableFamily)
        y = jsl.solve_triangular(self.scale, z - self.loc, lower=True)
        return self.base.log_prob(y) - self.log_det


class _AbstractWeights(_AbstractAffine, AbstractWeightedFamily):
    def strata(self, key: Key, n: int) -> Noise:
        assert isinstance(self.base, AbstractWeightedFamily)
        return self.base.strata(key, n)

    def weight(self, eps: Noise) -> Scalar:
        assert isinstance(self.base, AbstractWeightedFamily)
        return self.base.weight(eps)


class _Reparameterised(_AbstractAffine):
    base: AbstractReparameterisedFamily
    loc: Vector
    scale: Matrix
    dim: int = eqx.field(static=True)


class _SemiImplicit(_AbstractConditional):
    base: AbstractReparameterisedFamily
    loc: Vector
    scale: Matrix
    dim: int = eqx.field(static=True)


class _Tractable(_AbstractDensity):
    base: AbstractReparameterisedFamily
    loc: Vector
    scale: Matrix
    dim: int = eqx.field(static=True)


class _Transport(_AbstractDensity, AbstractTransportFamily):
    base: AbstractReparameterisedFamily
    loc: Vector
    scale: Matrix
    dim: int = eqx.field(static=True)

    def transform_and_log_prob(self, eps: Noise) -> tuple[Vector, Scalar]:
        assert isinstance(self.base, AbstractTransportFamily)
        y, log_q = self.base.transform_and_log_prob(eps)
        return self.loc + jnp.tril(self.scale) @ y, log_q - self.log_det


class _Weighted(_AbstractWeights):
    base: AbstractReparameterisedFamily
    loc: Vector
    scale: Matrix
    dim: int = eqx.field(static=True)


class _WeightedSemiImplicit(_AbstractWeights, _AbstractConditional):
    base: AbstractReparameterisedFamily
    loc: Vector
    scale: Matrix
    dim: int = eqx.field(static=True)


class _WeightedTractable(_AbstractWeights, _AbstractDensity):
    base: AbstractReparameterisedFamily
    loc: Vector
    scale: Matrix
    dim: int = eqx.field(static=True)


def Affine(
    base: AbstractReparameterisedFamily, loc: Vector, scale: Float[Array, "d d"]
) -> AbstractReparameterisedFamily:
    """z = loc + scale y with y from `base` and a lower-triangular scale; keeps what `base` can do."""
    weighted = isinstance(base, AbstractWeightedFamily)
    if isinstance(base, AbstractTransportFamily):
        kind = _Transport
    elif isinstance(base, AbstractTractableFamily):
        kind = _WeightedTractable if weighted else _Tractable
    elif isinstance(base, AbstractSemiImplicitFamily):
        kind = _WeightedSemiImplicit if weighted else _SemiImplicit
    else:
        kind = _Weighted if weighted else _Reparameterised
    return kind(base=base, loc=loc, scale=scale, dim=base.dim)
