"""Gaussian-process regression: length scale, amplitude and noise variance given 11 observations."""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

from ._program import Program, floats


def gp_regr(x, y):
    rho = numpyro.sample("rho", dist.Gamma(25, 4))
    alpha = numpyro.sample("alpha", dist.HalfNormal(2))
    sigma = numpyro.sample("sigma", dist.HalfNormal(1))
    distance = (x[:, None] - x[None, :]) / rho
    # The Stan program puts sigma itself, not its square, on the diagonal.
    covariance = alpha**2 * jnp.exp(-0.5 * distance**2) + sigma * jnp.eye(x.shape[0])
    numpyro.sample("y", dist.MultivariateNormal(jnp.zeros(x.shape[0]), covariance), obs=y)


GP_REGR = Program(gp_regr, lambda data: floats(data, ("x", "y")))
