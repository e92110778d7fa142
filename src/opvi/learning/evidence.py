"""Lower bounds of the log evidence log p(x), to compare models by: larger draws, tighter bounds.

Both are logarithms of an unbiased estimate of p(x), so by Jensen their expectations are lower bounds.
"""

import jax
import jax.numpy as jnp
import jax.random as jr

from opvi._core.types import Key, Scalar
from opvi.families import AbstractTractableFamily
from opvi.targets import AbstractTarget


def importance_bound(
    target: AbstractTarget, proposal: AbstractTractableFamily, key: Key, draws: int
) -> Scalar:
    """log 1/n sum_i p(x, z_i) / r(z_i), z_i ~ r (Burda, Grosse and Salakhutdinov 2016).

    `target` has to be the normalised joint density of data and latents. r may be any density: that
    of the q that was learned, or one made for this alone.
    """
    z = proposal.sample(key, draws)
    weight = jax.vmap(lambda z: target.log_density(z) - proposal.log_prob(z))(z)
    return jax.nn.logsumexp(weight) - jnp.log(draws)


def annealed_bound(
    target: AbstractTarget,
    start: AbstractTractableFamily,
    key: Key,
    draws: int,
    *,
    temperatures: int = 100,
    step_size: float = 0.1,
    leapfrogs: int = 5,
) -> Scalar:
    """Annealed importance sampling (Neal 2001) from r to p, with Hamiltonian moves in between.

    Through r^(1-b) p^b, b from 0 to 1: log 1/n sum_i prod_k w_k, each move leaving its rung invariant.
    """
    from blackjax import hmc

    betas = jnp.linspace(0.0, 1.0, temperatures + 1)

    def log_density(z, beta):
        return (1.0 - beta) * start.log_prob(z) + beta * target.log_density(z)

    kernel = hmc.build_kernel()
    metric = jnp.ones((target.dim,))

    def anneal(z, key):
        def rung(carry, k):
            z, weight = carry
            weight = weight + log_density(z, betas[k]) - log_density(z, betas[k - 1])
            fn = lambda z: log_density(z, betas[k])
            state, _ = kernel(jr.fold_in(key, k), hmc.init(z, fn), fn, step_size, metric, leapfrogs)
            return (state.position, weight), None

        (_, weight), _ = jax.lax.scan(rung, (z, jnp.zeros(())), jnp.arange(1, temperatures + 1))
        return weight

    z_key, move_key = jr.split(key)
    z = start.sample(z_key, draws)
    weights = jax.vmap(anneal)(z, jr.split(move_key, draws))
    return jax.nn.logsumexp(weights) - jnp.log(draws)
