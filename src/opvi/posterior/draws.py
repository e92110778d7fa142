"""Where the draws of a posterior come from: the family as it is, or corrected by what the target says.

    Direct       draws of q
    Corrected    draws of q, thinned by their importance weights: exact up to the tail of the weights
    Refreshed    draws of one of these, moved by a few Hamiltonian transitions

Each says what a draw costs in evaluations of the log density.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from opvi._core.errors import OpviError, require
from opvi._core.types import Array, Float, Key, Matrix, Vector
from opvi.families import AbstractFamily, AbstractTractableFamily
from opvi.posterior import hmc
from opvi.posterior.evaluate import evaluate
from opvi.targets import AbstractTarget, WhitenedTarget

BLOCK = 4096
MOST_COPIES = 10.0  # of one draw: no single weight decides on the rest


class AbstractDraws(eqx.Module):
    """A way to draw from a posterior on the unconstrained scale of its target."""

    evaluations_per_draw: eqx.AbstractVar[float]

    @abc.abstractmethod
    def sample(self, target: AbstractTarget, key: Key, n: int) -> Float[Array, "n d"]: ...


class Direct(AbstractDraws):
    """z ~ q."""

    family: AbstractFamily
    evaluations_per_draw: float = eqx.field(static=True, default=0.0)

    def sample(self, target: AbstractTarget, key: Key, n: int) -> Float[Array, "n d"]:
        return _sample(self.family, key, n)


class Corrected(AbstractDraws):
    """Each draw of q is kept floor(w / bound + u) times, w = p / (q Z), u uniform.

    The expected number of copies is proportional to w up to `MOST_COPIES` times the bound, so
    expectations are those of self-normalised importance sampling. Where w stays below the bound this
    is rejection sampling: independent draws of p. Where it does not, a draw is repeated, and the
    bound is chosen so that this is rare. Beyond `MOST_COPIES` the excess of a weight is dropped, a
    bias that k-hat is there to see.

    - `log_bound`: log(Z bound).
    - `evaluations_per_draw`: the bound, nearly: one draw of q costs one evaluation.
    """

    family: AbstractTractableFamily
    log_bound: float = eqx.field(static=True)
    evaluations_per_draw: float = eqx.field(static=True)

    def sample(self, target: AbstractTarget, key: Key, n: int) -> Float[Array, "n d"]:
        kept, total = [], 0
        # In the mean n * cost draws suffice; four times as many always have.
        blocks = 8 + int(4 * n * self.evaluations_per_draw / BLOCK)
        for i in range(blocks):
            k = jr.fold_in(key, i)
            short = (n - total) * self.evaluations_per_draw
            size = int(min(BLOCK, np.ceil(1.1 * short / 512) * 512))
            z = np.asarray(_sample(self.family, jr.fold_in(k, 0), BLOCK))[:size]
            log_q = np.asarray(_log_prob(self.family, jnp.asarray(_fill(z))))[:size]
            copies = self.copies(
                evaluate(target, z)[0] - log_q, np.asarray(jr.uniform(jr.fold_in(k, 1), (BLOCK,)))
            )
            kept.append(np.repeat(z, copies, axis=0))
            total += len(kept[-1])
            if total >= n:
                break
        require(
            total >= n,
            OpviError,
            expected="importance weights like those of the fit",
            got=f"{total} of {n} draws after {blocks} blocks of {BLOCK}",
            write="posterior.uncorrected.sample(key, n) for draws of the family itself",
        )
        return jnp.asarray(np.concatenate(kept)[:n])

    def copies(self, log_ratio: np.ndarray, uniform: np.ndarray) -> np.ndarray:
        """How often each draw is kept."""
        log_ratio = np.where(np.isfinite(log_ratio), log_ratio, -np.inf)
        expected = np.exp(np.minimum(log_ratio - self.log_bound, np.log(MOST_COPIES)))
        return np.floor(expected + uniform[: len(expected)]).astype(int)


class Refreshed(AbstractDraws):
    """Draws of `base` after `steps` Hamiltonian transitions of `leapfrogs` gradients each."""

    base: AbstractDraws
    loc: Vector
    scale: Matrix
    step_size: float = eqx.field(static=True)
    steps: int = eqx.field(static=True)
    leapfrogs: int = eqx.field(static=True)
    evaluations_per_draw: float = eqx.field(static=True)

    def __init__(
        self,
        base: AbstractDraws,
        loc: Vector,
        scale: Matrix,
        *,
        step_size: float,
        steps: int,
        leapfrogs: int,
    ):
        self.base, self.loc, self.scale = base, loc, scale
        self.step_size, self.steps, self.leapfrogs = step_size, steps, leapfrogs
        self.evaluations_per_draw = base.evaluations_per_draw + steps * leapfrogs + 1

    def sample(self, target: AbstractTarget, key: Key, n: int) -> Float[Array, "n d"]:
        start = self.base.sample(target, jr.fold_in(key, 0), n)
        white = WhitenedTarget(target, self.loc, self.scale)
        steps = jnp.asarray(self.steps, jnp.int32)
        size = jnp.asarray(self.step_size, start.dtype)
        return _move(white, start, jr.fold_in(key, 1), size, steps, self.leapfrogs)[0]


def _fill(z: np.ndarray) -> np.ndarray:
    """As many rows as a block has, so that one compiled function serves all."""
    return np.concatenate([z, np.broadcast_to(z[:1], (BLOCK - len(z), z.shape[1]))])


@eqx.filter_jit
def _sample(family: AbstractFamily, key: Key, n: int) -> Array:
    return family.sample(key, n)


@eqx.filter_jit
def _log_prob(family: AbstractTractableFamily, z: Array) -> Array:
    return jax.vmap(family.log_prob)(z)


@eqx.filter_jit
def _move(
    target: WhitenedTarget, z: Array, key: Key, step_size: Array, steps: Array, leapfrogs: int
) -> tuple[Array, Array]:
    """HMC from every row of z, and the mean acceptance; a row where p is not finite stays."""
    y = jax.scipy.linalg.solve_triangular(target.scale, (z - target.loc).T, lower=True).T

    def step(i, carry):
        state, accepted = carry
        state, rates = hmc.transition(target, state, jr.fold_in(key, i), step_size, leapfrogs)
        return state, accepted + jnp.mean(jnp.nan_to_num(rates))

    zero = (hmc.start(target, y), jnp.zeros((), z.dtype))
    state, accepted = jax.lax.fori_loop(0, steps, step, zero)
    moved = target.loc + state.position @ target.scale.T
    ok = jnp.all(jnp.isfinite(moved), axis=1, keepdims=True)
    return jnp.where(ok, moved, z), accepted / steps
