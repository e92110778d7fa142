import json
import math
from pathlib import Path

import numpy as np
import pytest

import opvi
from opvi.studies import compare, write_bytes, write_json

ROWS = [
    {"method": "a", "seed": 0, "target": "banana", "w1": 0.1, "means": [1.0, 2.0]},
    {"method": "a", "seed": 1, "target": "banana", "w1": 0.3, "means": [1.0, 4.0]},
    {"method": "a", "seed": 0, "target": "ring", "w1": math.nan, "means": [math.inf, 2.0]},
    {"method": "b", "target": "banana", "w1": 0.15},
]
BANANA = {"where": {"target": "banana"}}


def one(**expected):
    return compare(ROWS, [{"method": "a", "number": "w1", **BANANA, **expected}])


def test_each_row_is_compared_on_its_own() -> None:
    checks = one(at_most=0.2)
    assert [check.ok for check in checks] == [True, False]
    assert str(checks[1]) == "a, banana, seed 1: w1: 0.3, expected at most 0.2"


@pytest.mark.parametrize(("over", "value"), [("median", 0.2), ("mean", 0.2)])
def test_median_and_mean_over_seeds(over: str, value: float) -> None:
    (check,) = one(over_seeds=over, at_least=0.0, at_most=1.0)
    assert check.value == pytest.approx(value)
    assert check.ok


def test_both_sides_of_a_bound_count() -> None:
    assert [c.ok for c in one(at_least=0.2)] == [False, True]
    assert [c.ok for c in one(equals=0.2, within=0.09)] == [False, False]
    assert [c.ok for c in one(equals=0.2, within=0.11)] == [True, True]


def test_an_entry_of_a_list() -> None:
    assert [c.value for c in one(number="means[1]", at_most=9)] == [2.0, 4.0]
    assert [c.value for c in one(number="means[2]", at_most=9)] == [None, None]


@pytest.mark.parametrize("over", ["each", "median", "mean"])
def test_what_is_not_finite_or_not_there_is_out_of_tolerance(over: str) -> None:
    ring = {"where": {"target": "ring"}, "over_seeds": over, "at_least": -1e9, "at_most": 1e9}
    for missing in (
        one(**ring),
        one(**{**ring, "number": "means[0]"}),
        one(**{**ring, "number": "absent"}),
        one(**{**ring, "method": "nobody"}),
    ):
        assert [check.ok for check in missing] == [False]


def test_one_method_above_another() -> None:
    assert [c.ok for c in one(over_seeds="mean", above="b")] == [True]
    assert [c.ok for c in one(over_seeds="mean", below="b")] == [False]
    # Nothing to compare with, and something that is not finite, are failures as well.
    assert [c.ok for c in one(over_seeds="mean", above="nobody")] == [False]
    nowhere = {"where": {"target": "ring"}, "over_seeds": "mean"}
    assert [c.ok for c in one(**{**nowhere, "method": "b", "above": "a"})] == [False]


@pytest.mark.parametrize(
    "bad", [{}, {"equals": 1.0}, {"at_most": 1, "within": 2}, {"over_seeds": "max", "at_most": 1}]
)
def test_an_expectation_that_says_nothing_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(opvi.OpviError, match="Write instead"):
        one(**bad)


def test_numbers_of_every_kind_are_written_as_json(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    write_json(
        path, {"a": np.float32(0.5), "b": np.arange(2), "c": (math.nan, math.inf, 1), "d": "x"}
    )
    assert json.loads(path.read_text()) == {"a": 0.5, "b": [0, 1], "c": [None, None, 1], "d": "x"}


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "rows.json"
    write_bytes(path, b"before")
    with pytest.raises(TypeError):
        write_json(path, {"not": object()})
    assert path.read_bytes() == b"before"

    def full(handle, *args, **kwargs):
        raise OSError("no space left on device")

    monkeypatch.setattr("opvi.studies._results.os.replace", full)
    with pytest.raises(OSError, match="no space"):
        write_bytes(path, b"after")
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]
