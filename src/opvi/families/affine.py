"""An affine image of a family: how a fit in whitened coordinates is read in the original ones."""

import equinox as eqx
import jax.numpy as jnp
import jax.scipy.linalg as jsl

from opvi._core.types import Array, Float, Key, Matrix, Noise, Scalar, Vector
from opvi.families._base import (
    AbstractFamily,
    AbstractReparameterisedFamily,
    AbstractSemiImplicitFamily,
    AbstractTractableFamily,
)


class _AffineReparameterised(AbstractReparameterisedFamily):
    base: AbstractReparameterisedFamily
    loc: Vector
    scale: Matrix
    dim: int = eqx.field(static=True)

    def noise(self, key: Key, n: int) -> Noise:
        return self.base.noise(key, n)

    def transform(self, eps: Noise) -> Vector:
        return self.loc + self.scale @ self.base.transform(eps)


class _AffineSemiImplicit(AbstractSemiImplicitFamily):
    base: AbstractSemiImplicitFamily
    loc: Vector
    scale: Matrix
    dim: int = eqx.field(static=True)

    def noise(self, key: Key, n: int) -> Noise:
        return self.base.noise(key, n)

    def transform(self, eps: Noise) -> Vector:
        return self.loc + self.scale @ self.base.transform(eps)

    def conditional_score(self, eps: Noise) -> Vector:
        # z = loc + scale y, so grad_z log q(z | eps) = scale^-T grad_y log q(y | eps).
        return jsl.solve_triangular(
            self.scale, self.base.conditional_score(eps), lower=True, trans="T"
        )


class _AffineTractable(AbstractReparameterisedFamily, AbstractTractableFamily):
    base: AbstractFamily
    loc: Vector
    scale: Matrix
    dim: int = eqx.field(static=True)

    def noise(self, key: Key, n: int) -> Noise:
        assert isinstance(self.base, AbstractReparameterisedFamily)
        return self.base.noise(key, n)

    def transform(self, eps: Noise) -> Vector:
        assert isinstance(self.base, AbstractReparameterisedFamily)
        return self.loc + self.scale @ self.base.transform(eps)

    def log_prob(self, z: Vector) -> Scalar:
        assert isinstance(self.base, AbstractTractableFamily)
        y = jsl.solve_triangular(self.scale, z - self.loc, lower=True)
        return self.base.log_prob(y) - jnp.sum(jnp.log(jnp.abs(jnp.diagonal(self.scale))))


def Affine(
    base: AbstractReparameterisedFamily, loc: Vector, scale: Float[Array, "d d"]
) -> AbstractReparameterisedFamily:
    """z = loc + scale y with y from `base` and a lower-triangular scale; keeps what `base` can do."""
    if isinstance(base, AbstractTractableFamily):
        return _AffineTractable(base=base, loc=loc, scale=scale, dim=base.dim)
    if isinstance(base, AbstractSemiImplicitFamily):
        return _AffineSemiImplicit(base=base, loc=loc, scale=scale, dim=base.dim)
    return _AffineReparameterised(base=base, loc=loc, scale=scale, dim=base.dim)
