"""Studies and benchmarks are written as a user would write them: with public names only."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "src" / "opvi" / "studies"
OUTSIDERS = sorted([*STUDIES.rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")])


def _package_of(path: Path) -> list[str]:
    """The dotted package that a relative import in `path` starts from."""
    root = ROOT / "src" if path.is_relative_to(ROOT / "src") else ROOT
    return list(path.relative_to(root).parent.parts)


def _dotted(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (base := _dotted(node.value)) is not None:
        return f"{base}.{node.attr}"
    return None


def _names_of_opvi(source: str, package: list[str]) -> Iterator[tuple[int, str]]:
    """Every dotted name under `opvi` that the source imports or reads, with its line."""
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            names = [f"{module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute) and (name := _dotted(node)) is not None:
            names = [name]
        for name in names:
            if name.split(".")[0] == "opvi":
                yield node.lineno, name


def _private(source: str, package: list[str]) -> list[str]:
    return [
        f"line {line}: {name}"
        for line, name in _names_of_opvi(source, package)
        # Studies may share private modules of their own.
        if not name.startswith("opvi.studies.") and any(map(_is_private, name.split(".")))
    ]


def _is_private(name: str) -> bool:
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def test_there_are_studies_to_check() -> None:
    assert any(path.is_relative_to(STUDIES) for path in OUTSIDERS)


@pytest.mark.parametrize("path", OUTSIDERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_outsiders_use_public_names_only(path: Path) -> None:
    assert _private(path.read_text(encoding="utf-8"), _package_of(path)) == []


@pytest.mark.parametrize(
    "source",
    [
        "import opvi._core.pytrees",
        "from opvi import _core",
        "from opvi._core import types",
        "from opvi.solver import _step",
        "from opvi.solver._loop import run",
        "from ..._core import types",
        "from ... import _core",
        "import opvi\nopvi.solver._step(1)",
    ],
)
def test_a_private_name_is_found(source: str) -> None:
    assert _private(source, ["opvi", "studies", "mixture"])


@pytest.mark.parametrize(
    "source",
    [
        "import opvi\nopvi.fit(opvi.__version__)",
        "from opvi import fit",
        "from ._panels import draw",
        "from .._rows import write",
        "import numpy._core",
    ],
)
def test_a_public_name_passes(source: str) -> None:
    assert _private(source, ["opvi", "studies", "mixture"]) == []
