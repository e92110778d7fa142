"""Two hidden states with normal emissions of known sd 1 and ordered means."""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.distributions import constraints

from ._program import Program, floats
from .hmm import forward_log_likelihood


def hmm_example(y):
    theta1 = numpyro.sample("theta1", dist.Dirichlet(jnp.ones(2)))
    theta2 = numpyro.sample("theta2", dist.Dirichlet(jnp.ones(2)))
    mu = numpyro.sample("mu", dist.ImproperUniform(constraints.positive_ordered_vector, (), (2,)))
    numpyro.factor("mu_prior", dist.Normal(jnp.array([3.0, 10.0]), 1.0).log_prob(mu).sum())
    log_emission = dist.Normal(mu, 1.0).log_prob(y[:, None])
    log_transition = jnp.log(jnp.stack([theta1, theta2]))
    numpyro.factor("y", forward_log_likelihood(log_emission, log_transition))


HMM_EXAMPLE = Program(hmm_example, lambda data: floats(data, ("y",)))
