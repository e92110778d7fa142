"""Basketball drives: two hidden states with exponential emissions of 1/speed and distance to the hoop."""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.distributions import constraints

from ._program import Program, floats
from .hmm import forward_log_likelihood


def hmm_drive(u, v, alpha):
    theta1 = numpyro.sample("theta1", dist.Dirichlet(alpha[0]))
    theta2 = numpyro.sample("theta2", dist.Dirichlet(alpha[1]))
    ordered_rates = dist.ImproperUniform(constraints.positive_ordered_vector, (), (2,))
    phi = numpyro.sample("phi", ordered_rates)
    lam = numpyro.sample("lambda", ordered_rates)
    rate_prior = dist.Normal(jnp.array([0.0, 3.0]), 1.0)
    numpyro.factor("rate_prior", (rate_prior.log_prob(phi) + rate_prior.log_prob(lam)).sum())
    log_emission = dist.Exponential(phi).log_prob(u[:, None]) + dist.Exponential(lam).log_prob(
        v[:, None]
    )
    log_transition = jnp.log(jnp.stack([theta1, theta2]))
    numpyro.factor("uv", forward_log_likelihood(log_emission, log_transition))


HMM_DRIVE = Program(hmm_drive, lambda data: floats(data, ("u", "v", "alpha")))
