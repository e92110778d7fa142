"""y ~ N(X beta, sigma) with a flat prior on beta, the likelihood that kidscore and nes share."""

import numpyro
import numpyro.distributions as dist
from numpyro.distributions import constraints


def linear_regression(design, outcome, sigma):
    coefficients = dist.ImproperUniform(constraints.real_vector, (), (design.shape[1],))
    beta = numpyro.sample("beta", coefficients)
    sigma = numpyro.sample("sigma", sigma)
    with numpyro.plate("N", outcome.shape[0]):
        numpyro.sample("y", dist.Normal(design @ beta, sigma), obs=outcome)


def flat_sigma(design, outcome):
    linear_regression(design, outcome, dist.ImproperUniform(constraints.positive, (), ()))
