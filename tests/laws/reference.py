"""The formulas of the paper, written again without the package: what the laws compare with.

For one draw; the score and the log density come from the known target, not from `opvi`.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from tests.fixtures import Known

Integrand = Callable[[Any, Any, jax.Array, Any, jax.Array, Known], jax.Array]


def score_given_noise(q: Any, eps: Any) -> jax.Array:
    """grad_z log q(z | eps_g) of z = m(eps_g) + J xi, xi ~ N(0, I): -J^-T xi."""
    eps_g, xi = eps
    jacobian = jax.jacfwd(lambda xi: q.transform((eps_g, xi)))(xi)
    return -jnp.linalg.solve(jacobian.T, xi)


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
    s = jax.grad(q.log_prob)(z) if hasattr(q, "log_prob") else score_given_noise(q, eps)
    return _langevin_stein(f, z, known, -s @ _field(f, known)(z))


def kl(f, q, z, eps, key, known) -> jax.Array:
    """Eq. 6: log q - log p."""
    return q.log_prob(z) - known.log_density(z)


# The operator by its name in the catalogue. One that has no row here is compared with itself.
INTEGRANDS: dict[str, Integrand] = {
    "LangevinStein_Exact": langevin_stein_exact,
    "LangevinStein_Hutchinson": langevin_stein_hutchinson,
    "LangevinStein_DivergenceFree": langevin_stein_divergence_free,
    "KL": kl,
}


def leaves(module: Any) -> list[jax.Array]:
    """The parameters of a module, or the leaves of a gradient."""
    return jax.tree_util.tree_leaves(eqx.filter(module, eqx.is_inexact_array))


def dot(a: Any, b: Any) -> jax.Array:
    """The inner product of two pytrees of parameters."""
    pairs = zip(leaves(a), leaves(b), strict=True)
    return sum((jnp.sum(x * y) for x, y in pairs), start=jnp.zeros(()))


def size(a: Any) -> float:
    return float(jnp.sqrt(dot(a, a)))


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
