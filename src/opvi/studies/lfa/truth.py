"""The truth: Hamiltonian Monte Carlo on every image, side by side."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from opvi.studies.lfa.law import Pixels, Row, rows, target

# In the coordinates of its Laplace approximation a posterior is nearly N(0, I). There, leapfrogs of
# total length near pi / 2 give nearly independent draws.
STEP_SIZE, LEAPFROGS, WARM_UP = 0.4, 4, 50


class Truth(NamedTuple):
    """Draws of z from several chains an image, and what they cost for one image."""

    chains: np.ndarray  # (images, chains, draws, latents)
    accepted: float
    gradient_evaluations: int

    def half(self, which: int) -> np.ndarray:
        """All draws of the first or of the second half of the chains: (images, draws, latents)."""
        images, chains, _, latents = self.chains.shape
        parts = np.split(self.chains, [chains // 2], axis=1)
        return parts[which].reshape(images, -1, latents)

    @property
    def r_hat(self) -> float:
        """The worst rank-normalised split R-hat of any latent of any image."""
        from arviz_stats.base import array_stats

        by_chain = np.moveaxis(self.chains, 0, 2)
        return float(np.max(array_stats.rhat(by_chain, chain_axis=0, draw_axis=1)))


def hmc(
    seen: Pixels, key: jax.Array, *, chains: int = 8, draws: int = 1000, chunk: int = 50
) -> Truth:
    """Chains from N(0, 4 I) in whitened coordinates, wider than the posterior."""
    all_rows = rows(seen, "full")
    parts, accepted = [], []
    count = len(seen.values)
    chunk = min(chunk, count)
    keys = jax.vmap(lambda i: jr.fold_in(key, i))(jnp.arange(count))
    for first in range(0, count, chunk):
        # The last chunk is filled up with copies of the last image: one shape, one compilation.
        index = np.minimum(np.arange(first, first + chunk), count - 1)
        some = jax.tree_util.tree_map(lambda x, index=index: x[index], all_rows)
        z, rate = _run(some, keys[index], chains, draws)
        real = min(chunk, count - first)
        parts.append(np.asarray(z)[:real])
        accepted.append(np.asarray(rate)[:real])
    return Truth(
        np.concatenate(parts),
        float(np.mean(np.concatenate(accepted))),
        chains * (draws + WARM_UP) * LEAPFROGS,
    )


def _of_one(row: Row, key: jax.Array, chains: int, draws: int) -> tuple[jax.Array, jax.Array]:
    from blackjax import hmc as blackjax_hmc

    posterior = target(row)
    kernel = blackjax_hmc.build_kernel()
    metric = jnp.ones((posterior.dim,))

    def chain(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        start = 2.0 * jr.normal(jr.fold_in(key, 0), (posterior.dim,))

        def move(state, k):
            state, info = kernel(
                jr.fold_in(key, k), state, posterior.log_density, STEP_SIZE, metric, LEAPFROGS
            )
            return state, (state.position, info.acceptance_rate)

        first = blackjax_hmc.init(start, posterior.log_density)
        _, (y, rate) = jax.lax.scan(move, first, jnp.arange(1, 1 + WARM_UP + draws))
        return jax.vmap(posterior.constrain)(y[WARM_UP:]), jnp.mean(rate[WARM_UP:])

    z, rate = jax.vmap(chain)(jr.split(key, chains))
    return z, jnp.mean(rate)


@partial(jax.jit, static_argnums=(2, 3))
def _run(some: Row, keys: jax.Array, chains: int, draws: int) -> tuple[jax.Array, jax.Array]:
    return jax.vmap(lambda row, key: _of_one(row, key, chains, draws))(some, keys)
