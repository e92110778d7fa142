"""One Hamiltonian transition of many chains in step, in whitened coordinates."""

from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr

from opvi._core.types import Array, Float, Key
from opvi.targets import WhitenedTarget

SHORTEST, LONGEST = 0.1, 1.3  # in step sizes


def start(target: WhitenedTarget, y: Float[Array, "n d"]) -> Any:
    """The state of the chains at y."""
    from blackjax.mcmc import hmc

    return jax.vmap(lambda y: hmc.init(y, target.log_density))(y)


def transition(
    target: WhitenedTarget, state: Any, key: Key, step_size: Array, leapfrogs: int
) -> tuple[Any, Float[Array, " n"]]:
    """The chains after one transition, and the acceptance rate of each."""
    from blackjax.mcmc import hmc

    n, d = state.position.shape
    dtype = state.position.dtype
    kernel, mass = hmc.build_kernel(), jnp.ones(d, dtype)
    # Jittered for each chain: none stays on a trajectory that closes, nor where only short steps are
    # accepted.
    sizes = step_size * jr.uniform(jr.fold_in(key, 0), (n,), dtype, SHORTEST, LONGEST)
    keys = jr.split(jr.fold_in(key, 1), n)
    state, info = jax.vmap(
        lambda key, state, size: kernel(key, state, target.log_density, size, mass, leapfrogs)
    )(keys, state, sizes)
    return state, jnp.asarray(info.acceptance_rate)
