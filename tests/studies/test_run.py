import json
from pathlib import Path

import pytest

import opvi
from opvi.studies import names, read_expected, run, study
from tests.studies.counting import make


def test_a_run_writes_rows_checks_and_pictures(tmp_path: Path) -> None:
    counting = make(tmp_path)
    seen = []
    outcome = run(counting, tmp_path / "out", counting.settings(), report=seen.append)
    rows = json.loads((tmp_path / "out" / "results.json").read_text())
    assert rows == [
        {"method": "count", "seed": 0, "value": 0, "absent": None},
        {"method": "count", "seed": 1, "value": 1, "absent": None},
    ]
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["seeds"] == [0, 1]
    assert summary["options"] == {"base": 0, "fail": "no"}
    assert summary["versions"]["opvi"] == opvi.__version__
    assert [check["ok"] for check in summary["checks"]] == [True, True]
    assert (tmp_path / "out" / "counting.png").read_bytes().startswith(b"\x89PNG")
    assert len(seen) == 2
    assert not outcome.failures
    assert {path.name for path in outcome.files} == {p.name for p in (tmp_path / "out").iterdir()}


def test_the_quick_form_has_its_own_seeds_options_and_expectations(tmp_path: Path) -> None:
    counting = make(tmp_path)
    outcome = run(counting, tmp_path / "out", counting.settings(quick=True, seed=5))
    assert [row["value"] for row in outcome.rows] == [8]
    assert [str(check) for check in outcome.failures] == [
        "count, seed 5: value: 8, expected at most 3"
    ]


def test_what_was_measured_before_an_interruption_is_kept(tmp_path: Path) -> None:
    counting = make(tmp_path)
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        run(counting, out, counting.settings(options={"fail": "interrupt"}))
    assert [path.name for path in out.iterdir()] == ["results.partial.json"]
    assert json.loads((out / "results.partial.json").read_text())[0]["value"] == 0
    run(counting, out, counting.settings())
    assert not (out / "results.partial.json").exists()


def test_a_folder_that_cannot_be_made_is_refused_before_anything_is_measured(
    tmp_path: Path,
) -> None:
    counting = make(tmp_path)
    (tmp_path / "file").write_text("")
    seen = []
    with pytest.raises(opvi.OpviError, match="a folder that can be made"):
        run(counting, tmp_path / "file" / "out", counting.settings(), report=seen.append)
    assert not seen


def test_settings_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    counting = make(tmp_path)
    for bad in (
        {"seeds": 0},
        {"seed": -1},
        {"options": {"nope": 1}},
        {"options": {"base": "many"}},
    ):
        with pytest.raises(opvi.OpviError, match="Write instead: opvi study counting"):
            counting.settings(**bad)  # pyright: ignore
    assert counting.settings(options={"base": "7"})["base"] == 7


@pytest.mark.parametrize("name", names())
def test_every_study_can_fail_and_is_described(name: str) -> None:
    one = study(name)
    assert one.name == name
    assert one.summary
    assert set(one.shown) <= set(one.columns)
    for form in ("full", "quick"):
        assert read_expected(one.expected, form), f"{name}: nothing is expected of the {form} form"


def test_an_unknown_study_is_refused_by_name() -> None:
    with pytest.raises(opvi.OpviError, match="mixture"):
        study("figure1")
