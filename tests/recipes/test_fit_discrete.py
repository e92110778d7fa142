"""Posteriors that can be enumerated, fitted: total variation from the truth, and the best mean-field."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpyro.distributions import constraints
from scipy.optimize import minimize

import opvi
from opvi._core.states import all_states
from tests.discrete_models import (
    Enumerated,
    enumerate_states,
    ising,
    noisy_or,
    poisson,
    total_variation,
)

MODELS = {"noisy_or": noisy_or, "ising": ising, "poisson": poisson}


@pytest.mark.parametrize("name", MODELS)
def test_the_default_fit_finds_the_posterior(name: str) -> None:
    """Nothing but a target and a key: an autoregressive family by KL, leave-one-out, Rao-Blackwellised."""
    target = MODELS[name]()
    posterior = opvi.fit(target, key=jr.key(0), progress=False)
    family = posterior.family
    assert isinstance(family, opvi.Autoregressive)
    assert total_variation(target, family) < 0.02


@pytest.mark.parametrize("name", ["noisy_or", "ising"])
def test_the_stein_control_variate_finds_it_in_fewer_steps(name: str) -> None:
    target = MODELS[name]()
    q = opvi.Autoregressive(target.cardinalities, key=jr.key(0), width=32)
    posterior = opvi.fit(
        target,
        q,
        key=jr.key(0),
        steps=400,
        learning_rate=3e-2,
        estimator=opvi.ScoreFunction(control_variate=opvi.SteinControlVariate()),
        progress=False,
    )
    assert total_variation(target, posterior.family) < 0.02


def kl_of_mean_field(exact: Enumerated, logits: np.ndarray) -> tuple[float, np.ndarray]:
    """KL(q || p) of independent states by enumeration, and its gradient in the logits. In NumPy."""
    states, p = np.asarray(exact.states), np.asarray(exact.p, np.float64)
    on = 1 / (1 + np.exp(-logits))
    log_q = states @ np.log(on) + (1 - states) @ np.log1p(-on)
    h = log_q - np.log(p)
    return np.exp(log_q) @ h, np.exp(log_q) @ (h[:, None] * (states - on))


def best_mean_field(exact: Enumerated, starts: int = 12) -> float:
    """The least KL(q || p), by L-BFGS on the exact one from many starts."""
    rng = np.random.default_rng(0)
    found = [
        minimize(lambda l: kl_of_mean_field(exact, l), x, jac=True, method="L-BFGS-B")
        for x in rng.normal(0.0, 1.5, (starts, exact.states.shape[1]))
    ]
    return min(result.fun for result in found)


@pytest.mark.parametrize("name", ["noisy_or", "ising"])
def test_mean_field_is_the_best_there_is(name: str) -> None:
    target = MODELS[name]()
    q = opvi.BernoulliMeanField(target.cardinalities)
    posterior = opvi.fit(target, q, key=jr.key(0), progress=False)
    exact = enumerate_states(target)
    reached, _ = kl_of_mean_field(exact, np.asarray(posterior.family.logits, np.float64))
    best = best_mean_field(exact)
    assert best > 0.05  # the posterior is no product
    assert best - 1e-6 < reached < best + 2e-3


def test_gibbs_stein_finds_the_posterior_too() -> None:
    """The min-max objective, a network for f, no log q in the operator."""
    target = noisy_or()
    functions = opvi.StateTestFunction(target.cardinalities, width=32)
    q = opvi.Autoregressive(target.cardinalities, key=jr.key(0), width=32)
    posterior = opvi.fit(
        target,
        q,
        opvi.Objective(opvi.GibbsStein(), functions),
        key=jr.key(0),
        steps=1500,
        learning_rate=1e-2,
        progress=False,
    )
    assert total_variation(target, posterior.family) < 0.05


# --- real numbers and states in one fit


class Labelled:
    """k in {0, 1, 2}, b in {0, 1}, x | k, b a Gaussian in the plane: the posterior in closed form."""

    def __init__(self):
        rng = np.random.default_rng(0)
        self.p = rng.dirichlet(np.ones(6)).reshape(2, 3)  # b, k: names come in order
        self.mean = rng.normal(0.0, 1.5, (2, 3, 2))
        self.sd = rng.uniform(0.4, 1.5, (2, 3, 2))
        self.slope = 0.8
        self.log_evidence = 3.0

    def target(self) -> opvi.AbstractTarget:
        def log_density(latents):
            at = latents["b"], latents["k"]
            p, mean, sd = (
                jnp.asarray(a, jnp.result_type(float)) for a in (self.p, self.mean, self.sd)
            )
            u = (latents["x"] - mean[at]) / sd[at]
            u = u.at[1].add(-self.slope * u[0])
            log_normal = -0.5 * jnp.sum(u**2) - jnp.sum(jnp.log(sd[at])) - np.log(2 * np.pi)
            return jnp.log(p[at]) + log_normal + self.log_evidence

        return opvi.from_log_density(
            log_density,
            {"x": jnp.zeros(2), "k": 0, "b": 0},
            supports={"k": constraints.integer_interval(0, 2), "b": constraints.boolean},
        )

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """The mean and the covariance of x given each of the six states."""
        tril = np.asarray([[1.0, 0.0], [self.slope, 1.0]])
        scale = self.sd.reshape(6, 2, 1) * tril
        return self.mean.reshape(6, 2), scale @ scale.transpose(0, 2, 1)


def test_a_mixed_model_in_one_fit() -> None:
    """Nothing but a target and a key: the states' probabilities, and x given each of them."""
    known = Labelled()
    target = known.target()
    posterior = opvi.fit(target, key=jr.key(0), steps=2500, progress=False)
    q = posterior.family
    assert isinstance(q, opvi.ConditionalMixedFamily)
    states = all_states(q.cardinalities)
    p = np.exp(jax.vmap(q.discrete.log_prob)(states))
    assert np.abs(p - known.p.ravel()).sum() / 2 < 0.02
    z = np.asarray(posterior.unconstrained(jr.key(1), 20_000), np.float64)
    mean, covariance = known.moments()
    for i, state in enumerate(np.asarray(states)):
        if known.p.ravel()[i] < 0.05:
            continue
        x = z[np.all(z[:, 2:] == state, axis=1), :2]
        sd = np.sqrt(np.diag(covariance[i]))
        np.testing.assert_allclose((x.mean(0) - mean[i]) / sd, 0.0, atol=0.1)
        np.testing.assert_allclose(
            np.cov(x.T) / np.outer(sd, sd), covariance[i] / np.outer(sd, sd), atol=0.15
        )
    draws = posterior.sample(jr.key(2), 10)
    assert draws["x"].shape == (10, 2)
    assert jnp.issubdtype(draws["k"].dtype, jnp.integer)


def test_a_program_beside_states_under_the_mixed_operator() -> None:
    """No density for x: x is skewed, its law is a log-gamma, and the states are independent of it."""

    def log_density(latents):
        k = latents["k"].astype(jnp.result_type(float))
        return (
            2.0 * latents["x"] - jnp.exp(latents["x"]) + 0.8 * k[0] - 0.5 * k[1] + 0.9 * k[0] * k[1]
        )

    target = opvi.from_log_density(
        log_density, {"x": 0.0, "k": jnp.zeros(2)}, supports={"k": constraints.boolean}
    )
    q = opvi.MixedProgram(
        opvi.MLPProgram(1, key=jr.key(0), noise_dim=2, width=16),
        opvi.Autoregressive((2, 2), key=jr.key(1), width=8),
    )
    functions = opvi.StateTestFunction((2, 2), width=16)
    posterior = opvi.fit(
        target,
        q,
        opvi.Objective(opvi.MixedStein(), functions),
        key=jr.key(2),
        steps=1500,
        learning_rate=5e-3,
        progress=False,
    )
    exponent = np.asarray([0.0, -0.5, 0.8, 1.2])
    p = np.exp(exponent) / np.exp(exponent).sum()
    fitted = np.exp(jax.vmap(posterior.family.discrete.log_prob)(all_states((2, 2))))
    assert np.abs(fitted - p).sum() / 2 < 0.05
    x = np.asarray(posterior.unconstrained(jr.key(3), 20_000))[:, 0]
    # log Gamma(2): mean digamma(2), variance trigamma(2).
    np.testing.assert_allclose(x.mean(), 0.4228, atol=0.06)
    np.testing.assert_allclose(x.std(), 0.6449**0.5, atol=0.08)
