"""What both learners share: one step of one player."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from opvi._core.types import Array, PyTree, Scalar


def arrays(module: PyTree) -> PyTree:
    """The parameters of a module: everything that a gradient can move."""
    return eqx.filter(module, eqx.is_inexact_array)


def update(
    optimiser: optax.GradientTransformation,
    gradient: PyTree,
    optimiser_state: PyTree,
    module: Any,
    value: Scalar,
) -> tuple[Any, PyTree, Array]:
    """A step, unless anything is not finite: then all stays as it was, and the last entry is False."""
    updates, new = optimiser.update(arrays(gradient), optimiser_state, arrays(module))
    # The gradient and what becomes of it: either can be infinite while the other is finite. A sum is
    # finite only if every term is (inf - inf is nan), so one reduction a leaf serves both.
    both = jax.tree_util.tree_map(lambda g, u: jnp.sum(g + u), arrays(gradient), updates)
    ok = jnp.isfinite(value + sum(jax.tree_util.tree_leaves(both)))
    updates = jax.tree_util.tree_map(lambda u: jnp.where(ok, u, jnp.zeros_like(u)), updates)
    new = jax.tree_util.tree_map(lambda n, o: jnp.where(ok, n, o), new, optimiser_state)
    return eqx.apply_updates(module, updates), new, ok
