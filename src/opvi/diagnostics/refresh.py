"""A refresh: a few steps of Hamiltonian Monte Carlo from every draw. Do the moments move?

Every draw starts a chain of its own, all chains in step, preconditioned by the draws' covariance, with
one step size adapted to their common acceptance. If the draws are from p they stay so, and nothing
moves but noise; if they are not, they move towards p, and by how much is the error of the fit in units
a user knows. It needs no density of q. It is local: it moves mass between modes only where a path joins them.
"""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from opvi._core.errors import OpviError, require
from opvi._core.layout import Layout
from opvi._core.types import Array, Key
from opvi.diagnostics._arrays import Draws, cholesky
from opvi.diagnostics.moments import Moments, paired_moments
from opvi.posterior import hmc
from opvi.targets import AbstractTarget, WhitenedTarget

LONGEST = 2.2  # whitened trajectory length: beyond pi / 2 a Gaussian turns round
WANTED = 0.8


@dataclass(frozen=True)
class Refresh:
    """The draws after the refresh, and what it changed.

    - `draws`, `scores`, `log_density`: after; `before`: the draws it started from (finite ones).
    - `moments`: before against after in the coordinates of z; `natural`: on the latents' own supports.
    - `loc`, `scale`: of the whitened coordinates in which it moved; `steps` of `leapfrogs` in all.
    - `acceptance`: mean over chains after the pilot. Near 0, nothing was tested.
    - `invalid`: fraction of the draws with no finite log density or gradient.
    """

    before: np.ndarray
    draws: np.ndarray
    scores: np.ndarray
    log_density: np.ndarray
    moments: Moments
    natural: Moments
    loc: np.ndarray
    scale: np.ndarray
    acceptance: float
    step_size: float
    steps: int
    leapfrogs: int
    invalid: float
    gradient_evaluations: int


def refresh(
    target: AbstractTarget,
    z: Draws,
    key: Key,
    *,
    steps: int = 12,
    leapfrogs: int = 4,
    draws: int = 1000,
    memory: float = 0.5,
    rounds: int = 3,
) -> Refresh:
    """Move the first `draws` of `z` by `steps` HMC transitions of `leapfrogs` gradients each.

    A further round follows while some coordinate remembers more than `memory` of its start (the
    slope of after on before), up to `rounds`. The gradients are counted.
    """
    start = jnp.asarray(np.asarray(z)[:draws])
    finite = np.asarray(_finite(target, start))
    start = start[finite]
    require(
        len(start) > target.dim + 1,
        OpviError,
        expected=f"more than {target.dim + 1} draws at which log density and gradient are finite",
        got=f"{len(start)} of {len(finite)}",
        write="opvi.diagnostics.improper(target, key)  # says where the density is not finite",
    )
    moved = np.asarray(start, np.float64)
    white = WhitenedTarget(
        target,
        jnp.asarray(moved.mean(0), start.dtype),
        jnp.asarray(cholesky(moved), start.dtype),
    )
    y = jax.scipy.linalg.solve_triangular(white.scale, (start - white.loc).T, lower=True).T
    step_size, spent, acceptance = jnp.asarray(LONGEST / leapfrogs / 2, start.dtype), 0, 0.0
    after, taken = start, 0
    log_density = score = y
    for k in range(rounds):
        y, log_density, score, step_size, accepted = _run(
            white, y, jr.fold_in(key, k), step_size, jnp.asarray(steps), leapfrogs
        )
        acceptance = float(accepted)
        spent += len(start) * (steps * leapfrogs + 1)
        taken += steps
        after = white.loc + y @ white.scale.T
        if k + 1 < rounds and np.max(paired_moments(start, after, swaps=0).memory) <= memory:
            break
    columns, natural = _natural(target, start), _natural(target, after)
    unwhitened = np.linalg.solve(np.asarray(white.scale, np.float64).T, np.asarray(score).T).T
    return Refresh(
        before=np.asarray(start),
        draws=np.asarray(after),
        scores=unwhitened,
        log_density=np.asarray(log_density),
        moments=paired_moments(start, after, target.columns),
        natural=paired_moments(columns[1], natural[1], columns[0]),
        loc=np.asarray(white.loc, np.float64),
        scale=np.asarray(white.scale, np.float64),
        acceptance=acceptance,
        steps=taken,
        leapfrogs=leapfrogs,
        step_size=float(step_size),
        invalid=float(1.0 - finite.mean()),
        gradient_evaluations=spent + len(finite),
    )


def _natural(target: AbstractTarget, z: Array) -> tuple[tuple[str, ...], np.ndarray]:
    """The latents on their own supports, one column each."""
    tree = _constrain(target, z)
    layout = Layout.of(jax.tree_util.tree_map(lambda x: x[0], tree))
    leaves = [np.asarray(x, np.float64) for x in jax.tree_util.tree_leaves(tree)]
    return layout.columns, np.concatenate([x.reshape(len(x), -1) for x in leaves], axis=1)


@eqx.filter_jit
def _constrain(target: AbstractTarget, z: Array):
    return jax.vmap(target.constrain)(z)


@eqx.filter_jit
def _finite(target: AbstractTarget, z: Array) -> Array:
    value, score = jax.vmap(jax.value_and_grad(target.log_density))(z)
    return jnp.isfinite(value) & jnp.all(jnp.isfinite(score), axis=1)


@eqx.filter_jit
def _run(
    target: WhitenedTarget, y: Array, key: Key, step_size: Array, steps: Array, leapfrogs: int
):
    """`steps` transitions of every chain; the step size is adapted in the first half."""
    state = hmc.start(target, y)

    def step(i, carry):
        state, step_size, accepted = carry
        state, rates = hmc.transition(target, state, jr.fold_in(key, i), step_size, leapfrogs)
        rate = jnp.mean(rates)
        adapting = 2 * i < steps
        grown = jnp.minimum(step_size * jnp.exp(1.5 * (rate - WANTED)), LONGEST / leapfrogs)
        step_size = jnp.where(adapting, grown, step_size)
        return state, step_size, accepted + jnp.where(adapting, 0.0, rate)

    zero = jnp.zeros((), y.dtype)
    state, step_size, accepted = jax.lax.fori_loop(0, steps, step, (state, step_size, zero))
    acceptance = accepted / jnp.maximum(steps - (steps + 1) // 2, 1)
    return state.position, state.logdensity, state.logdensity_grad, step_size, acceptance
