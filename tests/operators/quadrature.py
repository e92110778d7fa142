"""Expectations under a Gaussian q without noise: Gauss-Hermite nodes as draws, its weights as weights."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

import opvi


def hermite(nodes: int) -> tuple[jax.Array, jax.Array]:
    """Nodes for N(0, 1), shape (nodes, 1), and weights of mean one."""
    x, w = np.polynomial.hermite_e.hermegauss(nodes)
    dtype = jnp.result_type(float)
    return jnp.asarray(x[:, None], dtype), jnp.asarray(w / w.sum() * nodes, dtype)


def value(
    objective: opvi.Objective,
    family: opvi.AbstractReparameterisedFamily,
    target: opvi.AbstractTarget,
    f: opvi.AbstractTestFunction | None = None,
    nodes: int = 150,
) -> jax.Array:
    """t(E_q[O f]) for a q that is one-dimensional and driven by one standard normal."""
    eps, weights = hermite(nodes)
    f = objective.test_functions.init(1, key=jr.key(0)) if f is None else f

    def integrand(eps: jax.Array) -> jax.Array:
        z = family.transform(eps)
        draw = opvi.Draw(z=z, eps=eps, seen=objective.operator.see(target, z), key=jr.key(0))
        return objective.integrand(f, draw, target=target, family=family)

    pooled = objective.outer.pool(jax.vmap(integrand)(eps), weights)
    return objective.outer.paired(*([pooled] * objective.outer.sets))


def normal_target(
    mean: float, sd: float, log_evidence: float = 0.0
) -> tuple[opvi.AbstractTarget, Callable[[jax.Array], jax.Array]]:
    """N(mean, sd^2) with the normaliser exp(log_evidence), and its log density."""

    def log_density(z: jax.Array) -> jax.Array:
        u = (z - mean) / sd
        return jnp.sum(-0.5 * u**2) - np.log(sd) - 0.5 * np.log(2 * np.pi) + log_evidence

    return opvi.from_log_density(log_density, jnp.zeros(1)), log_density
