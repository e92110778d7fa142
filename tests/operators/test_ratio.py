"""Renyi, chi and inclusive KL against their closed forms for Gaussians, their limits and their bias."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import opvi
from opvi.distances.logarithm import log_mean_exp
from tests.operators.quadrature import normal_target, value

Q = {"m": 0.7, "s": 0.9}
P = {"m": -0.2, "s": 1.1}
LOG_EVIDENCE = 3.5


def q_and_target(log_evidence: float = LOG_EVIDENCE):
    target, _ = normal_target(P["m"], P["s"], log_evidence)
    return opvi.MeanField(1, loc=Q["m"], scale=Q["s"]), target


def renyi(alpha: float, q: dict, p: dict) -> float:
    """D_alpha(q || p) of two Gaussians."""
    v = alpha * p["s"] ** 2 + (1 - alpha) * q["s"] ** 2
    assert v > 0
    return (
        np.log(p["s"] / q["s"])
        + np.log(p["s"] ** 2 / v) / (2 * (alpha - 1))
        + alpha * (q["m"] - p["m"]) ** 2 / (2 * v)
    )


def kl(q: dict, p: dict) -> float:
    r = q["s"] / p["s"]
    return -np.log(r) + 0.5 * (r**2 - 1) + (q["m"] - p["m"]) ** 2 / (2 * p["s"] ** 2)


CLOSED = {
    "Renyi(0.3)": (opvi.Renyi(0.3), lambda q, p: renyi(0.3, q, p) - LOG_EVIDENCE),
    "Renyi(0.5)": (opvi.Renyi(0.5), lambda q, p: renyi(0.5, q, p) - LOG_EVIDENCE),
    "Renyi(2)": (opvi.Renyi(2), lambda q, p: renyi(2.0, q, p) - LOG_EVIDENCE),
    "Renyi(3.5)": (opvi.Renyi(3.5), lambda q, p: renyi(3.5, q, p) - LOG_EVIDENCE),
    "Chi(2)": (opvi.Chi(2), lambda q, p: renyi(2.0, p, q) / 2 + LOG_EVIDENCE),
    "Chi(1.5)": (opvi.Chi(1.5), lambda q, p: renyi(1.5, p, q) / 3 + LOG_EVIDENCE),
    "InclusiveKL": (opvi.InclusiveKL(), lambda q, p: kl(p, q)),
}


@pytest.mark.float64
@pytest.mark.parametrize("name", CLOSED)
def test_value_is_the_closed_form(name: str) -> None:
    operator, expected = CLOSED[name]
    q, target = q_and_target()
    got = value(opvi.Objective(operator), q, target)
    np.testing.assert_allclose(got, expected(Q, P), rtol=1e-9)


@pytest.mark.float64
@pytest.mark.parametrize("name", CLOSED)
def test_gradient_is_that_of_the_closed_form(name: str) -> None:
    operator, expected = CLOSED[name]
    q, target = q_and_target()
    gradient = eqx.filter_grad(lambda q: value(opvi.Objective(operator), q, target))(q)
    h = 1e-6
    for leaf, key, chain in ((gradient.loc, "m", 1.0), (gradient.log_scale, "s", Q["s"])):
        up, down = (expected({**Q, key: Q[key] + d}, P) for d in (h, -h))
        np.testing.assert_allclose(leaf[0], chain * (up - down) / (2 * h), rtol=1e-6)


@pytest.mark.float64
def test_alpha_to_1_is_kl_and_the_first_difference_is_half_a_variance() -> None:
    q, target = q_and_target()
    exact = value(opvi.Objective(opvi.KL()), q, target)
    np.testing.assert_allclose(exact, kl(Q, P) - LOG_EVIDENCE, rtol=1e-12)
    for s in (1e-7, -1e-7):
        near = value(opvi.Objective(opvi.Renyi(1 + s)), q, target)
        np.testing.assert_allclose(near, exact, atol=5e-8)
    s = 1e-4
    slope = [value(opvi.Objective(opvi.Renyi(1 + d)), q, target) for d in (s, -s)]
    # w = log q - log p is quadratic in eps: Var(w) = b^2 + 2 c^2 for w = a + b eps + c eps^2.
    b = Q["s"] * (Q["m"] - P["m"]) / P["s"] ** 2
    c = 0.5 * ((Q["s"] / P["s"]) ** 2 - 1)
    np.testing.assert_allclose((slope[0] - slope[1]) / (2 * s), (b**2 + 2 * c**2) / 2, rtol=1e-6)


@pytest.mark.float64
def test_alpha_to_0_is_inclusive_kl() -> None:
    q, target = q_and_target(log_evidence=0.0)
    limit = value(opvi.Objective(opvi.InclusiveKL()), q, target)
    alpha = 1e-6
    near = value(opvi.Objective(opvi.Renyi(alpha)), q, target) / alpha
    np.testing.assert_allclose(near, limit, rtol=1e-5)


@pytest.mark.parametrize("operator", [opvi.Renyi(0.5), opvi.Renyi(2.0), opvi.Chi(2.0)], ids=str)
def test_bias_falls_as_one_over_n_with_the_constant_of_the_docstring(operator) -> None:
    """E[log mean_n X] - log E X = -Var(X) / (2 n E[X]^2) + O(1/n^2), divided by the scale."""
    wide = {"m": 0.2, "s": 1.2}  # E[X^4] has to be finite for a mean over draws to show the bias
    target, _ = normal_target(P["m"], P["s"])
    q = opvi.MeanField(1, loc=wide["m"], scale=wide["s"])
    scale, s, replicates = operator.distance.scale, operator.power, 200_000

    @functools.partial(jax.jit, static_argnums=1)
    def estimates(key: jax.Array, n: int) -> jax.Array:
        z = wide["m"] + wide["s"] * jr.normal(key, (replicates, n, 1))
        w = jax.vmap(jax.vmap(lambda z: q.log_prob(z) - target.log_density(z)))(z)
        return jax.vmap(operator.distance.pool)(s * w) / scale

    def log_moment(s: float) -> float:
        """log E_q[(q/p)^s]"""
        return s * renyi(1 + s, wide, P)

    exact = log_moment(s) / scale
    relative_variance = np.exp(log_moment(2 * s) - 2 * log_moment(s)) - 1
    for k, n in enumerate((16, 64)):
        drawn = np.asarray(estimates(jr.key(k), n), np.float64)
        bias, error = drawn.mean() - exact, drawn.std() / replicates**0.5
        predicted = -relative_variance / (2 * n * scale)
        # The next order is O(1/n^2): 30% of the first at n = 16, 8% at n = 64; and five standard errors.
        assert abs(bias - predicted) < (4.8 / n) * abs(predicted) + 5 * error
        assert abs(bias) > 5 * error  # a bias that cannot be seen would prove nothing


@pytest.mark.parametrize("operator", [opvi.Renyi(0.5), opvi.Renyi(2.0), opvi.Chi(2.0)], ids=str)
def test_log_space_survives_what_ratios_do_not(operator) -> None:
    """In float32, with a log density off by ten thousand, exp overflows and the log-mean-exp does not."""
    q, target = q_and_target(log_evidence=0.0)
    shifted = opvi.from_log_density(lambda z: target.log_density(z) + 1e4, jnp.zeros(1))
    here = value(opvi.Objective(operator), q, target)
    there = value(opvi.Objective(operator), q, shifted)
    sign = 1.0 if isinstance(operator, opvi.Chi) else -1.0
    np.testing.assert_allclose(there - sign * 1e4, here, atol=5e-3)
    assert jnp.isfinite(there)


def test_weights_count_draws_in_the_log_mean_exp() -> None:
    h = jnp.asarray([0.3, -1.0, 2.0])
    twice = jnp.asarray([0.3, 0.3, -1.0, 2.0])
    weights = jnp.asarray([2.0, 1.0, 1.0]) * 3 / 4
    np.testing.assert_allclose(log_mean_exp(h, weights), log_mean_exp(twice), rtol=1e-6)
    a, b = opvi.SelfNormalised().pool(h, weights), opvi.SelfNormalised().pool(twice)
    np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.float64
def test_inclusive_kl_has_no_gradient_noise_at_the_posterior() -> None:
    target, _ = normal_target(**{"mean": Q["m"], "sd": Q["s"]}, log_evidence=LOG_EVIDENCE)
    q = opvi.MeanField(1, loc=Q["m"], scale=Q["s"])
    objective, estimator = opvi.Objective(opvi.InclusiveKL()), opvi.Reparameterised(8)
    sets = opvi.estimators.sample_sets(jr.key(0), 8, objective, q, target)
    f = objective.test_functions.init(1, key=jr.key(0))
    value, gradient = estimator.gradient(objective, f, q, sets)
    np.testing.assert_allclose(value, 0.0, atol=1e-12)
    np.testing.assert_allclose(gradient.loc, 0.0, atol=1e-12)
    np.testing.assert_allclose(gradient.log_scale, 0.0, atol=1e-12)


@pytest.mark.parametrize("operator", [opvi.Renyi(0.5), opvi.Chi(2.0), opvi.InclusiveKL()], ids=str)
def test_a_program_and_another_distance_are_refused(operator) -> None:
    objective = opvi.Objective(operator)
    with pytest.raises(opvi.IncompatibleError, match=r"needs log q[\s\S]*Write instead"):
        objective.check(opvi.SemiImplicitProgram(1, key=jr.key(0)))
    for distance in (opvi.Identity(), opvi.Square(), opvi.Logarithm(-7.0)):
        with pytest.raises(opvi.IncompatibleError, match="known up to a factor"):
            opvi.Objective(operator, distance=distance)
    with pytest.raises(opvi.IncompatibleError, match="no test functions"):
        opvi.Objective(operator, opvi.NeuralTestFunction())


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: opvi.Renyi(1), r"Objective\(KL\(\)\)"),
        (lambda: opvi.Renyi(0.0), "InclusiveKL"),
        (lambda: opvi.Renyi(-1.0), "0 < alpha"),
        (lambda: opvi.Renyi(float("inf")), "0 < alpha"),
        (lambda: opvi.Chi(1.0), "order above 1"),
        (lambda: opvi.Chi(0.5), r"Renyi\(0\.5\)"),
        (lambda: opvi.Logarithm(0.0), "Identity"),
    ],
)
def test_orders_without_a_divergence_are_refused(make, match: str) -> None:
    with pytest.raises(opvi.OpviError, match=match):
        make()


@pytest.mark.parametrize("operator", [opvi.Renyi(0.5), opvi.Chi(2.0), opvi.InclusiveKL()], ids=str)
def test_a_gaussian_finds_a_gaussian(operator) -> None:
    target, _ = normal_target(1.0, 0.5, log_evidence=-20.0)
    posterior = opvi.fit(
        target,
        opvi.FullRank,
        opvi.Objective(operator),
        key=jr.key(0),
        steps=600,
        learning_rate=2e-2,
        estimator=opvi.Reparameterised(64),
        progress=False,
    )
    q = posterior.family
    assert isinstance(q, opvi.FullRank)
    np.testing.assert_allclose(q.loc, 1.0, atol=0.02)
    np.testing.assert_allclose(q.scale_tril, 0.5, atol=0.02)
