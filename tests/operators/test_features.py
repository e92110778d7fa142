"""Closed-form features: the ridge solve is the supremum, and its limits are KL and Fisher."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy.optimize import minimize

import opvi
from opvi import (
    Features,
    LinearFeatures,
    RandomFeatures,
    TwoBatches,
    UStatistic,
    VStatistic,
)
from opvi.estimators import SampleSet
from opvi.operators import AbstractOperator
from tests.fixtures import banana, gaussian, skewed, sliced_w1
from tests.laws.reference import derivative, directions, dot, size
from tests.operators.quadrature import hermite, normal_target

EXACT = opvi.LangevinStein(opvi.Exact())


def draws_of(q, eps, target: opvi.AbstractTarget, weight=None) -> opvi.Draw:
    z = jax.vmap(q.transform)(eps)
    n = z.shape[0]
    seen = jax.vmap(target.score)(z)
    return opvi.Draw(z=z, eps=eps, seen=seen, key=jr.split(jr.key(0), n), weight=weight)


class Span(opvi.AbstractTestFunction):
    weight: jax.Array
    features: opvi.AbstractFeatureMap = eqx.field(static=True)

    def __call__(self, z: jax.Array, score: jax.Array) -> jax.Array:
        return self.features(z, 1.1) @ self.weight


@pytest.mark.float64
@pytest.mark.parametrize(
    "operator",
    [EXACT, opvi.DiffusionStein(lambda z: jnp.diag(1 + z**2), opvi.DivergenceFree())],
    ids=["LangevinStein", "DiffusionStein"],
)
def test_the_ridge_solve_is_the_supremum(operator: AbstractOperator) -> None:
    """Against BFGS on 2 E[O f] - E|f|^2 - ridge sum_k G_kk |W_k|^2 over the same draws."""
    features, ridge = RandomFeatures(waves=4, scale=1.1), 0.05
    target, q = skewed(2).target(), opvi.FullRank(2, loc=0.3)
    objective = opvi.Objective(operator, Features(features, ridge, VStatistic()))
    k = 7

    @jax.jit
    def prepare(eps: jax.Array):
        draws = draws_of(q, eps, target)
        closed = objective.test_functions
        assert isinstance(closed, Features)
        return (
            draws,
            closed.supremum(operator, q, (target,), (draws,)),
            closed.maximisers(operator, q, (target,), (draws,))[0],
        )

    draws, supremum, best = prepare(q.noise(jr.key(0), 40))

    @jax.jit
    @jax.value_and_grad
    def loss(flat: jax.Array) -> jax.Array:
        f = Span(flat.reshape(k, 2), features)
        one = lambda d: objective.integrand(f, d, target=target, family=q)
        phi = jax.vmap(lambda z: features(z, 1.1))(draws.z)
        penalty = jnp.sum(jnp.mean(phi**2, 0) * jnp.sum(f.weight**2, 1))
        return ridge * penalty - jnp.mean(jax.vmap(one)(draws))

    found = minimize(loss, np.zeros(2 * k), jac=True, method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(-found.fun, supremum, rtol=1e-9)
    np.testing.assert_allclose(found.x.reshape(k, 2), best.weight, atol=1e-6)
    assert supremum > 0.1


@pytest.mark.float64
def test_linear_features_and_a_gaussian_are_kl() -> None:
    """On the same draws, the push along the regression is the gradient of KL with its exact entropy.

    grad_lambda [-mean log p(mu + L eps_i) - log det L], to rounding: dz/dlambda is affine in z, and what
    the regression leaves of grad log p - grad log q is orthogonal to every affine function.
    """
    target, q = skewed(3).target(), opvi.FullRank(3, loc=0.2, scale_tril=0.7)
    objective = opvi.Objective(EXACT, Features(LinearFeatures(), 0.0, VStatistic()))
    f = objective.test_functions.init(3, key=jr.key(0))

    @eqx.filter_jit
    def both(q: opvi.FullRank, eps: jax.Array):
        sample = SampleSet(draws_of(q, eps, target), target)
        _, pushed = opvi.FunctionalGradient(20).gradient(objective, f, q, (sample,))

        def kl(q: opvi.FullRank) -> jax.Array:
            log_p = jax.vmap(lambda e: target.log_density(q.transform(e)))(eps)
            return -jnp.mean(log_p) - jnp.sum(q.log_diagonal)

        return pushed, eqx.filter_grad(kl)(q)

    pushed, of_kl = both(q, q.noise(jr.key(0), 20))
    for a, b in zip(
        jax.tree_util.tree_leaves(pushed), jax.tree_util.tree_leaves(of_kl), strict=True
    ):
        np.testing.assert_allclose(jnp.tril(a) if a.ndim == 2 else a, b, atol=1e-10)
        assert jnp.max(jnp.abs(b)) > 1e-2


@pytest.mark.float64
def test_linear_features_see_all_of_two_gaussians() -> None:
    """f* = grad log p - grad log q is affine, so the value is the Fisher divergence, without noise."""
    target, _ = normal_target(-0.3, 1.4)
    q = opvi.MeanField(1, loc=0.5, scale=0.8)
    eps, weight = hermite(30)
    closed = Features(LinearFeatures(), 0.0, VStatistic())

    @jax.jit
    def supremum(eps: jax.Array) -> jax.Array:
        return closed.supremum(EXACT, q, (target,), (draws_of(q, eps, target, weight),))

    value = supremum(eps)
    slope = 1 / 0.8**2 - 1 / 1.4**2
    exact = (slope * 0.8) ** 2 + ((0.5 + 0.3) / 1.4**2) ** 2
    np.testing.assert_allclose(value, exact, rtol=1e-10)


@pytest.mark.float64
def test_the_gradient_against_the_exact_one() -> None:
    """On one enumerated set the value is a function of lambda: Cholesky factor, weights and all."""
    target = skewed(2).target()
    q = opvi.SemiImplicitProgram(2, key=jr.key(0), noise_dim=1, width=3, depth=1)
    operator = opvi.LangevinStein()
    closed = Features(RandomFeatures(waves=3, scale=1.0), 0.1)
    objective = opvi.Objective(operator, closed)
    eps = q.noise(jr.key(1), 8)

    def value(q) -> jax.Array:
        return closed.supremum(operator, q, (target,), (draws_of(q, eps, target),))

    def gradient(q):
        sample = SampleSet(draws_of(q, eps, target), target)
        f = closed.init(2, key=jr.key(0))
        return opvi.Reparameterised(8).gradient(objective, f, q, (sample,))

    got, along_lambda = eqx.filter_jit(gradient)(q)
    expected, slopes, along = eqx.filter_jit(derivative)(value, q, directions(q, jr.key(2), 3))
    np.testing.assert_allclose(got, expected, rtol=1e-9)
    measured = jax.vmap(lambda v: dot(along_lambda, v))(along)
    assert jnp.max(jnp.abs(measured - slopes)) < 1e-6 * (1 + size(along_lambda))
    assert size(along_lambda) > 1e-2


@pytest.mark.float64
def test_how_biased_the_statistics_are_under_the_posterior() -> None:
    """Over 1,000 samples of draws of p: of order 1/n (plug-in), of order 1/n^2 (pairs), none (batches)."""
    known, q, repeats = gaussian(2), opvi.FullRank(2), 1000
    target = known.target()

    def values(statistic: opvi.AbstractStatistic, n: int) -> np.ndarray:
        closed = Features(RandomFeatures(waves=5, scale=2.0), 1e-2, statistic)

        def one(key: jax.Array) -> jax.Array:
            z, keys = known.sample(key, n * closed.sets).reshape(-1, n, 2), jr.split(key, n)
            see = jax.vmap(target.score)
            sets = tuple(opvi.Draw(z=x, eps=None, seen=see(x), key=keys) for x in z)
            return closed.supremum(EXACT, q, (target,) * closed.sets, sets)

        return np.asarray(jax.jit(jax.vmap(one))(jr.split(jr.key(0), repeats)))

    plug_in, pairs = (
        [values(s, n).mean() for n in (25, 100)] for s in (VStatistic(), UStatistic())
    )
    assert 0.15 < plug_in[1] / plug_in[0] < 0.35
    assert pairs[0] > 0.05
    assert pairs[1] < pairs[0] / 8
    batches = values(TwoBatches(), 25)
    assert abs(batches.mean()) < 5 * batches.std() / repeats**0.5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Features(ridge=-1e-3), r"ridge of 0 or more[\s\S]*ridge=1e-3"),
        (lambda: RandomFeatures(waves=0), r"one wave[\s\S]*LinearFeatures"),
        (lambda: RandomFeatures(scale=0.0), r"length scale above 0"),
        (lambda: opvi.Objective(opvi.KL(), Features()), "no test functions"),
    ],
)
def test_bad_input(make, message: str) -> None:
    with pytest.raises(opvi.OpviError, match=message):
        make()


def test_a_mixture_takes_two_batches() -> None:
    mixture = opvi.FullRankMixture(2, key=jr.key(0), components=2)
    with pytest.raises(opvi.IncompatibleError, match=r"two batches[\s\S]*TwoBatches\(\)"):
        opvi.Objective(EXACT, Features()).check(mixture)


def test_a_fit_of_a_banana() -> None:
    """Random waves; a Gaussian fitted by KL is .22 away."""
    known = banana()
    posterior = opvi.fit(
        known.target(),
        opvi.SemiImplicitProgram,
        opvi.Objective(opvi.LangevinStein(), Features(RandomFeatures(waves=20))),
        key=jr.key(0),
        steps=500,
        estimator=opvi.Reparameterised(128),
        progress=False,
    )
    assert not posterior.history.skipped.any()
    draws = posterior.family.sample(jr.key(1), 5000)
    assert sliced_w1(draws, known.sample(jr.key(2), 5000)) < 0.1
