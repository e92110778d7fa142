"""A program with learned weights: the expectation and its gradient are exact over the labels."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import opvi
from opvi.estimators import SampleSet
from tests.fixtures import skewed
from tests.laws.catalogue import randomised
from tests.laws.reference import derivative, directions, dot, size

WEIGHTS = (0.15, 0.6, 0.25)


def program(dim: int = 2) -> opvi.WeightedProgram:
    q = opvi.WeightedProgram(
        dim, key=jr.key(0), components=3, weights=WEIGHTS, width=4, depth=1, activation=jnp.tanh
    )
    return randomised(q, jr.key(1), 0.2)


def every_label(q: opvi.WeightedProgram, atoms: int):
    """The noise of `atoms` atoms with each of the labels, every pair once."""
    eps, labels = q.noise(jr.key(2), atoms), jnp.arange(3)
    pairs = jax.tree.map(lambda x: jnp.repeat(x, 3, axis=0), eps)
    share = jnp.full((3 * atoms,), -jnp.log(3.0))
    return eqx.tree_at(lambda e: (e.label, e.log_share), pairs, (jnp.tile(labels, atoms), share))


@pytest.mark.float64
def test_the_gradient_is_exact_in_the_weights_and_in_all_else() -> None:
    """E_q[h] = sum_k w_k mean over atoms of h(R(eps, k)), differentiated without the package."""
    q, known = program(), skewed(2)
    target = known.target()
    objective = opvi.Objective(opvi.LangevinStein(), opvi.LinearTestFunction())
    f = randomised(objective.test_functions.init(2, key=jr.key(3)), jr.key(4))
    atoms = 3
    eps = every_label(q, atoms)
    z = jax.vmap(q.transform)(eps)
    draws = opvi.Draw(
        z=z,
        eps=eps,
        seen=jax.vmap(target.score)(z),
        key=jr.split(jr.key(5), 3 * atoms),
        weight=jax.vmap(q.weight)(eps),
    )
    estimator = opvi.Reparameterised(3 * atoms)
    sets = (SampleSet(draws, target),)
    value, gradient = eqx.filter_jit(estimator.gradient)(objective, f, q, sets)

    @eqx.filter_jit
    def exact(q):
        weights = jnp.exp(q.logits) / jnp.sum(jnp.exp(q.logits))

        def one(e):
            z = q.transform(e)
            score = jax.grad(known.log_density)(z)
            of = score @ f(z, score) + f(z, score) @ (e.xi / jnp.exp(q.log_scales[e.label]))
            return weights[e.label] * (2.0 * of - jnp.sum(f(z, score) ** 2))

        return jnp.sum(jax.vmap(one)(eps)) / atoms

    known_value, slopes, along = derivative(exact, q, directions(q, jr.key(6), 4))
    assert abs(value - known_value) < 1e-10 * (1 + abs(known_value))
    measured = jax.vmap(lambda v: dot(gradient, v))(along)
    assert jnp.max(jnp.abs(measured - slopes)) < 1e-6 * (1 + size(gradient))
    assert jnp.max(jnp.abs(gradient.logits)) > 1e-3


@pytest.mark.float64
def test_score_given_noise_and_label() -> None:
    q = program()
    eps = q.noise(jr.key(7), 16)

    def log_q(z, e):
        centre = q.transform(eqx.tree_at(lambda e: e.xi, e, jnp.zeros_like(e.xi)))
        return jnp.sum(jax.scipy.stats.norm.logpdf(z, centre, jnp.exp(q.log_scales[e.label])))

    exact = jax.vmap(jax.grad(log_q))(jax.vmap(q.transform)(eps), eps)
    np.testing.assert_allclose(jax.vmap(q.conditional_score)(eps), exact, rtol=1e-9, atol=1e-9)


def test_labels_come_from_the_weights_and_strata_in_equal_shares() -> None:
    q, n = program(), 30_000
    weights = np.exp(np.asarray(q.log_weights))
    plain, equal = q.noise(jr.key(8), n), q.strata(jr.key(8), n)
    shares = np.bincount(np.asarray(plain.label), minlength=3) / n
    assert np.max(np.abs(shares - weights)) < 4 * 0.5 / n**0.5
    np.testing.assert_allclose(jax.vmap(q.weight)(plain), 1.0, rtol=1e-5)
    np.testing.assert_array_equal(np.bincount(np.asarray(equal.label)), n // 3)
    np.testing.assert_allclose(jax.vmap(q.weight)(equal), 3 * weights[equal.label], rtol=1e-5)
    # Both are draws of one law.
    mean = jnp.mean(jax.vmap(q.weight)(equal)[:, None] * jax.vmap(q.transform)(equal), axis=0)
    np.testing.assert_allclose(mean, jnp.mean(jax.vmap(q.transform)(plain), axis=0), atol=0.05)


def test_it_starts_with_variance_one() -> None:
    @jax.jit
    @jax.vmap
    def second_moment(key):
        q = opvi.WeightedProgram(2, key=key, components=8, width=4, depth=1)
        return jnp.mean(q.sample(jr.fold_in(key, 1), 500) ** 2)

    assert abs(jnp.mean(second_moment(jr.split(jr.key(0), 400))) - 1.0) < 0.05


def test_a_small_fit_learns_the_weights_of_modes_that_touch() -> None:
    """.25 N(-1.2, .6^2) + .75 N(1.2, .6^2): the scores differ between the modes, so they can be seen."""

    def log_density(z):
        left, right = (-0.5 * ((z[0] - m) / 0.6) ** 2 for m in (-1.2, 1.2))
        return jnp.logaddexp(jnp.log(0.25) + left, jnp.log(0.75) + right)

    posterior = opvi.fit(
        opvi.from_log_density(log_density, jnp.zeros(1)),
        opvi.WeightedProgram(1, key=jr.key(3), width=8, depth=1),
        opvi.Objective(opvi.LangevinStein(), opvi.NeuralTestFunction(width=8)),
        estimator=opvi.Reparameterised(64),
        key=jr.key(4),
        steps=800,
        learning_rate=1e-2,
        progress=False,
    )
    draws = np.asarray(posterior.family.sample(jr.key(5), 50_000))
    assert abs(np.mean(draws < 0) - 0.2614) < 0.05  # with the tail of each across zero
    assert abs(np.mean(draws) - 0.6) < 0.1
    assert abs(np.std(draws) - 1.1996) < 0.1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"components": 0}, "at least one component"),
        ({"spread": 0.9, "noise_scale": 0.9}, r"spread\^2 \+ noise_scale\^2 <= 1"),
        ({"weights": [0.5, 0.3, 0.2]}, "2 positive weights"),
        ({"weights": [1.0, 0.0]}, "2 positive weights"),
    ],
)
def test_bad_arguments(wrong: dict, message: str) -> None:
    with pytest.raises(opvi.OpviError, match=message):
        opvi.WeightedProgram(2, key=jr.key(0), **wrong)
    with pytest.raises(opvi.IncompatibleError, match="Reparameterised"):
        opvi.FunctionalGradient(64).check(opvi.Objective(opvi.LangevinStein()), program())
