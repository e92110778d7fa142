"""Modes, funnels and hierarchies by `fit(target, key=key)`: right, or said not to be."""

import math
import warnings

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from scipy import stats

import opvi
from tests.fixtures import sliced_w1

DRAWS = 4000


def fit(target, seed=0):
    """The fit, and its draws on the unconstrained scale; a verdict is no error here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", opvi.PoorFitWarning)
        posterior = opvi.fit(target, key=jr.key(seed))
    return posterior, np.asarray(posterior.unconstrained(jr.key(seed + 1), DRAWS), np.float64)


def mixture(centres, sds, weights):
    centres, sds, weights = (jnp.asarray(x) for x in (centres, sds, weights))

    def log_density(z):
        parts = jnp.log(weights) - centres.shape[1] * jnp.log(sds)
        return jax.nn.logsumexp(parts - 0.5 * jnp.sum((z - centres) ** 2, axis=1) / sds**2)

    return opvi.from_log_density(log_density, jnp.zeros(centres.shape[1]))


GRID = [[4.0 * i, 4.0 * j] for i in (-1, 0, 1) for j in (-1, 0, 1)]
MODES = {
    "two": ([[-4.0, -4.0], [4.0, 4.0]], [0.5, 1.0], [0.3, 0.7]),
    "two, far apart": ([[-10.0, 0.0], [10.0, 0.0]], [1.0, 1.0], [0.2, 0.8]),
    "grid": (GRID, [0.5] * 9, [1 / 9] * 9),
    "unequal grid": (GRID, [0.4] * 9, [0.2, 0.05, 0.1, 0.15, 0.05, 0.05, 0.1, 0.2, 0.1]),
}


@pytest.mark.parametrize("name", MODES)
def test_all_modes_with_their_weights_or_a_verdict_that_says_so(name):
    centres, sds, weights = MODES[name]
    posterior, z = fit(mixture(centres, sds, weights))
    nearest = np.argmin(((z[:, None] - np.asarray(centres)) ** 2).sum(-1), axis=1)
    shares = np.bincount(nearest, minlength=len(weights)) / DRAWS
    assert posterior.verdict.good
    np.testing.assert_allclose(shares, weights, atol=0.03)


def test_a_fit_that_has_lost_a_mode_is_told_so():
    centres, sds, weights = MODES["two"]
    one = opvi.FullRank(2, loc=jnp.asarray(centres[1]), scale_tril=jnp.eye(2))
    target = mixture(centres, sds, weights)
    posterior = opvi.fit(
        target, one, opvi.Objective(opvi.KL()), key=jr.key(0), steps=1, progress=False
    )
    assert posterior.verdict is None  # nobody looked
    verdict = opvi.check(posterior, key=jr.key(1))
    assert verdict.status == "unreliable"
    assert "mode" in verdict.reasons[0]


EFFECT = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERROR = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def eight_schools(centred):
    mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
    tau = numpyro.sample("tau", dist.HalfCauchy(5.0))
    if centred:
        theta = numpyro.sample("theta", dist.Normal(mu, tau).expand([8]).to_event(1))
    else:
        theta = mu + tau * numpyro.sample("offset", dist.Normal().expand([8]).to_event(1))
    numpyro.sample("y", dist.Normal(theta, jnp.asarray(ERROR)), obs=jnp.asarray(EFFECT))


def marginals():
    """Grids of mu and log tau with their exact distribution functions: the effects integrate out."""
    mu, log_tau = np.linspace(-25, 35, 301), np.linspace(-12, 6, 601)
    m, t = np.meshgrid(mu, np.exp(log_tau), indexing="ij")
    log_p = stats.norm(0, 5).logpdf(m) + stats.halfcauchy(scale=5).logpdf(t) + np.log(t)
    for y, s in zip(EFFECT, ERROR, strict=True):
        log_p = log_p + stats.norm(m, np.hypot(s, t)).logpdf(y)
    p = np.exp(log_p - log_p.max())
    return mu, np.cumsum(p.sum(1)) / p.sum(), log_tau, np.cumsum(p.sum(0)) / p.sum()


def distance(draws, grid, cdf) -> float:
    """W1 of draws to the exact law, in its sd: int |F - F_n|."""
    empirical = np.searchsorted(np.sort(draws), grid, side="right") / len(draws)
    p = np.diff(cdf, prepend=0.0)
    sd = math.sqrt(p @ grid**2 - (p @ grid) ** 2)
    return float(np.abs(empirical - cdf).sum() * (grid[1] - grid[0]) / sd)


@pytest.mark.parametrize("centred", [False, True])
def test_eight_schools_is_right_or_flagged(centred):
    posterior, _ = fit(opvi.from_numpyro(eight_schools, centred))
    draws = posterior.sample(jr.key(1), DRAWS)
    mu, mu_cdf, log_tau, tau_cdf = marginals()
    errors = [
        distance(np.asarray(draws["mu"], np.float64), mu, mu_cdf),
        distance(np.log(np.asarray(draws["tau"], np.float64)), log_tau, tau_cdf),
    ]
    if not centred:
        assert posterior.verdict.good
        assert max(errors) < 0.06
    assert max(errors) < 0.2 or not posterior.verdict.good


def test_neals_funnel_is_near_the_floor_or_flagged():
    def log_density(z):
        v, x = z[0], z[1:]
        return -0.5 * (v / 3) ** 2 - 0.5 * jnp.sum(x**2) * jnp.exp(-v) - 4.5 * v

    def exact(key):
        eps = jr.normal(key, (DRAWS, 10))
        return jnp.concatenate([3 * eps[:, :1], jnp.exp(1.5 * eps[:, :1]) * eps[:, 1:]], axis=1)

    posterior, z = fit(opvi.from_log_density(log_density, jnp.zeros(10)))
    one, two = exact(jr.key(5)), exact(jr.key(6))
    far = sliced_w1(z, one) > 3 * sliced_w1(two, one)
    assert not (far and posterior.verdict.good)
    # The words are about the latents that are wrong.
    assert posterior.verdict.good or any("z[" in reason for reason in posterior.verdict.reasons)
