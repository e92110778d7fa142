"""One step of one player, by any optax optimiser, that writes nothing that is not finite."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from opvi._core.types import Array, PyTree, Scalar


def trainable(module: PyTree) -> PyTree:
    """Everything in a module that a gradient can move."""
    return eqx.filter(module, eqx.is_inexact_array)


def has_parameters(module: PyTree) -> bool:
    return bool(jax.tree_util.tree_leaves(trainable(module)))


def guarded_update(
    optimiser: optax.GradientTransformation,
    gradient: PyTree,
    optimiser_state: PyTree,
    module: Any,
    value: Scalar,
) -> tuple[Any, PyTree, Array]:
    """Step the module unless anything is not finite: then all stays as it was, and `ok` is False."""
    gradient = trainable(gradient)
    updates, new_state = optimiser.update(gradient, optimiser_state, trainable(module))
    # The gradient and what becomes of it: either can be infinite while the other is finite. A sum is
    # finite only if every term is (inf - inf is nan), so one reduction a leaf serves both.
    both = jax.tree_util.tree_map(lambda g, u: jnp.sum(g + u), gradient, updates)
    ok = jnp.isfinite(value + sum(jax.tree_util.tree_leaves(both)))
    updates = jax.tree_util.tree_map(lambda u: jnp.where(ok, u, jnp.zeros_like(u)), updates)
    kept = jax.tree_util.tree_map(
        lambda new, old: jnp.where(ok, new, old), new_state, optimiser_state
    )
    return eqx.apply_updates(module, updates), kept, ok
