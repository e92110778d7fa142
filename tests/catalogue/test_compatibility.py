"""The whole table: nothing left out, what is refused raises, what is admitted has a gradient."""

import dataclasses
import functools
import inspect
import os
from collections.abc import Iterator
from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest

import opvi
from opvi.catalogue import Row, pieces
from opvi.catalogue.compatibility import _shape
from opvi.estimators import sample_sets, test_function_gradient as theta_gradient
from opvi.recipes.defaults import default_estimator
from tests.catalogue.targets import target_of
from tests.laws import catalogue as laws
from tests.laws.reference import leaves

DOCS = Path(__file__).parents[2] / "docs"
EVERY = os.environ.get("OPVI_EVERY_TRIPLE", "") not in ("", "0")


@functools.cache
def table() -> opvi.Compatibility:
    return opvi.compatibility()


@functools.cache
def shape_of(family: str) -> opvi.AbstractFamily:
    return _shape(pieces.FAMILIES[family])


def objective_of(row: Row) -> opvi.Objective:
    return _objective(row.operator, row.test_functions, row.distance)


@functools.cache
def _objective(operator: str, test_functions: str, distance: str) -> opvi.Objective:
    o = pieces.OPERATORS[operator]()
    return opvi.Objective(
        o, pieces.TEST_FUNCTIONS[test_functions](o), pieces.DISTANCES[distance](o)
    )


# --- nothing is left out

KINDS = {
    "operators": (opvi.AbstractOperator, [make() for make in pieces.OPERATORS.values()]),
    "test functions": (
        opvi.AbstractTestFunctionFamily,
        [make(opvi.KL()) for make in pieces.TEST_FUNCTIONS.values()],
    ),
    "distances": (
        opvi.AbstractDistance,
        [make(opvi.KL()) for make in pieces.DISTANCES.values()],
    ),
    "estimators": (opvi.AbstractEstimator, [make() for make in pieces.ESTIMATORS.values()]),
}


@pytest.mark.parametrize("kind", [*KINDS, "families"])
def test_every_public_piece_has_a_row(kind: str) -> None:
    """A class that `opvi` exports and that the table does not know wants a row in catalogue/pieces.py."""
    if kind == "families":
        base, rows = opvi.AbstractFamily, [shape_of(name) for name in pieces.FAMILIES]
    else:
        base, rows = KINDS[kind]
    public = {
        piece
        for piece in vars(opvi).values()
        if inspect.isclass(piece) and issubclass(piece, base) and not inspect.isabstract(piece)
    }
    assert public <= {type(row) for row in rows}


def test_the_laws_run_over_the_same_pieces() -> None:
    """What tests/laws has, the table has; what the table has for real numbers, the laws have."""
    ours = {name: {type(row) for row in rows} for name, (_, rows) in KINDS.items()}
    assert {type(make()) for make in laws.OPERATORS.values()} <= ours["operators"]
    assert {type(make()) for make in laws.TEST_FUNCTIONS.values()} <= ours["test functions"]
    assert {type(make(2)) for make in laws.ESTIMATORS.values()} <= ours["estimators"]
    families = {type(shape_of(name)) for name in pieces.FAMILIES}
    extra = {type(laws.shape_of(name)) for name in laws.FAMILIES} - families
    assert all("Affine" in kind.__module__ or kind.__name__.startswith("_") for kind in extra)
    with_states = (opvi.AbstractDiscreteSteinOperator, opvi.MixedStein)
    missing = ours["operators"] - {type(make()) for make in laws.OPERATORS.values()}
    assert all(issubclass(kind, with_states) for kind in missing)


# --- what is refused


def solver_of(row: Row, estimator: str) -> opvi.MinMax:
    adam, way = optax.adam(1e-2), pieces.ESTIMATORS[estimator]()
    return opvi.MinMax(_target(row.family), objective_of(row), way, adam, adam)


@functools.cache
def _target(family: str) -> opvi.AbstractTarget:
    return target_of(shape_of(family))


def test_refused_objectives_raise_when_they_are_made() -> None:
    rows = [row for row in table().refused if row.family is None]
    assert len(rows) > 100
    for row in rows:
        with pytest.raises(opvi.IncompatibleError) as caught:
            objective_of(row)
        assert caught.value.expected == row.condition
        assert caught.value.got
        assert caught.value.write


def test_refused_families_and_estimators_raise_before_the_first_step() -> None:
    """Through the solver, as `fit` does, with the condition that the table names.

    Every (operator, family, estimator) and condition once, with one of its F and t.
    """
    refused = {}
    for row in table().rows:
        if row.family is not None:
            ways = row.ways or ((next(iter(pieces.ESTIMATORS)), row.condition),)
            for estimator, missing in ways:
                if missing is not None:
                    refused[row.operator, row.family, estimator, missing] = row
    assert len(refused) > 500
    for (_, family, estimator, missing), row in refused.items():
        with pytest.raises(opvi.IncompatibleError) as caught:
            solver_of(row, estimator).init(shape_of(family), key=jr.key(0))
        assert caught.value.expected == missing
        assert caught.value.write


def test_for_every_refusal_there_is_a_pair_that_works() -> None:
    admitted = set(table().admitted)
    for row in table().refused:
        instead = table().instead(row)
        assert instead in admitted
        shared = [getattr(row, n) == getattr(instead, n) for n in ("family", "operator")]
        assert any(shared)


def test_the_default_estimator_is_always_one_that_works() -> None:
    rows = {(row.operator, row.test_functions, row.family): row for row in table().admitted}
    for row in rows.values():
        objective, q = objective_of(row), shape_of(row.family)
        default_estimator(objective, q).check(objective, q)


# --- what is admitted


def everything() -> Iterator[tuple[Row, str]]:
    return ((row, estimator) for row in table().admitted for estimator in row.estimators)


def covering() -> list[tuple[Row, str]]:
    """Few of them, with every operator by every estimator, every family, every class of test functions."""

    def parts(row: Row, estimator: str) -> set[tuple]:
        return {(row.operator, estimator), ("q", row.family), ("f", row.test_functions)}

    rest = sorted(everything(), key=lambda pair: laws.hash_of(f"{pair[0]}{pair[1]}"))
    missing = set().union(*(parts(*pair) for pair in rest))
    chosen = []
    while missing:
        best = max(rest, key=lambda pair: len(parts(*pair) & missing))
        chosen.append(best)
        missing -= parts(*best)
    return chosen


@functools.cache
def walked() -> tuple[tuple[Row, str], ...]:
    return tuple(everything() if EVERY else covering())


def randomised(module, seed: int):
    return laws.randomised(module, jr.key(seed), 0.2)


@pytest.mark.parametrize(
    "odd", [False, pytest.param(True, marks=pytest.mark.float64)], ids=["float32", "float64"]
)
@pytest.mark.parametrize("operator", pieces.OPERATORS)
def test_admitted_pairs_have_a_gradient(operator: str, odd: bool) -> None:
    """On both sides: finite, of the shape and precision of the parameters, jitted and vmapped over keys.

    Every second row in double precision. `OPVI_EVERY_TRIPLE=1` walks all the rows there are.
    """
    rows = [pair for pair in walked() if pair[0].operator == operator]
    picked = rows[odd::2] or rows
    assert picked
    for row, estimator in picked:
        check_gradient(row, estimator)


def check_gradient(row: Row, estimator: str) -> None:
    q = randomised(pieces.FAMILIES[row.family](jr.key(0)), 1)
    # Made anew: what is cached may be of the other precision.
    objective = _objective.__wrapped__(row.operator, row.test_functions, row.distance)
    target = target_of(q)
    way = dataclasses.replace(pieces.ESTIMATORS[estimator](), draws=8)
    objective.check(q)
    way.check(objective, q)
    f = randomised(objective.test_functions.init(q.dim, key=jr.key(2)), 3)

    @eqx.filter_jit
    @functools.partial(eqx.filter_vmap, in_axes=(0, None, None))
    def gradients(key, q, f):
        sets = sample_sets(key, 8, objective, q, target)
        value, along_lambda = way.gradient(objective, f, q, sets)
        _, along_theta = theta_gradient(objective, f, q, sets)
        return value, along_lambda, along_theta

    _, along_lambda, along_theta = gradients(jr.split(jr.key(4), 2), q, f)
    for gradient, module in ((along_lambda, q), (along_theta, f)):
        for g, x in zip(leaves(gradient), leaves(module), strict=True):
            assert g.shape == (2, *x.shape), row
            assert g.dtype == x.dtype == jnp.result_type(float), row
            assert np.all(np.isfinite(g)), row
    moved = [np.abs(np.asarray(g)).max() for g in leaves(along_lambda) if g.size]
    assert max(moved) > 1e-6, row


# --- reading it


def test_find_narrows_the_rows_down() -> None:
    rows = table().find(operator="KL", family="Program").rows
    assert not any(row.admitted for row in rows)
    assert any("needs log q" in row.condition for row in rows if row.family)
    (row,) = table().find(operator="KL", family="FullRank").admitted
    assert row.estimators[0] == "PathGradient"
    assert (row.test_functions, row.distance) == ("NoTestFunction", "Identity")


def test_a_piece_of_ones_own_is_asked_the_same() -> None:
    """A family that can be sampled and no more: nothing needs so little."""

    class Sampled(opvi.AbstractFamily):
        dim: int = 2

        def sample(self, key, n):
            return jr.normal(key, (n, 2))

    own = opvi.compatibility(families={"mine": lambda key: Sampled()})
    assert {row.family for row in own.rows} == {"mine", None}
    assert not own.admitted
    assert any("a reparameterised family" in row.condition for row in own.refused)


def test_the_documentation_prints_it() -> None:
    """Out of date? `opvi compatibility > docs/compatibility.md` writes it again."""
    page = (DOCS / "compatibility.md").read_text()
    assert table().to_markdown() in page
