"""Eight schools, not centred: the latents are theta_trans, mu, tau; the reference reports theta."""

import numpy as np
import numpyro
import numpyro.distributions as dist

from ._program import Program, Sites, floats


def eight_schools_noncentered(y, sigma):
    schools = y.shape[0]
    theta_trans = numpyro.sample("theta_trans", dist.Normal(0, 1).expand([schools]).to_event(1))
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    theta = numpyro.deterministic("theta", theta_trans * tau + mu)
    with numpyro.plate("J", schools):
        numpyro.sample("y", dist.Normal(theta, sigma), obs=y)


def _theta(sites: Sites) -> Sites:
    theta_trans, mu, tau = (
        np.asarray(sites[name], np.float64) for name in ("theta_trans", "mu", "tau")
    )
    return {"theta": theta_trans * tau[:, None] + mu[:, None]}


EIGHT_SCHOOLS_NONCENTERED = Program(
    eight_schools_noncentered, lambda data: floats(data, ("y", "sigma")), derived=_theta
)
