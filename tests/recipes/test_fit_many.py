"""Many fits at once: each is the single fit, whatever stands beside it."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest

import opvi

STEPS = 25
KEY = jr.key(3)


def make(row: tuple[jax.Array, jax.Array]) -> opvi.AbstractTarget:
    """A Gamma-like law of two latents, skewed, with its own place and shape in every row."""
    place, shape = row

    def log_density(z: jax.Array) -> jax.Array:
        u = z - place
        return jnp.sum(shape * u - jnp.exp(u)) - 0.1 * u[0] * u[1]

    return opvi.from_log_density(log_density, jnp.zeros(2))


def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 2)), 1.0 + rng.random((n, 2))


def program(dim: int, *, key: jax.Array) -> opvi.SemiImplicitProgram:
    return opvi.SemiImplicitProgram(dim, key=key, width=4, depth=1)


STEIN = opvi.Objective(opvi.LangevinStein(), opvi.NeuralTestFunction(width=4, depth=1))
CASES = {
    "mean field, KL": (opvi.MeanField, opvi.Objective(opvi.KL()), opvi.PathGradient(draws=8)),
    "program, Langevin-Stein": (program, STEIN, opvi.FunctionalGradient(draws=8)),
}


def many(case: str, data, *, chunk: int, optimiser=opvi.adam(0.05, STEPS), target=make):
    family, objective, estimator = CASES[case]
    return opvi.fit_many(
        target,
        data,
        family,
        objective,
        key=KEY,
        steps=STEPS,
        estimator=estimator,
        optimiser=optimiser,
        test_function_optimiser=optimiser,
        critic_steps=2,
        chunk=chunk,
    )


def leaves(tree) -> list[np.ndarray]:
    return [
        np.asarray(x)
        for x in jax.tree_util.tree_leaves(eqx.filter(tree, eqx.is_inexact_array_like))
    ]


@pytest.mark.float64
@pytest.mark.parametrize("case", CASES)
def test_each_fit_is_the_single_fit_with_its_key(case: str) -> None:
    """Three fits in chunks of two: a whole chunk, and one filled up with a copy."""
    data, optimiser = rows(3), optax.sgd(0.05, momentum=0.5)  # optax.adam promotes dtypes
    posteriors = many(case, data, chunk=2, optimiser=optimiser)
    assert len(posteriors) == 3
    family, objective, estimator = CASES[case]
    for i in (0, 2):
        key = jr.fold_in(KEY, i)
        row = jax.tree_util.tree_map(lambda x, i=i: x[i], data)
        solver = opvi.MinMax(make(row), objective, estimator, optimiser, optimiser, 2)
        state = solver.init(family(2, key=jr.fold_in(key, 0)), key=jr.fold_in(key, 1))
        single = opvi.solve(solver, state, steps=STEPS)
        posterior = posteriors[i]
        assert posterior.result is opvi.Result.completed
        assert posterior.solution.gradient_evaluations == single.gradient_evaluations
        for got, expected in zip(leaves(posterior.family), leaves(single.family), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(
            posterior.history.objective, single.history.objective, rtol=1e-7, atol=1e-9
        )


def test_a_fit_that_diverges_is_named_and_disturbs_no_other() -> None:
    data = rows(4)
    broken = (data[0].copy(), data[1])
    broken[0][1] = np.nan

    def run(data):
        return opvi.fit_many(make, data, opvi.MeanField, key=KEY, steps=300, chunk=4)

    good, bad = run(data), run(broken)
    assert good.diverged == ()
    assert bad.diverged == (1,)
    assert bad[1].result is opvi.Result.diverged
    draws = bad.unconstrained(jr.key(1), 5)
    expected = good.unconstrained(jr.key(1), 5)
    assert np.all(np.isfinite(draws))
    for i in (0, 2, 3):
        np.testing.assert_array_equal(draws[i], expected[i])
    # It stands where it started: no step with a NaN was ever written.
    np.testing.assert_array_equal(bad[1].family.loc, np.zeros(2))


def test_chunks_share_one_trace_and_draws_do_not_depend_on_them() -> None:
    traces = []

    def counted(row):
        traces.append(1)
        return make(row)

    data = rows(6)
    one = many("mean field, KL", data, chunk=2, target=counted)
    after_three_chunks = len(traces)
    traces.clear()
    two = many("mean field, KL", (data[0][:2], data[1][:2]), chunk=2, target=counted)
    assert len(traces) <= after_three_chunks
    whole = many("mean field, KL", data, chunk=6)
    draws = one.unconstrained(jr.key(5), 7)
    assert draws.shape == (6, 7, 2)
    np.testing.assert_allclose(draws, whole.unconstrained(jr.key(5), 7), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(draws[:2], two.unconstrained(jr.key(5), 7), rtol=1e-4, atol=1e-5)
    # A single posterior with the key of its row draws the same.
    np.testing.assert_allclose(
        one[4].unconstrained(jr.fold_in(jr.key(5), 4), 7), draws[4], rtol=1e-5, atol=1e-6
    )
    np.testing.assert_array_equal(one.sample(jr.key(5), 7), draws)


def test_mistakes_are_explained() -> None:
    fit = partial(opvi.fit_many, key=KEY, steps=5)
    with pytest.raises(opvi.OpviError, match="share the length of their first axis"):
        fit(make, (np.zeros((3, 2)), np.zeros((2, 2))), opvi.MeanField)
    with pytest.raises(opvi.IncompatibleError, match="a function that makes the target of one row"):
        fit(lambda row: row[0], rows(2), opvi.MeanField)
    with pytest.raises(opvi.OpviError, match="at least one step"):
        fit(make, rows(2), opvi.MeanField, chunk=0)
    with pytest.raises(IndexError, match="fit 2 of 2"):
        many("mean field, KL", rows(2), chunk=2)[2]
