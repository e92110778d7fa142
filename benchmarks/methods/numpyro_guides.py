"""NumPyro's automatic guides, fitted as its tutorials do: SVI, Trace_ELBO, Adam with a decay."""

import jax
import jax.random as jr
import numpyro
import optax
from numpyro.infer import SVI, Trace_ELBO, autoguide

from benchmarks.methods._outcome import Outcome
from benchmarks.posteriors import Posterior

STEPS = 20_000


def _fit(guide, rate: float, particles: int):
    def method(posterior: Posterior, key: jax.Array, draws: int) -> Outcome:
        fit_key, draw_key = jr.split(key)
        q = guide(posterior.model)
        schedule = optax.exponential_decay(rate, STEPS, 1e-2)
        optimiser = numpyro.optim.optax_to_numpyro(optax.adam(schedule))
        svi = SVI(posterior.model, q, optimiser, Trace_ELBO(particles))
        call = (*posterior.args,), posterior.kwargs
        result = svi.run(fit_key, STEPS, *call[0], progress_bar=False, **call[1])
        sites = q.sample_posterior(draw_key, result.params, sample_shape=(draws,))
        return Outcome(jax.device_get(sites), STEPS * particles)

    return method


autonormal = _fit(autoguide.AutoNormal, 1e-2, 1)
automultivariatenormal = _fit(autoguide.AutoMultivariateNormal, 1e-2, 1)
autoiafnormal = _fit(autoguide.AutoIAFNormal, 2e-3, 10)
