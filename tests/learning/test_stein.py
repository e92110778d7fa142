"""Stein-trained models, on densities whose maximum-likelihood estimate can be computed.

A log density is given without its normaliser. Quadrature knows the normaliser, and with it the
likelihood: its maximum and its curvature are what the estimates are compared with.
"""

from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import opvi
from opvi.learning import ScoreMatching
from opvi.studies.stein_models import laws
from opvi.studies.stein_models.run import learn, methods, numbers


def real(x) -> jax.Array:
    return jnp.asarray(x, jnp.result_type(float))


def polynomial(parameters: jax.Array, x: jax.Array) -> jax.Array:
    """log p = a x + b x^2 - c x^4 + constant: an exponential family, c > 0."""
    return parameters @ jnp.array([x[0], x[0] ** 2, -(x[0] ** 4)])


@pytest.fixture(scope="module")
def skewed() -> np.ndarray:
    """Draws of the polynomial law by inversion on a grid."""
    grid = np.linspace(-4.0, 4.0, 8001)
    log_p = 0.6 * grid + 0.5 * grid**2 - 0.25 * grid**4
    cdf = np.cumsum(np.exp(log_p - log_p.max()))
    u = np.random.default_rng(0).random(1500)
    return np.interp(u, cdf / cdf[-1], grid)[:, None]


def test_score_matching_ends_where_its_closed_form_does(skewed: np.ndarray) -> None:
    """For an exponential family E|s|^2 + 2 div s is quadratic: theta solves a linear system."""
    x = skewed[:, 0]
    slopes = np.stack([np.ones_like(x), 2 * x, -4 * x**3])
    curvatures = np.stack([0 * x, 2 + 0 * x, -12 * x**2])
    exact = -np.linalg.solve(slopes @ slopes.T, curvatures.sum(axis=1))
    learned = opvi.learn_by_stein(
        polynomial,
        skewed,
        real([0.0, 0.0, 0.1]),
        ScoreMatching(),
        steps=1500,
        batch_size=len(skewed),
        learning_rate=0.05,
        key=jr.key(0),
    )
    np.testing.assert_allclose(learned.parameters, exact, atol=1e-3)
    assert learned.test_function is None
    assert learned.skipped == 0
    # The objective itself, at its end: -E|s - s_data|^2 less a constant, here in closed form.
    value = np.mean((exact @ slopes) ** 2 + 2 * exact @ curvatures)
    assert learned.objective[-1] == pytest.approx(value, abs=1e-4)


@pytest.mark.float64
def test_a_kernel_step_descends_the_kernel_stein_discrepancy(skewed: np.ndarray) -> None:
    """One plain step is the gradient of the closed-form U-statistic, by finite differences."""
    import optax

    objective = opvi.Objective(opvi.LangevinStein(), opvi.KernelBall())
    rows, parameters = skewed[:40], real([0.2, 0.1, 0.2])

    def run(parameters, rate: float) -> opvi.SteinLearned:
        optimisers = (optax.sgd(rate), optax.sgd(0.0))
        return opvi.learn_by_stein(
            polynomial,
            rows,
            parameters,
            objective,
            steps=1,
            batch_size=len(rows),
            optimisers=optimisers,
            key=jr.key(3),
        )

    moved = np.asarray(run(parameters, 1.0).parameters - parameters)
    h = 1e-4
    for i in range(3):
        up, down = (float(run(parameters.at[i].add(s), 0.0).objective[0]) for s in (h, -h))
        assert -moved[i] == pytest.approx((up - down) / (2 * h), rel=1e-4)
    assert np.abs(moved).max() > 0.01


@pytest.fixture(scope="module")
def mixture() -> tuple[np.ndarray, laws.Estimate]:
    law = laws.LAWS["mixture"]
    data = laws.sample(law, 2000, np.random.default_rng(0))
    return data, laws.maximum_likelihood(law, data)


@pytest.mark.parametrize("method", methods(quick=True), ids=lambda m: m.name)
def test_a_mixture_is_recovered_to_within_two_standard_errors_of_maximum_likelihood(
    method, mixture
) -> None:
    data, best = mixture
    law = laws.LAWS["mixture"]
    row = numbers(law, learn(method, law, data, jr.key(0)), best)
    assert row["worst_z"] < 2.0
    assert row["kl"] < 0.003
    assert row["skipped"] == 0
    assert np.max(np.abs(np.array(law.start) - best.theta) / best.errors) > 5.0


@pytest.mark.parametrize("name", laws.LAWS)
def test_maximum_likelihood_is_where_the_likelihood_is_flat_and_covers_the_truth(name: str) -> None:
    law = laws.LAWS[name]
    data = laws.sample(law, 2000, np.random.default_rng(1))
    best = laws.maximum_likelihood(law, data)
    gap = np.abs(best.theta - np.array(law.truth)) / best.errors
    assert gap.max() < 3.5
    assert gap.max() > 0.05
    # E_data grad log p = grad log Z: for these families, moments of the data are those of the model.
    theta = jnp.asarray(best.theta)
    slopes = jax.jit(jax.vmap(jax.grad(law.log_density), (None, 0)))(theta, jnp.asarray(data))
    constant = jax.jit(jax.grad(partial(laws.log_constant, law)))(theta)
    error = slopes.std(axis=0) / len(data) ** 0.5
    assert np.all(np.abs(slopes.mean(axis=0) - constant) < 0.01 * error)


def test_the_constant_of_a_mixture_and_of_a_gaussian_machine() -> None:
    mixture, machine = laws.LAWS["mixture"], laws.LAWS["boltzmann"]
    theta = jnp.array([-1.0, 2.0, 0.7])
    exact = np.log1p(np.exp(0.7)) + 0.5 * np.log(2 * np.pi)
    assert float(laws.log_constant(mixture, theta)) == pytest.approx(exact, abs=1e-4)
    # Over its four hidden states the machine is a mixture of Gaussians with centres W'h.
    theta = jnp.array(machine.truth)
    w, c = np.array(theta[:4]).reshape(2, 2), np.array(theta[4:])
    states = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    total = np.exp(states @ c + 0.5 * np.sum((states @ w) ** 2, axis=1)).sum()
    exact = np.log(2 * np.pi * total)
    assert float(laws.log_constant(machine, theta)) == pytest.approx(exact, abs=1e-3)


def test_a_step_that_is_not_finite_is_skipped_and_mistakes_are_explained(
    skewed: np.ndarray,
) -> None:
    broken = np.concatenate([skewed[:5], [[np.nan]]])
    learn_these = partial(opvi.learn_by_stein, polynomial, key=jr.key(0))
    start = jnp.array([0.0, 0.0, 0.1])
    learned = learn_these(broken, start, ScoreMatching(), steps=4)
    assert learned.skipped == 4
    np.testing.assert_array_equal(learned.parameters, start)
    with pytest.raises(opvi.IncompatibleError, match="a Stein operator"):
        learn_these(skewed, start, opvi.Objective(opvi.KL()), steps=4)
    with pytest.raises(opvi.OpviError, match="at least one step"):
        learn_these(skewed, start, steps=0)
