"""Discrete models small enough to enumerate, lopsided on purpose, and what enumerating them gives."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpyro.distributions import constraints

import opvi
from opvi._core.states import all_states


def noisy_or(causes: int = 8, findings: int = 10) -> opvi.AbstractTarget:
    """z_i ~ Bernoulli(prior_i); P(x_j = 0 | z) = exp(-leak_j - sum_i w_ji z_i), three causes a finding.

    Given positive findings the causes compete for the explanation: the posterior is correlated.
    """
    rng = np.random.default_rng(3)
    prior = rng.uniform(0.1, 0.4, causes)
    leak = rng.uniform(0.02, 0.1, findings)
    weight = np.zeros((findings, causes))
    for j in range(findings):
        parents = rng.choice(causes, 3, replace=False)
        weight[j, parents] = rng.uniform(0.5, 2.5, 3)
    x = np.arange(findings) % 3 != 0

    def log_factors(latents):
        z = latents["cause"].astype(jnp.result_type(float))
        p, w, l = (jnp.asarray(a, z.dtype) for a in (prior, weight, leak))
        log_prior = z * jnp.log(p) + (1 - z) * jnp.log1p(-p)
        log_off = -l - w @ z
        log_likelihood = jnp.where(jnp.asarray(x), jnp.log(-jnp.expm1(log_off)), log_off)
        return jnp.concatenate([log_prior, log_likelihood])

    scopes = [[f"cause[{i}]"] for i in range(causes)]
    scopes += [[f"cause[{i}]" for i in np.flatnonzero(weight[j])] for j in range(findings)]
    return opvi.from_factors(
        log_factors,
        {"cause": jnp.zeros(causes)},
        scopes=scopes,
        supports={"cause": constraints.boolean},
    )


def ising(side: int = 3, coupling: float = 0.35) -> opvi.AbstractTarget:
    """log p = J sum_edges s_i s_j + sum_i h_i s_i on a square grid, s = 2 z - 1, fields of both signs."""
    field = np.linspace(-0.3, 0.5, side**2)

    def log_density(latents):
        z = latents["spin"]
        s = 2 * z.astype(jnp.result_type(float)) - 1
        edges = jnp.sum(s[1:] * s[:-1]) + jnp.sum(s[:, 1:] * s[:, :-1])
        return coupling * edges + jnp.sum(jnp.asarray(field, s.dtype) * s.ravel())

    like = {"spin": jnp.zeros((side, side))}
    return opvi.from_log_density(log_density, like, supports={"spin": constraints.boolean})


def poisson(c: int = 30, rate: float = 7.3) -> opvi.AbstractTarget:
    """p(z) proportional to rate^z / z! on {0, ..., c}."""

    def log_density(latents):
        z = latents["count"].astype(jnp.result_type(float))
        return z * jnp.log(jnp.asarray(rate, z.dtype)) - jax.scipy.special.gammaln(z + 1)

    return opvi.from_log_density(
        log_density, {"count": 0}, supports={"count": constraints.integer_interval(0, c)}
    )


def random_target(cardinalities: tuple[int, ...], seed: int = 0) -> opvi.AbstractTarget:
    """Every state with a probability of its own: no structure to lean on."""
    table = np.random.default_rng(seed).normal(size=cardinalities)

    def log_density(latents):
        at = tuple(latents[f"z{i}"] for i in range(len(cardinalities)))
        return jnp.asarray(table, jnp.result_type(float))[at]

    return opvi.from_log_density(
        log_density,
        {f"z{i}": 0 for i in range(len(cardinalities))},
        supports={
            f"z{i}": constraints.integer_interval(0, c - 1) for i, c in enumerate(cardinalities)
        },
    )


@dataclass(frozen=True)
class Enumerated:
    """All states of a target and their posterior probabilities."""

    states: jax.Array
    log_density: jax.Array

    @property
    def p(self) -> jax.Array:
        return jax.nn.softmax(self.log_density)

    @property
    def log_evidence(self) -> jax.Array:
        return jax.nn.logsumexp(self.log_density)


def enumerate_states(target: opvi.AbstractTarget) -> Enumerated:
    assert isinstance(target, opvi.AbstractDiscreteTarget)
    states = all_states(target.cardinalities)
    return Enumerated(states, _log_densities(target, states))


def total_variation(target: opvi.AbstractTarget, family: opvi.AbstractTractableFamily) -> float:
    exact = enumerate_states(target)
    q = jnp.exp(_log_probs(family, exact.states))
    return float(jnp.sum(jnp.abs(q - exact.p)) / 2)


@eqx.filter_jit
def _log_densities(target: opvi.AbstractTarget, states: jax.Array) -> jax.Array:
    return jax.vmap(target.log_density)(states)


@eqx.filter_jit
def _log_probs(family: opvi.AbstractTractableFamily, states: jax.Array) -> jax.Array:
    return jax.vmap(family.log_prob)(states)
