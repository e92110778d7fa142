"""What is not finite: skipped, counted, never written; and a run that cannot go on says so."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest

import opvi
from tests.laws.reference import leaves


def minmax(log_density, optimiser: optax.GradientTransformation, objective=None, draws: int = 4):
    target = opvi.from_log_density(log_density, jnp.zeros(1))
    objective = opvi.Objective(opvi.KL()) if objective is None else objective
    estimator = opvi.Reparameterised(draws)
    return opvi.MinMax(target, objective, estimator, optimiser, optax.adam(1e-2), critic_steps=2)


def sometimes_nan(z: jax.Array) -> jax.Array:
    """A standard normal that is NaN beyond 1.2: some draws of N(0, 1) see it."""
    return jnp.where(jnp.abs(z[0]) < 1.2, -0.5 * z[0] ** 2, jnp.nan)


def test_a_bad_step_is_skipped_counted_and_leaves_no_mark() -> None:
    solver = minmax(sometimes_nan, optax.adam(1e-2))
    state, step = solver.init(opvi.MeanField(1), key=jr.key(0)), eqx.filter_jit(solver.step)
    skipped = []
    for i in range(20):
        new, info = step(state, jr.fold_in(jr.key(1), i))
        skipped.append(bool(info.skipped))
        before = leaves((state.family, state.family_optimiser))
        after = leaves((new.family, new.family_optimiser))
        same = all(bool(jnp.all(a == b)) for a, b in zip(before, after, strict=True))
        assert same == skipped[-1]
        assert all(bool(jnp.all(jnp.isfinite(x))) for x in after)
        assert int(new.step) == int(state.step) + 1
        state = new
    assert 0 < sum(skipped) < 20
    # The loop sees the same, and counts it.
    solution = opvi.solve(solver, solver.init(opvi.MeanField(1), key=jr.key(0)), steps=100)
    assert solution.result is opvi.Result.completed
    assert solution.skipped == solution.history.skipped.sum() > 0
    assert all(bool(jnp.all(jnp.isfinite(x))) for x in leaves(solution.state))


def test_a_bad_step_of_the_test_function_is_counted_on_its_own() -> None:
    objective = opvi.Objective(opvi.LangevinStein(), opvi.LinearTestFunction())
    # Langevin-Stein sees the score alone: sqrt has none where it is not real.
    solver = minmax(lambda z: jnp.sqrt(1.44 - z[0] ** 2), optax.adam(1e-2), objective)
    solution = opvi.solve(solver, solver.init(opvi.MeanField(1), key=jr.key(0)), steps=60)
    counted = solution.history.test_function_skipped
    assert 0 < counted.sum() < 120
    assert counted.max() <= 2
    assert all(bool(jnp.all(jnp.isfinite(x))) for x in leaves(solution.test_function))


def test_a_finite_gradient_with_an_infinite_update_is_not_written() -> None:
    """The optimiser's own arithmetic can overflow where the gradient is finite."""
    solver = minmax(lambda z: -0.5 * jnp.sum(z**2), optax.scale(3e38))
    state = solver.init(opvi.MeanField(1, loc=100.0), key=jr.key(0))
    new, info = solver.step(state, jr.key(1))
    assert bool(info.skipped)
    for a, b in zip(leaves(state.family), leaves(new.family), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("rate", [1e3, 1e30])
def test_a_run_that_diverges_ends_with_the_last_finite_state(rate: float) -> None:
    """Steps of a size that no fit survives: scales overflow, and then every gradient is NaN."""
    solver = minmax(lambda z: -0.25 * jnp.sum(z**4), optax.sgd(rate))
    state = solver.init(opvi.MeanField(1, loc=2.0), key=jr.key(0))
    solution = opvi.solve(solver, state, steps=5000)
    assert solution.result is opvi.Result.diverged
    assert "Diverged" in solution.result.value
    assert len(solution.history.objective) < 5000
    draws = solution.family.sample(jr.key(2), 1000)
    assert bool(jnp.all(jnp.isfinite(draws)))
    assert all(bool(jnp.all(jnp.isfinite(x))) for x in leaves(solution.family))


def test_a_target_that_turns_nan_ends_the_run() -> None:
    """From some temperature on every gradient is NaN: HOPELESS steps later the run is over."""
    target = opvi.from_log_density(lambda z: -0.5 * jnp.sum(z**2), jnp.zeros(1))
    solver = opvi.MinMax(
        target,
        opvi.Objective(opvi.KL()),
        opvi.Reparameterised(4),
        optax.adam(1e-2),
        optax.adam(1e-2),
        temperature=lambda step: jnp.where(step < 20, 1.0, jnp.nan),
    )
    state = solver.init(opvi.MeanField(1), key=jr.key(0))
    solution = opvi.solve(solver, state, steps=5000)
    assert solution.result is opvi.Result.diverged
    good = opvi.solve(solver, state, steps=5000, until=20)
    assert good.result is opvi.Result.completed
    assert not np.any(solution.history.skipped[:20])
    assert np.all(solution.history.skipped[20:])
    assert all(bool(jnp.all(jnp.isfinite(x))) for x in leaves(solution.family))
