"""Schedules of the inverse temperature."""

from collections.abc import Callable

import jax.numpy as jnp

from opvi._core.types import Array, Scalar

Schedule = Callable[[Array], Scalar]


def linear_annealing(steps: int, start: float = 0.05, fraction: float = 0.5) -> Schedule:
    """beta from `start` to 1 over the first `fraction` of `steps`, then 1: finds separated modes."""

    def beta(step: Array) -> Scalar:
        progress = jnp.clip(step / (fraction * steps), 0.0, 1.0)
        return start + (1.0 - start) * progress

    return beta
