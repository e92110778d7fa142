"""A trend in summer temperatures: the predictor is the year, not centred, so alpha and beta are collinear."""

import numpyro
import numpyro.distributions as dist
from numpyro.distributions import constraints

from ._program import Program, floats


def kilpisjarvi(x, y, pmualpha, psalpha, pmubeta, psbeta):
    alpha = numpyro.sample("alpha", dist.Normal(pmualpha, psalpha))
    beta = numpyro.sample("beta", dist.Normal(pmubeta, psbeta))
    sigma = numpyro.sample("sigma", dist.ImproperUniform(constraints.positive, (), ()))
    with numpyro.plate("N", y.shape[0]):
        numpyro.sample("y", dist.Normal(alpha + beta * x, sigma), obs=y)


KILPISJARVI = Program(
    kilpisjarvi,
    lambda data: floats(data, ("x", "y", "pmualpha", "psalpha", "pmubeta", "psbeta")),
)
