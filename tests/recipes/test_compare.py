"""`compare` measures what it says it measures, keeps the failed, and NUTS is a reference."""

import io
import json

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import opvi
from tests.fixtures import skewed

EXACT = skewed(2)
TARGET = EXACT.target()


def exact(target: opvi.AbstractTarget, key: jax.Array) -> jax.Array:
    return EXACT.sample(key, 4000)


def shifted(target: opvi.AbstractTarget, key: jax.Array) -> jax.Array:
    """Off by half an sd in the first column, twice as wide in the second."""
    z = exact(target, key)
    sd, mean = z.std(0), z.mean(0)
    return mean + (z - mean) * jnp.array([1.0, 2.0]) + sd * jnp.array([0.5, 0.0])


def broken(target: opvi.AbstractTarget, key: jax.Array) -> jax.Array:
    raise RuntimeError("no luck today\nand a second line")


def infinite(target: opvi.AbstractTarget, key: jax.Array) -> jax.Array:
    return exact(target, key).at[3, 1].set(jnp.inf)


@pytest.fixture(scope="module", name="compared")
def _compared(tmp_path_factory):
    out = tmp_path_factory.mktemp("compare") / "deeper" / "rows.jsonl"
    methods = [("exact", exact), ("shifted", shifted), ("broken", broken), ("infinite", infinite)]
    reference = EXACT.sample(jr.key(1), 8000)
    comparison = opvi.compare(TARGET, methods, reference=reference, key=jr.key(2), out=out)
    return comparison, out


def test_exact_draws_are_at_the_floor(compared):
    row = compared[0]["exact"]
    assert row.mean_err < 0.08
    assert 0.93 < row.sd_ratio < 1.07
    assert 0.5 < row.w1 / row.w1_floor < 2


def test_the_floor_is_what_exact_draws_have_in_the_mean(compared):
    key = jr.key(5)
    pairs = [
        (EXACT.sample(jr.fold_in(key, 2 * i), 4000), EXACT.sample(jr.fold_in(key, 2 * i + 1), 8000))
        for i in range(20)
    ]
    w1 = [np.mean([_w1(x[:, j], y[:, j]) / y[:, j].std() for j in range(2)]) for x, y in pairs]
    assert 0.6 < compared[0]["exact"].w1_floor / np.mean(w1) < 1.6  # one split of one reference


def _w1(x, y):
    u = (np.arange(4000) + 0.5) / 4000
    return np.abs(np.quantile(x, u) - np.quantile(y, u)).mean()


def test_errors_are_in_sd_of_the_reference_and_by_column(compared):
    comparison = compared[0]
    assert abs(comparison["shifted"].mean_err - 0.5) < 0.05
    assert abs(comparison["shifted"].sd_ratio - 2) < 0.1
    np.testing.assert_allclose(comparison.mean_errors["shifted"], [0.5, 0.0], atol=0.05)
    np.testing.assert_allclose(comparison.sd_ratios["shifted"], [1.0, 2.0], atol=0.1)
    assert comparison["shifted"].w1 > 5 * comparison["shifted"].w1_floor


def test_a_failed_method_keeps_its_row_and_the_others(compared):
    comparison = compared[0]
    assert [row.method for row in comparison.rows] == ["exact", "shifted", "broken", "infinite"]
    assert comparison["broken"].error == "RuntimeError: no luck today"
    assert comparison["broken"].w1 is None
    assert comparison["infinite"].w1 == np.inf


def test_rows_go_to_a_file_and_into_tables(compared):
    from rich.console import Console

    comparison, out = compared
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["method"] for row in rows] == ["exact", "shifted", "broken", "infinite"]
    assert rows[1]["w1"] == comparison["shifted"].w1
    lines = comparison.markdown().splitlines()
    assert len({line.count("|") for line in lines}) == 1
    assert "no luck today" in lines[4]
    assert repr(comparison) == comparison.markdown()
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(comparison)
    assert "shifted" in console.export_text()


def test_its_figure_shows_every_method_that_has_draws(compared):
    figure = opvi.plotting.comparison(compared[0])
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["exact", "shifted", "infinite"]


@pytest.mark.slow
def test_nuts_is_the_reference_and_finished_posteriors_are_methods():
    posterior = opvi.fit(
        TARGET, opvi.MeanField, opvi.Objective(opvi.KL()), key=jr.key(0), steps=50, progress=False
    )
    comparison = opvi.compare(TARGET, [posterior], key=jr.key(3))
    nuts, fitted = comparison.rows
    assert nuts.method == "reference: nuts"
    assert nuts.verdict == "good"
    assert nuts.gradient_evaluations > 2 * 4 * 1000  # at least one leapfrog step an iteration
    assert fitted.method == "MeanField"
    assert fitted.verdict is not None
    assert fitted.mean_err > 0.1
    assert fitted.seconds >= posterior.solution.seconds
    # The reference itself, against exact draws.
    again = opvi.compare(
        TARGET,
        [("nuts", lambda target, key: opvi.nuts(target, key))],
        reference=EXACT.sample(jr.key(4), 8000),
        key=jr.key(3),
    )["nuts"]
    assert again.mean_err < 0.1
    assert abs(np.log(again.sd_ratio)) < 0.1


@pytest.mark.parametrize(
    ("methods", "reference", "says"),
    [
        (["default", "default"], "nuts", "different names"),
        (["magic"], "nuts", r"\['default', 'mean_field'"),
        (["default"], "truth", '"nuts" or draws'),
        (["default"], {"other": np.zeros((200, 2))}, "latents of the target"),
        (["default"], np.zeros((10, 2)) + np.arange(10)[:, None], "at least 100"),
    ],
)
def test_what_cannot_be_compared_is_named(methods, reference, says):
    with pytest.raises(opvi.OpviError, match=says):
        opvi.compare(TARGET, methods, reference=reference, key=jr.key(0))
