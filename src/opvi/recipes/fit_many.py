"""`fit_many`: hundreds of small fits side by side, under one `vmap` and one compilation."""

import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax

from opvi._core.errors import IncompatibleError, OpviError, require
from opvi._core.types import Array, Key, PyTree, Scalar
from opvi.estimators import AbstractEstimator
from opvi.objective import Objective
from opvi.recipes.defaults import (
    FamilyOrMaker,
    default_estimator,
    default_objective,
    default_optimisers,
    default_rate,
    make_family,
)
from opvi.recipes.posteriors import Posteriors, rows_of, take
from opvi.solver import AbstractProgress, History, Info, MinMax, NoProgress, Result, State
from opvi.targets import AbstractTarget

BLOCK = 512  # steps between two looks of the host
HOPELESS = 200  # skipped steps in a row after which a fit is given up, as in `solve`


class _Pieces(eqx.Module):
    """What every fit shares; only the row of data and the key differ."""

    target: Callable[[Any], AbstractTarget]
    family: FamilyOrMaker
    objective: Objective
    estimator: AbstractEstimator
    optimiser: optax.GradientTransformation
    test_function_optimiser: optax.GradientTransformation
    critic_steps: int = eqx.field(static=True)
    share_draws: bool = eqx.field(static=True)
    temperature: Callable[[Array], Scalar] | None

    def solver(self, row: Any) -> MinMax:
        return MinMax(
            self.target(row),
            self.objective,
            self.estimator,
            self.optimiser,
            self.test_function_optimiser,
            self.critic_steps,
            self.share_draws,
            self.temperature,
        )

    def start(self, row: Any, key: Key) -> State:
        solver = self.solver(row)
        family = make_family(self.family, solver.target.dim, jr.fold_in(key, 0))
        return solver.init(family, key=jr.fold_in(key, 1))


def fit_many(
    target: Callable[[Any], AbstractTarget],
    data: PyTree,
    family: FamilyOrMaker,
    objective: Objective | None = None,
    *,
    key: Key,
    steps: int = 5000,
    estimator: AbstractEstimator | None = None,
    learning_rate: float | None = None,
    optimiser: optax.GradientTransformation | None = None,
    test_function_optimiser: optax.GradientTransformation | None = None,
    critic_steps: int = 5,
    share_draws: bool = False,
    temperature: Callable[[Array], Scalar] | None = None,
    chunk: int = 128,
    progress: AbstractProgress | None = None,
) -> Posteriors:
    """One fit for each row of `data`.

    **Arguments:**

    - `target`: makes the target of one row. It is called inside every step, under `vmap`: let it
        wrap arrays, and put what is costly to compute into `data`.
    - `data`: a pytree of arrays that share their first axis, one entry a fit.
    - `family`: a family, the start of every fit; or a maker, called with `(dim, key=key)`.
    - `objective`, `estimator`, optimisers, `critic_steps`, ...: as for a single fit.
    - `chunk`: fits side by side. Memory grows with it and not with the number of fits; states and
        histories go to the host after each chunk. All chunks share one compilation.

    Fit `i` has the key `fold_in(key, i)`: its family is made with `fold_in(., 0)` and its solver
    started with `fold_in(., 1)` of that, so it is, up to rounding, the single fit
    `solve(solver, solver.init(family, key=...), steps=steps)`, whatever the chunk. A fit that
    diverges keeps its last finite state and disturbs no other.

    **Returns:** `Posteriors`; entry `i` is a `Posterior`.
    """
    n = rows_of(data)
    require(
        steps >= 1 and chunk >= 1,
        OpviError,
        expected="at least one step, and at least one fit in a chunk",
        got=f"steps={steps}, chunk={chunk}",
        write="opvi.fit_many(target, data, family, key=key, steps=2000, chunk=128)",
    )
    _check_maker(target, data)
    made = eqx.filter_eval_shape(
        lambda row: make_family(family, target(row).dim, key), take(data, 0)
    )
    objective = default_objective(made) if objective is None else objective
    estimator = default_estimator(objective, made) if estimator is None else estimator
    rate = default_rate(objective) if learning_rate is None else learning_rate
    of_q, of_f = default_optimisers(rate, steps, critic_steps)
    pieces = _Pieces(
        target,
        family,
        objective,
        estimator,
        of_q if optimiser is None else optimiser,
        of_f if test_function_optimiser is None else test_function_optimiser,
        critic_steps,
        share_draws,
        temperature,
    )
    progress = NoProgress() if progress is None else progress
    chunk = min(chunk, n)
    keys = jax.vmap(lambda i: jr.fold_in(key, i))(jnp.arange(n))
    began, parts = time.perf_counter(), []
    progress.start(steps * -(-n // chunk), 0)
    try:
        for first in range(0, n, chunk):
            # The last chunk is filled up with copies of its last row: one shape, one compilation.
            index = np.minimum(np.arange(first, first + chunk), n - 1)
            done = first // chunk * steps
            parts.append(
                _run(
                    pieces,
                    take(data, index),
                    keys[index],
                    steps,
                    progress,
                    done,
                    min(chunk, n - first),
                )
            )
    finally:
        progress.close()
    solver = eqx.filter_eval_shape(pieces.solver, take(data, 0))
    return Posteriors(
        target=target,
        data=data,
        states=_concatenate([part[0] for part in parts]),
        histories=_concatenate([part[1] for part in parts]),
        results=tuple(result for part in parts for result in part[2]),
        keys=keys,
        chunk=chunk,
        gradient_evaluations=steps * solver.gradient_evaluations(),
        seconds=time.perf_counter() - began,
    )


def _check_maker(target: Any, data: PyTree) -> None:
    made = None
    if callable(target) and not isinstance(target, AbstractTarget):
        made = eqx.filter_eval_shape(target, take(data, 0))
    require(
        isinstance(made, AbstractTarget),
        IncompatibleError,
        expected="a function that makes the target of one row of `data`",
        got=f"{type(target if made is None else made).__name__}",
        write="opvi.fit_many(lambda row: opvi.from_log_density(lambda z: ..., like), data, ...)",
    )


def _run(
    pieces: _Pieces,
    rows: PyTree,
    keys: Array,
    steps: int,
    progress: AbstractProgress,
    done_before: int,
    real: int,
) -> tuple[State, History, list[Result]]:
    """One chunk of fits, all `steps` steps; the first `real` of them brought to the host."""
    states = _start(pieces, rows, keys)
    dead = jnp.zeros(keys.shape, bool)
    streak = jnp.zeros(keys.shape, jnp.int32)
    size, done, histories = min(BLOCK, steps), 0, []
    while done < steps:
        n = min(size, steps - done)
        states, dead, streak, info = _advance(
            pieces, rows, states, dead, streak, jnp.asarray(n), size
        )
        host = [np.asarray(x)[:n, :real].T for x in jax.tree_util.tree_leaves(info)]
        histories.append(History(*host))
        done += n
        progress.update(
            done_before + done,
            float(np.nanmean(histories[-1].objective[:, -1])) if not bool(dead.all()) else np.nan,
            int(histories[-1].skipped.sum()),
        )
    history = jax.tree_util.tree_map(lambda *xs: np.concatenate(xs, axis=1), *histories)
    results = [Result.diverged if d else Result.completed for d in np.asarray(dead)[:real]]
    return _to_host(states, real), history, results


@eqx.filter_jit
def _start(pieces: _Pieces, rows: PyTree, keys: Array) -> State:
    return eqx.filter_vmap(pieces.start)(rows, keys)


@eqx.filter_jit
def _advance(
    pieces: _Pieces,
    rows: PyTree,
    states: State,
    dead: Array,
    streak: Array,
    n: Array,
    size: int,
) -> tuple[State, Array, Array, Info]:
    """Up to `n` <= `size` steps of every fit. A fit that fails here goes back to where it was."""
    dynamic, static = eqx.partition(states, eqx.is_array)
    # The clock of all fits is the same: kept out of the vmap, a schedule stays one number.
    first = states.step[0]

    def one(row, dynamic, key):
        new, info = pieces.solver(row).step(eqx.combine(dynamic, static), key)
        return eqx.filter(new, eqx.is_array), info

    def step_all(dynamic, i):
        keys = jax.vmap(lambda k: jr.fold_in(k, first + i))(states.key)
        return jax.vmap(one)(rows, dynamic, keys)

    like = jax.eval_shape(step_all, dynamic, jnp.zeros((), jnp.int32))[1]
    buffers = jax.tree_util.tree_map(lambda x: jnp.zeros((size, *x.shape), x.dtype), like)

    def body(i, carry):
        dynamic, buffers, streak = carry
        dynamic, info = step_all(dynamic, i)
        buffers = jax.tree_util.tree_map(lambda b, x: b.at[i].set(x), buffers, info)
        streak = jnp.where(streak >= HOPELESS, streak, jnp.where(info.skipped, streak + 1, 0))
        return dynamic, buffers, streak

    new, buffers, streak = jax.lax.fori_loop(0, n, body, (dynamic, buffers, streak))

    def finite(dynamic):
        state = eqx.combine(dynamic, static)
        return jnp.all(jnp.isfinite(state.family.sample(state.key, 64)))

    dead = dead | (streak >= HOPELESS) | ~jax.vmap(finite)(new)

    def keep(new, old):
        if jnp.issubdtype(new.dtype, jax.dtypes.prng_key):
            return new
        return jnp.where(dead.reshape(dead.shape + (1,) * (new.ndim - 1)), old, new)

    kept = jax.tree_util.tree_map(keep, new, dynamic)
    # The clock runs on for all, so that keys of the living stay those of a single fit.
    kept = eqx.tree_at(lambda s: s.step, kept, new.step)
    return eqx.combine(kept, static), dead, streak, buffers


def _to_host(tree: PyTree, n: int) -> PyTree:
    def host(x):
        if not eqx.is_array(x):
            return x
        key = jnp.issubdtype(x.dtype, jax.dtypes.prng_key)
        return x[:n] if key else np.asarray(x)[:n]

    return jax.tree_util.tree_map(host, tree)


def _concatenate(parts: list[PyTree]) -> PyTree:
    def join(*xs):
        if isinstance(xs[0], np.ndarray):
            return np.concatenate(xs)
        return jnp.concatenate(xs) if eqx.is_array(xs[0]) else xs[0]

    return jax.tree_util.tree_map(join, *parts)
