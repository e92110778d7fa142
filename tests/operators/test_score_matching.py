"""Score matching is a member of the class (paper, related work): docs/score-matching.md, held to it."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import opvi
from opvi.learning import ScoreMatching
from tests.fixtures import gaussian, skewed
from tests.operators.quadrature import normal_target, value

pytestmark = pytest.mark.float64


class Score(opvi.AbstractTestFunction):
    """f = grad log p."""

    def __call__(self, z: jax.Array, score: jax.Array) -> jax.Array:
        return score


OBJECTIVE = opvi.Objective(opvi.LangevinStein(opvi.Exact()), opvi.NeuralTestFunction())


def test_it_is_langevin_stein_at_the_score_draw_by_draw() -> None:
    """2 (O f)(x) - |f(x)|^2 at f = grad log p is |grad log p|^2 + 2 laplacian log p."""
    known, q = skewed(3), opvi.MeanField(3)
    target = known.target()

    def here(x: jax.Array) -> jax.Array:
        draw = opvi.Draw(z=x, eps=None, seen=target.score(x), key=jr.key(0))
        return OBJECTIVE.integrand(Score(), draw, target=target, family=q)

    def hyvarinen(x: jax.Array) -> jax.Array:
        hessian = jax.hessian(known.log_density)(x)
        return jnp.sum(jax.grad(known.log_density)(x) ** 2) + 2 * jnp.trace(hessian)

    x = known.sample(jr.key(0), 20) + 0.3
    expected = jax.jit(jax.vmap(hyvarinen))(x)
    np.testing.assert_allclose(jax.jit(jax.vmap(here))(x), expected, rtol=1e-10)
    both = jax.jit(jax.vmap(lambda x: ScoreMatching()(target, x)))
    np.testing.assert_allclose(both(x), expected, rtol=1e-10)
    assert jnp.std(expected) > 0.1


def test_it_is_the_supremum_less_a_constant() -> None:
    """sup_f = Fisher divergence = score matching + E_q|grad log q|^2, for every model p."""
    q = opvi.MeanField(1, loc=0.4, scale=0.8)
    found = []
    for mean, sd in ((0.4, 0.8), (-0.3, 1.5), (1.0, 0.5)):
        target, _ = normal_target(mean, sd, log_evidence=3.0)
        supremum = value(opvi.Objective(opvi.Fisher()), q, target)
        matching = value(OBJECTIVE, q, target, Score())
        found.append(matching)
        np.testing.assert_allclose(supremum - matching, 1 / 0.8**2, rtol=1e-10)
    assert np.argmin(found) == 0


def test_its_minimum_over_gaussians_is_at_the_moments_of_the_data() -> None:
    """Without any normaliser: mean and covariance of the rows, to rounding, from the gradient alone."""
    data = skewed(2).sample(jr.key(0), 200)
    mean, covariance = jnp.mean(data, 0), jnp.cov(data, rowvar=False, ddof=0)

    def loss(mean: jax.Array, precision: jax.Array) -> jax.Array:
        log_density = lambda x: -0.5 * (x - mean) @ precision @ (x - mean)
        target = opvi.from_log_density(log_density, jnp.zeros(2))
        return jnp.mean(jax.vmap(lambda x: ScoreMatching()(target, x))(data))

    slope = jax.jit(jax.grad(loss, (0, 1)))
    there = slope(mean, jnp.linalg.inv(covariance))
    for gradient in there:
        np.testing.assert_allclose(gradient, 0.0, atol=1e-9)
    assert max(jnp.max(jnp.abs(g)) for g in slope(mean + 0.1, jnp.eye(2))) > 0.1


def test_kernel_stein_discrepancy_has_the_same_minimum_on_the_model() -> None:
    """On draws of a Gaussian the right mean beats others under both, and both say so without log q."""
    known = gaussian(1)
    data, q = known.sample(jr.key(0), 2000), opvi.MeanField(1)
    ball = opvi.KernelBall(opvi.IMQ())

    def values(shift: jax.Array) -> tuple[jax.Array, jax.Array]:
        target = opvi.from_log_density(lambda x: known.log_density(x - shift), jnp.zeros(1))
        score = jax.vmap(target.score)(data)
        draws = opvi.Draw(z=data, eps=None, seen=score, key=jr.split(jr.key(0), len(data)))
        matching = jnp.mean(jax.vmap(lambda x: ScoreMatching()(target, x))(data))
        return matching, ball.supremum(opvi.LangevinStein(), q, (target,), (draws,))

    matching, ksd = jax.jit(jax.vmap(values))(jnp.asarray([0.0, 0.5, -0.5]))
    assert np.argmin(matching) == 0
    assert np.argmin(ksd) == 0
