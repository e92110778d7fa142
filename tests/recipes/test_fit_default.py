"""`fit(target, key=key)` and nothing else is right to Monte Carlo error, and says so."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from scipy import stats

import opvi

DRAWS = 4000


def ks(draws, law) -> float:
    """p-value of draws of one latent against its exact marginal."""
    return float(stats.kstest(np.asarray(draws, np.float64), law.cdf).pvalue)


def test_the_conjugate_normal_that_other_defaults_get_wrong():
    def model():
        x = numpyro.sample("x", dist.Normal(0.0, 1.0))
        numpyro.sample("y", dist.Normal(x, 0.5), obs=10.0)

    posterior = opvi.fit(opvi.from_numpyro(model), key=jr.key(0))
    x = posterior.sample(jr.key(1), DRAWS)["x"]
    assert posterior.verdict.good
    assert ks(x, stats.norm(8.0, np.sqrt(0.2))) > 1e-3
    # A Gaussian that is indistinguishable from the posterior is left as it is.
    assert isinstance(posterior.family, opvi.FullRank)
    assert posterior.evaluations_per_draw == 0


X = np.stack(
    [np.ones(7), 1e4 + 1e3 * np.arange(7), 1e-3 * np.array([0.3, -1.1, 0.8, 0.1, 1.4, -0.6, 0.2])],
    axis=1,
)
Y = X @ [3.0, 2e-4, 400.0] + np.array([0.4, -0.2, 0.1, -0.5, 0.3, 0.2, -0.3])
PRIOR_SD, SHAPE, RATE = np.array([10.0, 1e-2, 1e3]), 3.0, 1.0


def regression():
    """Seven points, predictors of sizes 1, 1e4 and 1e-3, conjugate: the marginals are Student-t."""
    variance = numpyro.sample("variance", dist.InverseGamma(SHAPE, RATE))
    sd = jnp.sqrt(variance)
    beta = numpyro.sample("beta", dist.Normal(0.0, sd * jnp.asarray(PRIOR_SD)).to_event(1))
    numpyro.sample("y", dist.Normal(jnp.asarray(X) @ beta, sd), obs=jnp.asarray(Y))


@pytest.fixture(scope="module", name="fitted")
def _fitted():
    return opvi.fit(opvi.from_numpyro(regression), key=jr.key(0))


def test_a_badly_scaled_regression_on_seven_points(fitted):
    precision = X.T @ X + np.diag(PRIOR_SD**-2.0)
    mean = np.linalg.solve(precision, X.T @ Y)
    shape, rate = SHAPE + 3.5, RATE + 0.5 * (Y @ Y - mean @ precision @ mean)
    scale = np.sqrt(rate / shape * np.diagonal(np.linalg.inv(precision)))
    draws = fitted.sample(jr.key(1), DRAWS)
    assert fitted.verdict.good
    assert ks(draws["variance"], stats.invgamma(shape, scale=rate)) > 1e-3
    for j in range(3):
        assert ks(draws["beta"][:, j], stats.t(2 * shape, mean[j], scale[j])) > 1e-3


def test_the_stages_say_what_was_found_and_add_up(fitted):
    names = [stage.name for stage in fitted.stages]
    assert names[:4] == ["target", "starts", "regression", "check"]
    assert names[-1] == "verdict"
    assert sum(stage.evaluations for stage in fitted.stages) == fitted.gradient_evaluations
    assert all(stage.name in repr(fitted) for stage in fitted.stages)


def test_the_same_key_gives_the_same_fit(fitted):
    again = opvi.fit(opvi.from_numpyro(regression), key=jr.key(0))
    one, two = (np.asarray(p.unconstrained(jr.key(1), 100)) for p in (fitted, again))
    np.testing.assert_array_equal(one, two)


def test_scales_from_1e_minus_6_to_1e6():
    scales = 10.0 ** np.arange(-6, 7, 2)

    def log_density(z):
        return -0.5 * jnp.sum((z / jnp.asarray(scales, z.dtype) - 3.0) ** 2)

    posterior = opvi.fit(opvi.from_log_density(log_density, jnp.zeros(7)), key=jr.key(0))
    draws = posterior.sample(jr.key(1), DRAWS)
    assert posterior.verdict.good
    for j, scale in enumerate(scales):
        assert ks(draws[:, j] / scale, stats.norm(3.0, 1.0)) > 1e-3


def test_a_piece_of_ones_own_makes_it_a_single_run():
    target = opvi.from_log_density(lambda z: -0.5 * jnp.sum(z**2), jnp.zeros(2))
    posterior = opvi.fit(target, opvi.MeanField, key=jr.key(0), steps=3, progress=False)
    assert isinstance(posterior.family, opvi.MeanField)
    assert posterior.stages == ()
    assert len(posterior.history.objective) == 3
