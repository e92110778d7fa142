"""A learned test function: any family of them, trained by Adam on the draws of one half."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax

from opvi._core.types import Array, Key
from opvi.testfunctions import AbstractTestFunction, AbstractTestFunctionFamily

EXACT_UP_TO = 8


def train(
    test_functions: AbstractTestFunctionFamily,
    y: np.ndarray,
    s: np.ndarray,
    key: Key,
    steps: int,
    batch: int = 256,
) -> AbstractTestFunction:
    """Ascend 2 E[O f] - E|f|^2; keeps the f that was best on the last third of the draws."""
    dtype = jnp.result_type(float)
    f = test_functions.init(y.shape[1], key=jr.fold_in(key, 0))
    draws, scores = jnp.asarray(y, dtype), jnp.asarray(s, dtype)
    return _train(f, draws, scores, jr.fold_in(key, 1), steps, batch)


@eqx.filter_jit
def _train(f: AbstractTestFunction, y: Array, s: Array, key: Key, steps: int, batch: int):
    cut = 2 * len(y) // 3
    optimiser = optax.chain(
        optax.clip_by_global_norm(10.0),
        optax.adam(optax.cosine_decay_schedule(3e-3, steps)),
    )
    parameters, static = eqx.partition(f, eqx.is_inexact_array)

    def value(parameters, y, s, key):
        f = eqx.combine(parameters, static)
        keys = jr.split(key, len(y))
        fs, of = jax.vmap(lambda y, s, k: _operator(f, y, s, k))(y, s, keys)
        return jnp.mean(2 * jnp.sum(of, 1) - jnp.sum(fs**2, 1))

    def step(carry, i):
        parameters, state, best, kept = carry
        k = jr.fold_in(key, i)
        rows = jr.randint(jr.fold_in(k, 0), (batch,), 0, cut)
        gradient = jax.grad(lambda p: -value(p, y[rows], s[rows], jr.fold_in(k, 1)))(parameters)
        updates, state = optimiser.update(gradient, state)
        parameters = eqx.apply_updates(parameters, updates)
        every = max(steps // 20, 1)
        held_out = jax.lax.cond(
            (i + 1) % every == 0,
            lambda p: value(p, y[cut:], s[cut:], key),
            lambda p: jnp.asarray(-jnp.inf, y.dtype),
            parameters,
        )
        better = held_out > best
        kept = jax.tree_util.tree_map(lambda a, b: jnp.where(better, a, b), parameters, kept)
        return (parameters, state, jnp.maximum(held_out, best), kept), None

    zero = jax.tree_util.tree_map(jnp.zeros_like, parameters)
    start = (parameters, optimiser.init(parameters), jnp.zeros((), y.dtype), zero)
    (_, _, _, kept), _ = jax.lax.scan(step, start, jnp.arange(steps))
    return eqx.combine(kept, static)


def _operator(f: AbstractTestFunction, y: Array, s: Array, key: Key) -> tuple[Array, Array]:
    """f(y), and O f by coordinate. f is shown no score, so the divergence needs no second derivative."""
    blind = jnp.zeros_like(s)

    def field(y):
        return f(y, blind)

    d = y.shape[0]
    if d <= EXACT_UP_TO:
        divergence = jnp.diagonal(jax.jacfwd(field)(y))
    else:  # Hutchinson by coordinate: E[v_i (J v)_i] = J_ii
        v = jr.rademacher(key, (d,), y.dtype)
        divergence = v * jax.jvp(field, (y,), (v,))[1]
    value = field(y)
    return value, s * value + divergence


@eqx.filter_jit
def evaluate(f: AbstractTestFunction, y: Array, s: Array, key: Key) -> tuple[Array, Array]:
    return jax.vmap(lambda y, s, k: _operator(f, y, s, k))(y, s, jr.split(key, len(y)))
