"""Paired forms without bias where there are any, the bias where there are none, and what is refused."""

import itertools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy.stats import binom

import opvi
from opvi import Distance, PlugIn, Polynomial, Square
from opvi.estimators import SampleSet
from tests.fixtures import skewed
from tests.laws.catalogue import randomised
from tests.laws.reference import derivative, directions, dot, size

POLYNOMIALS = {
    "square": (lambda a: a**2, (0, 0, 1)),
    "twice": (lambda a: a * a + a**2, (0, 0, 2)),
    "quartic": (lambda a: (jnp.square(a) + 1) ** 2 - 1.0, (0, 0, 2, 0, 1)),
    "lopsided": (lambda a: a**2 * (1 + 0.3 * a) ** 2 / 3, (0, 0, 1 / 3, 0.2, 0.03)),
    "nested": (jax.jit(lambda a: -(-2 * jax.jit(jnp.square)(a)) + a**6), (0, 0, 2, 0, 0, 0, 1)),
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_the_paired_form_is_derived_and_unbiased(name: str) -> None:
    """E over all samples from three atoms is t(E[h]), and so for the gradient, to rounding."""
    t, coefficients = POLYNOMIALS[name]
    distance = Distance(t)
    assert isinstance(distance, Square) == (name == "square")
    if isinstance(distance, Polynomial):
        np.testing.assert_allclose(distance.coefficients, coefficients, rtol=1e-12, atol=1e-15)
    assert distance.sets == len(coefficients) - 1
    with jax.enable_x64(True):
        atoms = jnp.asarray([-0.4, 0.3, 1.1])
        chosen = np.asarray(list(itertools.product(range(3), repeat=distance.sets)))

        def expectation(x: jax.Array) -> jax.Array:
            sets = (x * atoms + x**2)[chosen]
            pooled = jax.vmap(jax.vmap(lambda h: distance.pool(h[None])))(sets)
            return jnp.mean(jax.vmap(lambda a: distance.paired(*a))(pooled))

        exact = lambda x: t(jnp.mean(x * atoms + x**2))
        x = jnp.asarray(0.9)
        found, slope = jax.jit(jax.value_and_grad(expectation))(x)
        expected, exact_slope = jax.jit(jax.value_and_grad(exact))(x)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        np.testing.assert_allclose(slope, exact_slope, rtol=1e-11)
        np.testing.assert_allclose(distance(x), t(x), rtol=1e-12)


def test_the_plug_in_has_the_bias_it_says() -> None:
    """Over all samples of n from two atoms: n times the bias tends to t'' Var / 2."""
    with jax.enable_x64(True):
        t = lambda a: jnp.sqrt(1 + a**2) - 1
        distance, atoms = PlugIn(t), np.asarray([0.2, 0.8])
        a = jnp.mean(atoms)
        limit = jax.grad(jax.grad(t))(a) * np.var(atoms) / 2
        found = []
        for n in (4, 16, 64):
            k = np.arange(n + 1)
            means = jnp.asarray((k * atoms[1] + (n - k) * atoms[0]) / n)
            value = jax.vmap(lambda m: distance.paired(distance.pool(m[None])))(means)
            found.append(n * (jnp.sum(binom.pmf(k, n, 0.5) * value) - distance(a)))
        errors = np.abs(np.asarray(found) / limit - 1)
        assert errors[-1] < 1e-3
        assert np.all(errors[1:] < errors[:-1] / 3)


@pytest.mark.float64
def test_the_gradient_of_an_objective_with_a_quartic_distance() -> None:
    """Four sets: the mean over all ways to fill them is the gradient of t(E_q[O f])."""
    target, q = skewed(2).target(), opvi.MeanField(2)
    functions = opvi.NeuralTestFunction(width=4, depth=1, ball=opvi.BoundedNorm(1.0))
    t = lambda a: a**2 + 0.5 * a**4
    objective = opvi.Objective(opvi.LangevinStein(opvi.Exact()), functions, Distance(t))
    f = randomised(functions.init(2, key=jr.key(0)), jr.key(1))
    assert isinstance(f, opvi.AbstractTestFunction)
    estimator = opvi.Reparameterised(4)
    estimator.check(objective, q)
    eps, keys = q.noise(jr.key(2), 2), jr.split(jr.key(3), 2)
    chosen = jnp.asarray(list(itertools.product(range(2), repeat=4)))

    def draws_of(q, eps) -> opvi.Draw:
        z = jax.vmap(q.transform)(eps)
        return opvi.Draw(z=z, eps=eps, seen=jax.vmap(target.score)(z), key=keys[: len(z)])

    @jax.jit
    def gradient(eps):
        def one(indices):
            sets = (SampleSet(draws_of(q, eps[i][None]), target) for i in indices)
            return estimator.gradient(objective, f, q, tuple(sets))

        return jax.tree_util.tree_map(lambda x: jnp.mean(x, 0), jax.vmap(one)(chosen))

    def exact(q) -> jax.Array:
        draws = draws_of(q, eps)
        one = lambda d: objective.integrand(f, d, target=target, family=q)
        return t(jnp.mean(jax.vmap(one)(draws)))

    value, along_lambda = gradient(eps)
    along = directions(q, jr.key(4), 3)
    expected, slopes, along = jax.jit(lambda q, v: derivative(exact, q, v))(q, along)
    np.testing.assert_allclose(value, expected, rtol=1e-9)
    measured = jax.vmap(lambda v: dot(along_lambda, v))(along)
    assert jnp.max(jnp.abs(measured - slopes)) < 1e-6 * (1 + size(along_lambda))
    assert size(along_lambda) > 1e-3


@pytest.mark.parametrize(
    ("t", "operation"),
    [
        (jnp.abs, "abs"),
        (lambda a: jnp.expm1(a**2), "expm1"),
        (lambda a: jnp.where(a > 0, a, -a), "gt"),
        (lambda a: a**2 / (1 + a**2), "div"),
        (lambda a: jnp.stack([a, a]), "one number"),
    ],
)
def test_what_has_no_paired_form_is_refused_with_the_reason(t, operation: str) -> None:
    with pytest.raises(opvi.OpviError, match=rf"without bias[\s\S]*{operation}[\s\S]*PlugIn"):
        Distance(t)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Distance(lambda a: a**3), r"t\(a\) >= 0[\s\S]*t\(-"),
        (lambda: Distance(lambda a: a), r"t\(a\) >= 0"),
        (lambda: Distance(lambda a: a**2 + 1), r"t\(0\) = 0[\s\S]*t\(0\) = 1|t\(-"),
        (lambda: Polynomial((0.0, 0.0, -1.0)), r"t\(a\) >= 0"),
        (lambda: Polynomial((0.0,)), "not constant"),
        (lambda: PlugIn(lambda a: jnp.exp(a)), r"t\(0\) = 0"),
        (lambda: PlugIn(lambda a: jnp.log(a)), r"t\(a\) >= 0"),
        (lambda: opvi.Objective(opvi.KL(), None, Distance(lambda a: a**4)), "identity distance"),
        (
            lambda: opvi.Objective(opvi.LangevinStein(), None, Distance(lambda a: a**4)),
            r"Square\(\)[\s\S]*BoundedNorm",
        ),
    ],
)
def test_bad_input(make, message: str) -> None:
    with pytest.raises(opvi.OpviError, match=message):
        make()
