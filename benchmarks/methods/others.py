"""BlackJAX Pathfinder and NUTS, and a flow of flowjax, on the log density of the same target."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from arviz_stats.base import array_stats

import opvi
from benchmarks.methods._outcome import Outcome
from benchmarks.methods.ours import target_of
from benchmarks.posteriors import Posterior

FLOW_STEPS, FLOW_DRAWS = 5_000, 100
CHAINS, WARMUP = 4, 1_000
# BlackJAX's own 30 iterations and ftol 1e-5 end far from the mode where the scales differ.
ELBO_DRAWS, ITERATIONS, FTOL = 200, 300, 1e-12


def pathfinder(posterior: Posterior, key: jax.Array, draws: int) -> Outcome:
    """One path from a point uniform on (-2, 2), as in Stan."""
    import blackjax

    target = target_of(posterior)
    start_key, run_key, draw_key = jr.split(key, 3)
    counter = itertools.count()
    log_density = _counted(target.log_density, counter)
    run = jax.jit(
        lambda key, z: blackjax.vi.pathfinder.approximate(
            key, log_density, z, ELBO_DRAWS, maxiter=ITERATIONS, ftol=FTOL
        )
    )
    start = jr.uniform(start_key, (target.dim,), minval=-2.0, maxval=2.0)
    state, _ = jax.block_until_ready(run(run_key, start))
    jax.effects_barrier()
    z, _ = blackjax.vi.pathfinder.sample(draw_key, state, draws)
    return Outcome(
        _constrained(target, z), next(counter), density_evaluations=ELBO_DRAWS * (ITERATIONS + 1)
    )


def flowjax(posterior: Posterior, key: jax.Array, draws: int) -> Outcome:
    """Reverse KL by its own loss and loop; the flow runs in the direction that samples fast."""
    from flowjax.distributions import Normal
    from flowjax.flows import masked_autoregressive_flow
    from flowjax.train import fit_to_key_based_loss
    from flowjax.train.losses import ElboLoss

    target = target_of(posterior)
    flow_key, fit_key, draw_key = jr.split(key, 3)
    flow = masked_autoregressive_flow(
        flow_key, base_dist=Normal(jnp.zeros(target.dim)), invert=False
    )
    flow, _ = fit_to_key_based_loss(
        fit_key,
        flow,
        loss_fn=ElboLoss(target.log_density, FLOW_DRAWS),
        steps=FLOW_STEPS,
        learning_rate=1e-3,
        show_progress=False,
    )
    z = eqx.filter_jit(lambda flow, key: flow.sample(key, (draws,)))(flow, draw_key)
    return Outcome(_constrained(target, z), FLOW_STEPS * FLOW_DRAWS)


def nuts(posterior: Posterior, key: jax.Array, draws: int) -> Outcome:
    """The verdict is R-hat and divergences. The costs of 1,000 effective draws are of the worst column.

    `nuts_gradients_per_1000_ess` = leapfrog steps of the draws x 1,000 / bulk ESS, plus the warm-up
    of one chain; `..._without_warmup` leaves the second term out.
    """
    target = target_of(posterior)
    result = opvi.nuts(target, key, chains=CHAINS, warmup=WARMUP, draws=-(-draws // CHAINS))
    sites = _constrained(target, jnp.asarray(result.z, jnp.result_type(float)))
    columns = posterior.comparable(posterior.columns(sites))
    by_chain = columns.reshape(CHAINS, -1, columns.shape[1])
    least, r_hat = _diagnose(by_chain)
    per_1000 = 1000 * result.steps.sum() / least
    good = r_hat <= 1.01 and result.divergences == 0
    reasons = (f"largest R-hat {r_hat:.3f}, {result.divergences} divergent transitions",)
    return Outcome(
        sites,
        result.gradient_evaluations,
        verdict="good" if good else "unreliable",
        reasons=() if good else reasons,
        extra={
            "nuts_gradients_per_1000_ess": float(per_1000 + result.warmup_steps.mean()),
            "nuts_gradients_per_1000_ess_without_warmup": float(per_1000),
            "nuts_least_ess": float(least),
            "nuts_r_hat": float(r_hat),
            "nuts_divergences": result.divergences,
        },
    )


def _diagnose(by_chain: np.ndarray) -> tuple[float, float]:
    """The least bulk ESS and the largest R-hat of the columns of an array (chains, draws, columns)."""
    axes = {"chain_axis": 0, "draw_axis": 1}
    ess = array_stats.ess(by_chain, method="bulk", **axes)
    return float(np.min(ess)), float(np.max(array_stats.rhat(by_chain, **axes)))


def _constrained(target: opvi.NumPyroTarget, z: jax.Array) -> dict[str, np.ndarray]:
    return jax.device_get(eqx.filter_jit(jax.vmap(target.constrain))(z))


def _counted(log_density, counter):
    """The same function; every gradient taken of it while it runs advances the counter."""

    @jax.custom_vjp
    def counted(z):
        return log_density(z)

    def forward(z):
        jax.debug.callback(lambda: next(counter))
        return jax.value_and_grad(log_density)(z)

    counted.defvjp(forward, lambda score, cotangent: (cotangent * score,))
    return counted
