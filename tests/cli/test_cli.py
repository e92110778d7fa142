"""Exit codes, and messages instead of tracebacks."""

import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from opvi import cli
from opvi.cli._bibliography import BIBTEX, WORKS
from opvi.studies import _registry
from tests.studies.counting import make


@pytest.fixture
def counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    module = SimpleNamespace(study=make(tmp_path))
    monkeypatch.setitem(sys.modules, "a_study_of_the_tests", module)
    monkeypatch.setitem(_registry._MODULES, "counting", "a_study_of_the_tests")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_study_within_tolerance_exits_0(counting: Path, capsys) -> None:
    assert cli.run(["study", "counting", "--out", "out"]) == 0
    assert "2 of 2 checks hold" in capsys.readouterr().out
    assert (counting / "out" / "results.json").is_file()


def test_a_study_out_of_tolerance_exits_1_and_says_which_number(counting: Path, capsys) -> None:
    assert cli.run(["study", "counting", "--quick", "--base", "4"]) == 1
    out = capsys.readouterr().out
    assert "out of tolerance: count, seed 0: value: 4, expected at most 3" in out
    assert (counting / "results" / "counting" / "results.json").is_file()


def test_seeds_and_options_reach_the_study(counting: Path, capsys) -> None:
    assert cli.run(["study", "counting", "--seeds", "3", "--seed", "2", "--base=5"]) == 0
    assert "value 9" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["study"], "NAME"),
        (["study", "figure1"], "mixture"),
        (["study", "counting", "--images", "3"], "--base"),
        (["study", "counting", "--base", "many"], "whole number"),
        (["study", "counting", "--seeds", "many"], "--seeds"),
        (["study", "counting", "--seeds", "0"], "at least one seed"),
        (["study", "counting", "--out", "expected.json/out"], "a folder that can be made"),
        (["study", "counting", "again"], "again"),
        (["stduy", "counting"], "study"),
        (["cite", "Nobody"], "opvi cite all"),
        (["fit", "model.py"], "FILE.py:NAME"),
        (["fit", "absent.py:target"], "absent.py"),
        (["fit", "model.py:absent"], "model.py:number"),
        (["fit", "model.py:number"], "a int"),
        (["compare", "model.py:number"], "a int"),
    ],
)
def test_bad_usage_exits_2_with_a_message(counting: Path, capsys, tokens, message: str) -> None:
    (counting / "model.py").write_text("number = 3\n")
    assert cli.run(tokens) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err


def test_interrupted_exits_130(counting: Path, capsys) -> None:
    assert cli.run(["study", "counting", "--fail", "interrupt"]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_studies_are_listed_with_their_options(counting: Path, capsys) -> None:
    assert cli.run(["studies"]) == 0
    out = capsys.readouterr().out
    assert "mixture" in out
    assert "--base" in out


def test_cite_names_the_paper_and_the_works_behind_the_pieces(capsys) -> None:
    assert cli.run(["cite"]) == 0
    out = capsys.readouterr().out
    assert "Operator Variational Inference" in out
    assert "Sticking the Landing" not in out
    assert cli.run(["cite", "PathGradient", "PathGradient"]) == 0
    assert capsys.readouterr().out.count("Sticking the Landing") == 1


def test_the_bibliography_is_whole() -> None:
    assert {key for keys in WORKS.values() for key in keys} <= set(BIBTEX)
    for key, entry in BIBTEX.items():
        assert entry.startswith("@")
        assert f"{{{key}," in entry
        assert entry.count("{") == entry.count("}")


def test_python_m_opvi_is_the_command(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", ["opvi", "cite"])
    with pytest.raises(SystemExit) as exit:
        runpy.run_module("opvi", run_name="__main__")
    assert exit.value.code == 0
    assert "ranganath2016operator" in capsys.readouterr().out
