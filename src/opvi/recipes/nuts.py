"""NUTS beside a fit: the reference that costs more, with its gradient evaluations counted."""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from opvi._core.errors import InvalidTargetError, require
from opvi._core.types import Array, Key, Vector
from opvi.targets import AbstractTarget


@dataclass(frozen=True)
class NUTSDraws:
    """Draws of NUTS on the unconstrained scale, and what they cost: one gradient a leapfrog step."""

    chains: np.ndarray  # (chains, draws, dim)
    warmup_steps: np.ndarray  # leapfrog steps of each chain's warm-up
    steps: np.ndarray  # and of its draws
    divergences: int

    @property
    def z(self) -> np.ndarray:
        """All draws, chain after chain: (chains * draws, dim)."""
        return self.chains.reshape(-1, self.chains.shape[-1])

    @property
    def gradient_evaluations(self) -> int:
        return int(self.warmup_steps.sum() + self.steps.sum())

    @property
    def r_hat(self) -> np.ndarray:
        """Rank-normalised split R-hat of each coordinate."""
        from arviz_stats.base import array_stats

        return np.asarray(array_stats.rhat(self.chains, chain_axis=0, draw_axis=1))

    @property
    def converged(self) -> bool:
        """R-hat at most 1.01 everywhere, and no divergent transition."""
        return bool(np.all(self.r_hat <= 1.01)) and self.divergences == 0


def nuts(
    target: AbstractTarget, key: Key, *, chains: int = 4, warmup: int = 1000, draws: int = 1000
) -> NUTSDraws:
    """BlackJAX's NUTS on `target.log_density`: diagonal metric, Stan's windows, acceptance 0.8.

    Starts are uniform on (-2, 2), as in Stan and NumPyro; those without a finite density and
    gradient are drawn again.
    """
    start_key, run_key = jr.split(key)
    starts = _starts(target, start_key, chains)
    z, warmup_steps, steps, divergent = _run(target, starts, run_key, warmup, draws)
    return NUTSDraws(
        np.asarray(z, np.float64),
        np.asarray(warmup_steps),
        np.asarray(steps),
        int(np.sum(divergent)),
    )


def _starts(target: AbstractTarget, key: Key, chains: int, tries: int = 100) -> Array:
    z = jr.uniform(key, (tries * chains, target.dim), minval=-2.0, maxval=2.0)
    valid = np.flatnonzero(_finite(target, z))
    require(
        len(valid) >= chains,
        InvalidTargetError,
        expected="a log density that is finite, with a finite gradient, somewhere in (-2, 2)^d",
        got=f"NaN or infinity at {len(z) - len(valid)} of {len(z)} points there",
        write="supports={...} for latents that are not real numbers, or reference=draws from elsewhere",
    )
    return z[valid[:chains]]


@eqx.filter_jit
def _finite(target: AbstractTarget, z: Array) -> Array:
    def one(z: Vector) -> Array:
        value, score = jax.value_and_grad(target.log_density)(z)
        return jnp.isfinite(value) & jnp.all(jnp.isfinite(score))

    return jax.lax.map(one, z)


@eqx.filter_jit
def _run(target: AbstractTarget, starts: Array, key: Key, warmup: int, draws: int):
    import blackjax

    algorithm: Any = blackjax.nuts
    adaptation: Any = blackjax.window_adaptation(
        algorithm,
        target.log_density,
        adaptation_info_fn=lambda state, info, adapted: info.num_integration_steps,
    )

    def chain(inputs: tuple[Vector, Key]):
        start, key = inputs
        warmup_key, draws_key = jr.split(key)
        (state, parameters), warmup_steps = adaptation.run(warmup_key, start, warmup)
        kernel = algorithm(target.log_density, **parameters)

        def draw(state, key):
            state, info = kernel.step(key, state)
            return state, (state.position, info.num_integration_steps, info.is_divergent)

        _, (z, steps, divergent) = jax.lax.scan(draw, state, jr.split(draws_key, draws))
        return z, warmup_steps.sum(), steps.sum(), divergent.sum()

    # One after the other: side by side, every chain would take the steps of the longest trajectory.
    return jax.lax.map(chain, (starts, jr.split(key, len(starts))))
