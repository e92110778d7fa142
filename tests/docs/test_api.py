"""The reference lists every public name, each where it can be found."""

import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest

import opvi

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def listed() -> list[str]:
    """The identifiers on the page, as mkdocs sees them."""
    sys.path.insert(0, str(DOCS))
    try:
        hook = importlib.import_module("api_page")
    finally:
        sys.path.remove(str(DOCS))
    page = hook.on_page_markdown((DOCS / "api.md").read_text(encoding="utf-8"))
    return re.findall(r"^::: (\S+)$", page, re.MULTILINE)


def resolve(identifier: str):
    module, name = identifier.rsplit(".", 1)
    return getattr(importlib.import_module(module), name)


def test_everything_that_opvi_exports_is_there_once(listed: list[str]) -> None:
    assert len(listed) == len(set(listed)) > 100
    there = {id(resolve(identifier)) for identifier in listed}
    for name, value in vars(opvi).items():
        if name.startswith("_") or inspect.ismodule(value):
            continue
        assert id(value) in there, f"opvi.{name} is not in the reference"


@pytest.mark.parametrize(
    "room",
    ["distances", "estimators", "families", "operators", "solver", "targets", "testfunctions"],
)
def test_everything_that_a_room_lists_is_there(room: str, listed: list[str]) -> None:
    module = importlib.import_module(f"opvi.{room}")
    there = {id(resolve(identifier)) for identifier in listed}
    exported = getattr(module, "__all__", ())
    missing = [
        n for n in exported if callable(getattr(module, n)) and id(getattr(module, n)) not in there
    ]
    assert not missing


def test_every_entry_has_a_docstring_of_its_own(listed: list[str]) -> None:
    """An entry without one would be left out of the page."""
    bare = [name for name in listed if not resolve(name).__doc__]
    assert not bare
