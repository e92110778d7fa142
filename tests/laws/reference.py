"""The formulas of the paper, written again without the package: what the laws compare with.

For one draw; the score and the log density come from the known target, not from `opvi`.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

import opvi
from tests.fixtures import Known
from tests.laws.catalogue import bent

Integrand = Callable[[Any, Any, jax.Array, Any, jax.Array, Known], jax.Array]


def score_given_noise(q: Any, eps: Any) -> jax.Array:
    """grad_z log q(z | eps_g) of z = m(eps_g) + J xi: J^-T grad log r(xi), -J^-T xi for normal xi."""
    if isinstance(q, opvi.WeightedProgram):
        jacobian = jax.jacfwd(lambda xi: q.transform(eqx.tree_at(lambda e: e.xi, eps, xi)))(eps.xi)
        return -jnp.linalg.solve(jacobian.T, eps.xi)
    if isinstance(q, opvi.AbstractWeightedFamily):  # given the label too, z is of one component
        scores = [_score_of_q(c, e) for c, e in zip(q.components, eps.components, strict=True)]
        return jnp.stack(scores)[eps.label]
    if hasattr(q, "blocks"):  # in the order of the latents, in this catalogue
        return jnp.concatenate([_score_of_q(b, e) for b, e in zip(q.blocks, eps, strict=True)])
    eps_g, xi = eps
    jacobian = jax.jacfwd(lambda xi: q.transform((eps_g, xi)))(xi)
    if isinstance(q, opvi.StudentTProgram):
        along = jax.grad(lambda xi: jnp.sum(jax.scipy.stats.t.logpdf(xi, q.dof)))(xi)
        return jnp.linalg.solve(jacobian.T, along)
    return -jnp.linalg.solve(jacobian.T, xi)


def _score_of_q(q: Any, eps: Any) -> jax.Array:
    if hasattr(q, "log_prob"):
        return jax.grad(q.log_prob)(q.transform(eps))
    return score_given_noise(q, eps)


def _field(f: Any, known: Known) -> Callable[[jax.Array], jax.Array]:
    return lambda z: f(z, jax.grad(known.log_density)(z))


def _langevin_stein(f, z, known, divergence) -> jax.Array:
    """Eq. 4: grad log p' f + div f."""
    return jax.grad(known.log_density)(z) @ _field(f, known)(z) + divergence


def langevin_stein_exact(f, q, z, eps, key, known) -> jax.Array:
    return _langevin_stein(f, z, known, jnp.trace(jax.jacrev(_field(f, known))(z)))


def langevin_stein_hutchinson(f, q, z, eps, key, known) -> jax.Array:
    v = jr.rademacher(key, (1, z.shape[0]), z.dtype)[0]
    return _langevin_stein(f, z, known, v @ jax.jacrev(_field(f, known))(z) @ v)


def langevin_stein_divergence_free(f, q, z, eps, key, known) -> jax.Array:
    return _langevin_stein(f, z, known, -_score_of_q(q, eps) @ _field(f, known)(z))


def diffusion_stein(f, q, z, eps, key, known) -> jax.Array:
    """1/p div(p M f), with whichever divergence the family takes."""

    class Bent:
        def __call__(self, z, score):
            return bent(z) @ f(z, score)

    semi_implicit = isinstance(q, opvi.AbstractSemiImplicitFamily)
    formula = langevin_stein_divergence_free if semi_implicit else langevin_stein_exact
    return formula(Bent(), q, z, eps, key, known)


def log_ratio(f, q, z, eps, key, known) -> jax.Array:
    """log q - log p: eq. 6 itself, and the logarithm of what the ratio operators are powers of."""
    return q.log_prob(z) - known.log_density(z)


def fisher(f, q, z, eps, key, known) -> jax.Array:
    return jnp.sum(jax.grad(lambda z: log_ratio(f, q, z, eps, key, known))(z) ** 2)


# The operator by its name in the catalogue.
INTEGRANDS: dict[str, Integrand] = {
    "LangevinStein_Exact": langevin_stein_exact,
    "LangevinStein_Hutchinson": langevin_stein_hutchinson,
    "LangevinStein_DivergenceFree": langevin_stein_divergence_free,
    "DiffusionStein": diffusion_stein,
    "KL": log_ratio,
    "Renyi_half": log_ratio,
    "Renyi_2": log_ratio,
    "Chi": log_ratio,
    "InclusiveKL": log_ratio,
    "Fisher": fisher,
}


def _inclusive(h: jax.Array, mean: Callable) -> jax.Array:
    r = jnp.exp(-h)  # p / q
    return mean(-r * h) / mean(r) - jnp.log(mean(r))


# What is made of the integrand where that is no function of its mean: (values, mean) -> number.
DIVERGENCES: dict[str, Callable[[jax.Array, Callable], jax.Array]] = {
    "Renyi_half": lambda h, mean: jnp.log(mean(jnp.exp(-0.5 * h))) / -0.5,
    "Renyi_2": lambda h, mean: jnp.log(mean(jnp.exp(h))),
    "Chi": lambda h, mean: jnp.log(mean(jnp.exp(-2.0 * h))) / 2.0,
    "InclusiveKL": _inclusive,
}


def leaves(module: Any) -> list[jax.Array]:
    """The parameters of a module, or the leaves of a gradient."""
    return jax.tree_util.tree_leaves(eqx.filter(module, eqx.is_inexact_array))


def dot(a: Any, b: Any) -> jax.Array:
    """The inner product of two pytrees of parameters."""
    pairs = zip(leaves(a), leaves(b), strict=True)
    return sum((jnp.sum(x * y) for x, y in pairs), start=jnp.zeros(()))


def size(a: Any) -> jax.Array:
    return jnp.sqrt(dot(a, a))


def directions(module: Any, key: jax.Array, n: int) -> Any:
    """`n` random directions in the parameters of a module, stacked."""
    parameters = eqx.filter(module, eqx.is_inexact_array)
    flat, treedef = jax.tree_util.tree_flatten(parameters)
    keys = jr.split(key, max(len(flat), 1))
    random = [jr.normal(k, (n, *x.shape), x.dtype) for k, x in zip(keys, flat, strict=False)]
    return jax.tree_util.tree_unflatten(treedef, random)


def derivative(
    value: Callable[[Any], jax.Array], module: Any, along: Any
) -> tuple[jax.Array, jax.Array, Any]:
    """(value, d/dt value(module + t v) at t = 0 for every direction v in `along`, `along` itself).

    By central differences of fourth order: without automatic differentiation, so that it shares
    nothing with what it checks. The step is small, so that no kink of a projection lies inside it.
    """
    h = 1e-5
    parameters, static = eqx.partition(module, eqx.is_inexact_array)
    n = leaves(along)[0].shape[0]
    steps = h * jnp.asarray([-2.0, -1.0, 1.0, 2.0] * n + [0.0])
    # One point for each step along each direction, and the module itself.
    repeated = jax.tree_util.tree_map(
        lambda v: jnp.concatenate([jnp.repeat(v, 4, axis=0), v[:1]]), along
    )

    def shifted(t: jax.Array, direction: Any) -> jax.Array:
        moved = jax.tree_util.tree_map(lambda x, d: x + t * d, parameters, direction)
        return value(eqx.combine(moved, static))

    values = jax.vmap(shifted)(steps, repeated)
    far, near, close, away = values[:-1].reshape(n, 4).T
    return values[-1], (8 * (close - near) - (away - far)) / (12 * h), along
