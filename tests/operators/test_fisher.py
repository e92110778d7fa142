"""The Fisher operator: closed form, the supremum it writes down, and what it is blind to."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import opvi
from tests.fixtures import skewed
from tests.operators.quadrature import normal_target, value


class ScoreDifference(opvi.AbstractTestFunction):
    """f* = grad log p - grad log q, for a q that can be differentiated."""

    family: opvi.AbstractTractableFamily

    def __call__(self, z: jax.Array, score: jax.Array) -> jax.Array:
        return score - jax.grad(self.family.log_prob)(z)


@pytest.mark.float64
def test_value_is_the_closed_form_of_two_gaussians() -> None:
    """s_p - s_q = -(z - mu) / sigma^2 + (z - m) / s^2, linear in eps = (z - m) / s."""
    m, s, mu, sigma = 0.7, 0.9, -0.2, 1.1
    target, _ = normal_target(mu, sigma, log_evidence=3.5)
    got = value(opvi.Objective(opvi.Fisher()), opvi.MeanField(1, loc=m, scale=s), target)
    expected = (1 / s - s / sigma**2) ** 2 + ((m - mu) / sigma**2) ** 2
    np.testing.assert_allclose(got, expected, rtol=1e-10)


@pytest.mark.float64
def test_it_is_langevin_stein_at_the_supremum_over_the_l2_ball() -> None:
    """2 E_q[O_LS f*] - E_q|f*|^2 = E_q|f*|^2, and any other f gives less."""
    target, q = skewed(1).target(), opvi.MeanField(1, loc=0.3, scale=0.8)
    fisher = value(opvi.Objective(opvi.Fisher()), q, target)
    stein = opvi.Objective(opvi.LangevinStein(opvi.Exact()))
    best = ScoreDifference(q)
    np.testing.assert_allclose(value(stein, q, target, best), fisher, rtol=1e-8)
    for seed in range(3):
        other = opvi.NeuralTestFunction(width=4, depth=1).init(1, key=jr.key(seed))
        noisy = _sum(best, other)
        assert value(stein, q, target, noisy) < fisher


def _sum(f: opvi.AbstractTestFunction, g: opvi.AbstractTestFunction) -> opvi.AbstractTestFunction:
    class Sum(opvi.AbstractTestFunction):
        f: opvi.AbstractTestFunction
        g: opvi.AbstractTestFunction

        def __call__(self, z: jax.Array, score: jax.Array) -> jax.Array:
            return self.f(z, score) + self.g(z, score)

    return Sum(f, g)


@pytest.mark.float64
def test_the_functional_gradient_along_it_is_the_path_gradient_of_kl() -> None:
    """-E[(dz/dlam)' f*] = E[(dz/dlam)' grad_z (log q - log p)], draw by draw."""
    target = skewed(2).target()
    q = opvi.FullRank(2, loc=0.2, scale_tril=jnp.asarray([[0.8, 0.0], [0.3, 1.1]]))
    stein, kl = opvi.Objective(opvi.LangevinStein()), opvi.Objective(opvi.KL())
    f = ScoreDifference(q)
    _, functional = opvi.FunctionalGradient(16).gradient(
        stein, f, q, opvi.estimators.sample_sets(jr.key(0), 16, stein, q, target)
    )
    # Langevin-Stein folds its key, for draws and probes; KL has one use for it. The same draws:
    same = jr.fold_in(jr.key(0), 0)
    _, path = opvi.PathGradient(16).gradient(
        kl, f, q, opvi.estimators.sample_sets(same, 16, kl, q, target)
    )
    for a, b in zip(jax.tree.leaves(functional), jax.tree.leaves(path), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.float64
def test_the_gradient_is_zero_draw_by_draw_at_the_posterior() -> None:
    target, _ = normal_target(1.3, 0.7)
    q = opvi.MeanField(1, loc=1.3, scale=0.7)
    objective = opvi.Objective(opvi.Fisher())
    sets = opvi.estimators.sample_sets(jr.key(0), 4, objective, q, target)
    f = objective.test_functions.init(1, key=jr.key(0))
    estimate, gradient = opvi.Reparameterised(4).gradient(objective, f, q, sets)
    np.testing.assert_allclose(estimate, 0.0, atol=1e-20)
    for leaf in jax.tree.leaves(eqx.filter(gradient, eqx.is_inexact_array)):
        np.testing.assert_allclose(leaf, 0.0, atol=1e-12)


@pytest.mark.float64
@pytest.mark.parametrize("weight", [0.5, 0.9])
def test_it_does_not_see_the_weights_of_separated_modes(weight: float) -> None:
    """The documented weakness: q on one mode has a Fisher divergence of zero, and a KL of -log weight."""

    def log_density(z: jax.Array) -> jax.Array:
        parts = [
            jnp.log(w) - 0.5 * jnp.sum((z - m) ** 2) - 0.5 * np.log(2 * np.pi)
            for w, m in ((weight, -15.0), (1 - weight, 15.0))
        ]
        return jax.nn.logsumexp(jnp.stack(parts))

    target = opvi.from_log_density(log_density, jnp.zeros(1))
    q = opvi.MeanField(1, loc=-15.0, scale=1.0)
    assert value(opvi.Objective(opvi.Fisher()), q, target) < 1e-12
    np.testing.assert_allclose(value(opvi.Objective(opvi.KL()), q, target), -np.log(weight))


def test_a_program_is_refused_and_told_what_to_do() -> None:
    with pytest.raises(opvi.IncompatibleError, match="L2Ball"):
        opvi.Objective(opvi.Fisher()).check(opvi.MLPProgram(2, key=jr.key(0)))


def test_its_hessian_vector_products_are_counted() -> None:
    assert opvi.Reparameterised(8).gradient_evaluations(opvi.Objective(opvi.Fisher())) == 8
    assert opvi.Reparameterised(8).gradient_evaluations(opvi.Objective(opvi.Renyi(0.5))) == 0
