"""The score of a part of q, given the noise of the rest."""

import jax

from opvi._core.types import Noise, Vector
from opvi.families._base import (
    AbstractReparameterisedFamily,
    AbstractSemiImplicitFamily,
    AbstractTractableFamily,
)


def conditional_score(family: AbstractReparameterisedFamily, eps: Noise) -> Vector:
    """grad_z log q(z | eps) at z = R(eps). With a density there is no eps to condition on."""
    if isinstance(family, AbstractSemiImplicitFamily):
        return family.conditional_score(eps)
    assert isinstance(family, AbstractTractableFamily)
    return jax.grad(family.log_prob)(family.transform(eps))
