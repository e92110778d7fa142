"""A target for any family of the table: of the same kind of latents, with no symmetry to hide behind."""

import jax
import jax.numpy as jnp
from numpyro.distributions import constraints

import opvi
from tests.discrete_models import random_target
from tests.laws import catalogue as laws


def target_of(family: opvi.AbstractFamily) -> opvi.AbstractTarget:
    if isinstance(family, opvi.AbstractMixedFamily):
        like = {"x": jnp.zeros(family.dim - family.discrete.dim), "k": jnp.zeros(2)}
        return opvi.from_log_density(_mixed, like, supports={"k": constraints.boolean})
    if isinstance(family, opvi.AbstractDiscreteFamily):
        return random_target(family.cardinalities)
    return laws.known(family.dim).target()


def _mixed(latents) -> jax.Array:
    k = latents["k"].astype(jnp.result_type(float))
    x = latents["x"] - k[0] + 0.5 * k[1]
    return jnp.sum(2 * x - jnp.exp(x)) + 0.7 * k[0] - 0.4 * k[1] + 0.9 * k[0] * k[1]
