"""The one loop: chunks of steps on the device, the host in between.

Inside a chunk nothing is synchronised. The chunk takes its number of steps as an argument, so one
trace serves every chunk, whatever its length; the key of a step is a function of the run's key and
the number of the step, so neither the length of chunks nor an interruption changes a number.
"""

import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from opvi._core.errors import OpviError, require
from opvi._core.types import Array
from opvi.solver.minmax import Info, MinMax, State
from opvi.solver.progress import AbstractProgress, NoProgress
from opvi.solver.solution import History, Result, Solution

MAX_CHUNK = 8192
SECONDS_PER_CHUNK = 0.5
HOPELESS = 200  # skipped steps in a row after which no step will ever be taken

Callback = Callable[[State, History], Any]


def solve(
    solver: MinMax,
    state: State,
    *,
    steps: int,
    until: int | None = None,
    progress: AbstractProgress | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Run `solver` from `state` to step number `until` of `steps`.

    **Arguments:**

    - `steps`: length of the whole run. A state that has taken 400 of 1,000 steps takes 600 more, and
        ends with the numbers of one uninterrupted run.
    - `until`: where to pause; `steps` when left out.
    - `callback`: called between chunks with the state and the history of the last chunk; return
        True to stop.
    """
    until = steps if until is None else until
    done = int(state.step)
    require(
        steps >= 1 and done < until <= steps,
        OpviError,
        expected=f"a number of steps beyond the {done} already taken (and until <= steps)",
        got=f"steps={steps}, until={until}",
        write=f"steps={max(done, 0) + 1000}",
    )
    progress = NoProgress() if progress is None else progress
    start = time.perf_counter()
    first, last_good, history = done, state, [_empty_history()]
    result, length, skipped = Result.completed, min(64, until - done), 0
    size = min(MAX_CHUNK, steps)
    progress.start(steps, done)
    try:
        while done < until:
            began = time.perf_counter()
            n = min(length, until - done, size)
            state, info, taken, healthy = _chunk(solver, state, jnp.asarray(n), size)
            taken, healthy = int(taken), bool(healthy)
            history.append(_to_host(info, taken))
            done += taken
            if not healthy:
                state, result = last_good, Result.diverged
                break
            last_good = state
            skipped += int(history[-1].skipped.sum())
            progress.update(done, float(history[-1].objective[-1]), skipped)
            if callback is not None and callback(state, history[-1]):
                result = Result.interrupted
                break
            length = _next_length(n, time.perf_counter() - began)
    except KeyboardInterrupt:
        state, result = last_good, Result.interrupted
    finally:
        progress.close()
    return Solution(
        state=state,
        history=_concatenate(history),
        result=result,
        gradient_evaluations=(done - first) * solver.gradient_evaluations(),
        seconds=time.perf_counter() - start,
    )


@eqx.filter_jit
def _chunk(solver: MinMax, state: State, n: Array, size: int):
    """Up to `n` <= `size` steps; stops early when every step is skipped."""
    dynamic, static = eqx.partition(state, eqx.is_array)
    numbers = state.step + jnp.arange(size, dtype=jnp.int32)
    keys = jax.vmap(lambda i: jr.fold_in(state.key, i))(numbers)
    like = eqx.filter_eval_shape(lambda: solver.step(state, state.key)[1])
    buffers = jax.tree_util.tree_map(lambda x: jnp.zeros((size, *x.shape), x.dtype), like)

    def proceed(carry):
        _, _, i, streak = carry
        return (i < n) & (streak < HOPELESS)

    def body(carry):
        dynamic, buffers, i, streak = carry
        new, info = solver.step(eqx.combine(dynamic, static), keys[i])
        buffers = jax.tree_util.tree_map(lambda b, x: b.at[i].set(x), buffers, info)
        streak = jnp.where(info.skipped, streak + 1, 0)
        return eqx.filter(new, eqx.is_array), buffers, i + 1, streak

    zero = jnp.zeros((), jnp.int32)
    dynamic, buffers, taken, streak = jax.lax.while_loop(
        proceed, body, (dynamic, buffers, zero, zero)
    )
    state = eqx.combine(dynamic, static)
    draws = state.family.sample(state.key, 64)
    healthy = (streak < HOPELESS) & jnp.all(jnp.isfinite(draws))
    return state, buffers, taken, healthy


def _next_length(n: int, seconds: float) -> int:
    """Chunks grow until they take about `SECONDS_PER_CHUNK`: long enough to cost nothing."""
    return max(1, min(MAX_CHUNK, 8 * n, int(n * SECONDS_PER_CHUNK / max(seconds, 1e-6))))


def _empty_history() -> History:
    return History(np.zeros((0,)), np.zeros((0,), bool), np.zeros((0,), int))


def _to_host(info: Info, taken: int) -> History:
    return History(
        np.asarray(info.objective)[:taken],
        np.asarray(info.skipped)[:taken],
        np.asarray(info.test_function_skipped)[:taken],
    )


def _concatenate(parts: list[History]) -> History:
    return jax.tree_util.tree_map(lambda *xs: np.concatenate(xs), *parts)
