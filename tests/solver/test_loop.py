"""The loop: one trace, the same numbers however it is cut, and an end that says how it came."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest

import opvi
from tests.fixtures import skewed
from tests.laws.reference import leaves

STEPS = 30
TARGET = skewed(2).target()
OBJECTIVE = opvi.Objective(opvi.LangevinStein(), opvi.LinearTestFunction())
BETA = opvi.linear_annealing(STEPS, start=0.2)


def make_solver(target: opvi.AbstractTarget = TARGET, **kwargs) -> opvi.MinMax:
    return opvi.MinMax(
        target,
        OBJECTIVE,
        opvi.FunctionalGradient(16),
        opvi.adam(1e-2, STEPS),
        opvi.adam(1e-2, 2 * STEPS),
        critic_steps=2,
        **kwargs,
    )


@pytest.fixture(scope="module")
def solver() -> opvi.MinMax:
    return make_solver(temperature=BETA)


def start(solver: opvi.MinMax) -> opvi.State:
    return solver.init(opvi.MeanField(2, loc=1.0), key=jr.key(0))


@pytest.fixture(scope="module")
def whole(solver: opvi.MinMax) -> opvi.Solution:
    return opvi.solve(solver, start(solver), steps=STEPS)


def assert_same(a: opvi.State, b: opvi.State) -> None:
    """Every number of the two states, the optimisers' included, to the last bit."""
    arrays = [jax.tree_util.tree_leaves(eqx.filter(s, eqx.is_array)) for s in (a, b)]
    for x, y in zip(*arrays, strict=True):
        if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
            x, y = jr.key_data(x), jr.key_data(y)
        np.testing.assert_array_equal(x, y)


class Watching(opvi.AbstractProgress):
    """A bar that writes down what it is told, and can press Ctrl-C."""

    def __init__(self, interrupt_after: int | None = None):
        self.seen, self.after, self.closed = [], interrupt_after, 0

    def start(self, steps: int, done: int) -> None:
        self.seen.append((steps, done))

    def update(self, done: int, objective: float, skipped: int) -> None:
        self.seen.append((done, objective, skipped))
        if self.after is not None and done >= self.after:
            raise KeyboardInterrupt

    def close(self) -> None:
        self.closed += 1


def test_history_and_result_of_a_run(solver, whole) -> None:
    assert whole.result is opvi.Result.completed
    assert int(whole.state.step) == STEPS
    assert whole.history.objective.shape == whole.history.skipped.shape == (STEPS,)
    assert np.all(np.isfinite(whole.history.objective))
    assert len(np.unique(whole.history.objective)) == STEPS
    assert whole.skipped == 0
    # 16 scores for each of two critic steps and one of q.
    assert whole.gradient_evaluations == STEPS * 3 * 16
    before, after = leaves(start(solver).family), leaves(whole.family)
    moved = [bool(jnp.any(a != b)) for a, b in zip(before, after, strict=True)]
    assert all(moved)


@pytest.mark.parametrize("pauses", [(1,), (13,), (7, 8, 29)])
def test_a_continued_run_is_the_uninterrupted_one(solver, whole, pauses: tuple[int, ...]) -> None:
    state, objective = start(solver), []
    for until in (*pauses, STEPS):
        part = opvi.solve(solver, state, steps=STEPS, until=until)
        assert int(part.state.step) == until
        state, objective = part.state, [*objective, part.history.objective]
    assert_same(state, whole.state)
    np.testing.assert_array_equal(np.concatenate(objective), whole.history.objective)


def test_the_loop_is_its_steps_by_hand(solver, whole) -> None:
    """`step` in a Python loop, jitted alone: the loop adds nothing but speed."""
    state, step = start(solver), eqx.filter_jit(solver.step)
    for i in range(3):
        state, info = step(state, jr.fold_in(state.key, i))
        np.testing.assert_allclose(info.objective, whole.history.objective[i], rtol=1e-5)


def test_progress_changes_no_number(solver, whole) -> None:
    bar = Watching()
    seen = opvi.solve(solver, start(solver), steps=STEPS, progress=bar)
    assert_same(seen.state, whole.state)
    np.testing.assert_array_equal(seen.history.objective, whole.history.objective)
    assert bar.seen[0] == (STEPS, 0)
    assert bar.seen[-1] == (STEPS, pytest.approx(whole.history.objective[-1]), 0)
    assert bar.closed == 1


def test_the_rich_bar_writes_and_changes_no_number(solver, whole, capsys) -> None:
    seen = opvi.solve(solver, start(solver), steps=STEPS, progress=opvi.RichProgress())
    assert_same(seen.state, whole.state)
    assert capsys.readouterr().out == ""  # standard output belongs to the caller


def test_ctrl_c_returns_the_fit_so_far_and_it_can_be_continued(solver, whole, monkeypatch) -> None:
    monkeypatch.setattr("opvi.solver.loop.MAX_CHUNK", 8)
    bar = Watching(interrupt_after=8)
    part = opvi.solve(solver, start(solver), steps=STEPS, progress=bar)
    assert part.result is opvi.Result.interrupted
    assert bar.closed == 1
    done = int(part.state.step)
    assert 0 < done < STEPS
    assert part.history.objective.shape == (done,)
    assert part.gradient_evaluations == done * 48
    assert_same(opvi.solve(solver, part.state, steps=STEPS).state, whole.state)


def test_a_callback_can_stop_the_run(solver) -> None:
    told = []

    def stop(state: opvi.State, history: opvi.History) -> bool:
        told.append((int(state.step), len(history.objective)))
        return True

    part = opvi.solve(solver, start(solver), steps=STEPS, callback=stop)
    assert part.result is opvi.Result.interrupted
    assert told == [(int(part.state.step), len(part.history.objective))]


def test_annealing_is_the_tempered_target(solver) -> None:
    """One step at step number k is one step on p^beta(k)."""
    state = dataclasses.replace(start(solver), step=jnp.asarray(6, jnp.int32))
    beta = BETA(jnp.asarray(6))
    assert 0.2 < float(beta) < 1.0
    tempered = make_solver(opvi.TemperedTarget(TARGET, beta))
    for a, b in zip(
        *(leaves(s.step(state, jr.key(3))[0]) for s in (solver, tempered)), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    assert float(BETA(jnp.asarray(0))) == pytest.approx(0.2)
    assert float(BETA(jnp.asarray(STEPS // 2))) == float(BETA(jnp.asarray(STEPS))) == 1.0


def test_any_optax_optimiser_for_each_side() -> None:
    """Plain descent and ascent at rate 1 move each side by its own gradient."""
    sgd = opvi.MinMax(
        TARGET,
        OBJECTIVE,
        opvi.FunctionalGradient(16),
        optax.sgd(1.0),
        optax.sgd(0.0),
        critic_steps=1,
    )
    state = start(sgd)
    new, _ = sgd.step(state, jr.key(1))
    # With f = 0 and no ascent, nothing pushes q.
    for a, b in zip(leaves(state.family), leaves(new.family), strict=True):
        np.testing.assert_array_equal(a, b)
    ascending = dataclasses.replace(sgd, test_function_optimiser=optax.sgd(0.1))
    new, _ = ascending.step(start(ascending), jr.key(1))
    assert any(jnp.any(x != 0.0) for x in leaves(new.test_function))


def test_critic_steps_ascend_the_objective(solver) -> None:
    """At a q held still, more critic steps bring the objective closer to its supremum."""

    def after(critic_steps: int) -> float:
        still = opvi.MinMax(
            TARGET,
            OBJECTIVE,
            opvi.FunctionalGradient(256),
            optax.sgd(0.0),
            optax.adam(1e-2),
            critic_steps=critic_steps,
        )
        state = still.init(opvi.MeanField(2), key=jr.key(0))
        return float(still.step(state, jr.key(1))[1].objective)

    few, many = after(2), after(40)
    assert many > 3 * few > 0


def test_one_trace_per_fit() -> None:
    """The log density is traced as often for 700 steps in many chunks as for one step."""
    traces = []

    def log_density(z: jax.Array) -> jax.Array:
        traces.append(1)
        return -0.5 * jnp.sum(z**2)

    target = opvi.from_log_density(log_density, jnp.zeros(2))
    solver = dataclasses.replace(make_solver(), target=target)
    state = solver.init(opvi.MeanField(2), key=jr.key(0))
    chunks = []

    def count(state: opvi.State, history: opvi.History) -> None:
        chunks.append(len(traces))

    opvi.solve(solver, state, steps=700, callback=count)
    assert len(chunks) >= 2
    assert chunks[0] == chunks[-1] > 0
