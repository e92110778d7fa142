"""Bayesian linear regression with weak normal priors (sblrc: correlated predictors; sblri: not)."""

import numpyro
import numpyro.distributions as dist

from ._program import Program, floats


def blr(X, y):
    beta = numpyro.sample("beta", dist.Normal(0, 10).expand([X.shape[1]]).to_event(1))
    sigma = numpyro.sample("sigma", dist.HalfNormal(10))
    with numpyro.plate("N", y.shape[0]):
        numpyro.sample("y", dist.Normal(X @ beta, sigma), obs=y)


BLR = Program(blr, lambda data: floats(data, ("X", "y")))
