"""Heavy tails: the multivariate Student-t, and the program with Student-t noise."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import integrate, stats

import opvi
from tests.goodness import p_value

LOC, TRIL = (0.5, -1.0), ((1.2, 0.0), (-0.7, 0.8))


def student(dof: float = 5.0) -> opvi.StudentT:
    return opvi.StudentT(2, dof=dof, loc=jnp.asarray(LOC), scale_tril=jnp.asarray(TRIL))


@pytest.mark.float64
def test_log_prob_is_that_of_scipy_and_its_limit_the_gaussian() -> None:
    z = 4.0 * jr.normal(jr.key(0), (50, 2))
    tril = np.asarray(TRIL)
    theirs = stats.multivariate_t(LOC, tril @ tril.T, df=5.0).logpdf(np.asarray(z))
    np.testing.assert_allclose(jax.vmap(student().log_prob)(z), theirs, rtol=1e-12)
    gaussian = opvi.FullRank(2, loc=jnp.asarray(LOC), scale_tril=jnp.asarray(TRIL))
    far = jax.vmap(student(1e9).log_prob)(z)
    np.testing.assert_allclose(far, jax.vmap(gaussian.log_prob)(z), atol=1e-5)


def test_draws_have_the_density_and_the_covariance() -> None:
    q = student()
    draws = q.sample(jr.key(1), 50_000)
    assert p_value(draws, q.log_prob, -6.0, 6.0, cells=12) > 1e-3
    tril = np.asarray(TRIL)
    covariance = np.cov(np.asarray(student(9.0).sample(jr.key(2), 100_000)).T)
    np.testing.assert_allclose(covariance, 9 / 7 * tril @ tril.T, atol=0.05)


def program(dim: int = 2, dof: float = 3.0) -> opvi.StudentTProgram:
    return opvi.StudentTProgram(dim, key=jr.key(0), dof=dof, width=8, depth=1)


@pytest.mark.float64
def test_the_score_given_the_noise_is_the_derivative_of_the_student_density() -> None:
    q, eps = program(), program().noise(jr.key(1), 20)

    def log_q(z, smooth):
        u = (z - q.network(smooth)) * jnp.exp(-q.log_scale)
        return jnp.sum(jax.scipy.stats.t.logpdf(u, q.dof) - q.log_scale)

    exact = jax.vmap(jax.grad(log_q))(jax.vmap(q.transform)(eps), eps[0])
    np.testing.assert_allclose(jax.vmap(q.conditional_score)(eps), exact, rtol=1e-10)


@pytest.mark.float64
def test_divergence_free_by_quadrature() -> None:
    """int q(z | eps) (f' + f grad_z log q(z | eps)) dz = 0 for a bounded f that is not odd."""
    q, smooth = program(1), jnp.asarray([0.3])

    def f(z):
        return jnp.tanh(2.0 * z[0] - 1.0) + 0.5

    @jax.jit
    def integrand(xi):
        eps = (smooth, jnp.asarray([xi]))
        z = q.transform(eps)
        value = jax.grad(f)(z)[0] + f(z) * q.conditional_score(eps)[0]
        return value * jnp.exp(jax.scipy.stats.t.logpdf(xi, q.dof))

    value, _ = integrate.quad(lambda x: float(integrand(x)), -np.inf, np.inf)
    assert abs(value) < 1e-8


def test_the_noise_is_student_t_and_reaches_where_a_gaussian_does_not() -> None:
    xi = np.asarray(program().noise(jr.key(3), 20_000)[1])
    assert stats.kstest(xi.ravel(), stats.t(3.0).cdf).pvalue > 1e-3
    assert xi.shape == (20_000, 2)
    assert abs(np.corrcoef(np.abs(xi).T)[0, 1]) < 0.05  # each coordinate has its own tail


def test_a_small_fit_finds_location_scale_and_tails() -> None:
    """p is a Student-t of 3 degrees; the best Gaussian of its scale ends at half of the 1% quantile."""
    target = opvi.from_log_density(
        lambda z: jnp.sum(jax.scipy.stats.t.logpdf((z - 1.0) / 2.0, 3.0)), jnp.zeros(1)
    )
    posterior = opvi.fit(
        target,
        opvi.StudentTProgram(1, key=jr.key(0), width=8, depth=1),
        opvi.Objective(opvi.LangevinStein(), opvi.NeuralTestFunction(width=8)),
        estimator=opvi.FunctionalGradient(128),
        key=jr.key(1),
        steps=1000,
        learning_rate=1e-2,
        share_draws=True,
        progress=False,
    )
    draws = np.asarray(posterior.family.sample(jr.key(2), 100_000))[:, 0]
    quantiles = [0.01, 0.25, 0.5, 0.75, 0.99]
    truth, found = stats.t(3.0, 1.0, 2.0).ppf(quantiles), np.quantile(draws, quantiles)
    np.testing.assert_allclose(found[1:4], truth[1:4], atol=0.25)
    np.testing.assert_allclose(found[[0, 4]] - 1.0, truth[[0, 4]] - 1.0, rtol=0.2)


@pytest.mark.parametrize("dof", [0.0, -1.0, float("inf")])
def test_degrees_of_freedom_that_are_none(dof: float) -> None:
    with pytest.raises(opvi.OpviError, match=r"degrees of freedom above 0.*\n.*FullRank\(2\)"):
        opvi.StudentT(2, dof=dof)
    with pytest.raises(opvi.OpviError, match=r"degrees of freedom.*\n.*dof=3.0"):
        opvi.StudentTProgram(2, key=jr.key(0), dof=dof)
