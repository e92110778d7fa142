"""What the score of q is multiplied by: the operator's value, or the part of it that matters."""

import jax.numpy as jnp
import numpy as np

from opvi._core.types import Array, Float
from opvi.families import (
    AbstractDiscreteFamily,
    AbstractFamily,
    AbstractMixedFamily,
    AbstractTractableFamily,
)
from opvi.operators import Draw
from opvi.targets import AbstractFactorisedTarget, AbstractTarget


def states_of(family: AbstractFamily) -> AbstractDiscreteFamily:
    """The law of the states, all of the family or a block of it."""
    if isinstance(family, AbstractMixedFamily):
        return family.discrete
    assert isinstance(family, AbstractDiscreteFamily)
    return family


def log_choices(family: AbstractFamily, draw: Draw) -> Float[Array, " t"]:
    """log q of what is no function of noise, split by the chain rule where q has one."""
    if isinstance(family, AbstractDiscreteFamily | AbstractMixedFamily):
        states = states_of(family)
        return states.log_conditionals(draw.z[-states.dim :])
    assert isinstance(family, AbstractTractableFamily)
    return family.log_prob(draw.z)[None]


def blankets(family: AbstractFamily, target: AbstractTarget, draw: Draw) -> Float[Array, " t"]:
    """For each z_j the terms of log q(z) - log p(x, z) that move with z_j or with a descendant of it.

    For any other term g, E[g grad log q(z_j | z_<j)] = 0: given what z_j does not reach, g is a
    constant and the score of q(z_j | z_<j) has mean zero. log q(z_m | z_<m) moves with z_j if m is a
    descendant of j in q, a factor of p if its scope meets the descendants of j.
    """
    assert isinstance(family, AbstractTractableFamily)
    states = states_of(family)
    log_q = states.log_conditionals(draw.z[-states.dim :])
    reaches = states.descendants
    out = jnp.sum(jnp.where(reaches, log_q, 0.0), axis=1)
    if isinstance(family, AbstractMixedFamily):
        out = out + family.log_prob(draw.z) - jnp.sum(log_q)  # log q(x | k)
    if not isinstance(target, AbstractFactorisedTarget):
        return out - draw.seen
    # Not a product of matrices: a factor may be -inf, and 0 * inf is not 0.
    factors = target.log_factors(draw.z)
    return out - jnp.sum(jnp.where(_meets(reaches, target), factors, 0.0), axis=1)


def _meets(reaches: np.ndarray, target: AbstractFactorisedTarget) -> np.ndarray:
    """(d, k): whether the scope of factor k has a descendant of z_j."""
    inside = np.asarray([[i in scope for scope in target.scopes] for i in range(target.dim)])
    return np.any(reaches[:, :, None] & inside[None], axis=1)
