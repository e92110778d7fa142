"""Laws about the repository itself: what is tracked, how long files are, what importing costs."""

import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "opvi"
LARGEST_FILE_IN_BYTES = 5_000_000
LONGEST_SOURCE_IN_LINES = 600

# Absolute paths that exist on one machine only.
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|root|tmp|farm)/\w")
# Put together here so that this file does not name them either.
REGISTRY_HOSTS = tuple(
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("debian", "org"),
        ("anaconda", "org"),
        ("download", "pytorch", "org"),
    )
)


@cache
def _files() -> tuple[Path, ...]:
    """What git tracks, and what it would track if everything were added now."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: there is no list of tracked files")
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    paths = (ROOT / name for name in sorted(set(listing.stdout.split("\0"))) if name)
    return tuple(path for path in paths if path.is_file())


def _text(path: Path) -> str | None:
    raw = path.read_bytes()
    return None if b"\0" in raw[:8192] else raw.decode("utf-8", errors="replace")


def _lines_with(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in _files()
        if (text := _text(path)) is not None
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]


def test_no_file_is_large() -> None:
    sizes = {str(path.relative_to(ROOT)): path.stat().st_size for path in _files()}
    assert {name: size for name, size in sizes.items() if size > LARGEST_FILE_IN_BYTES} == {}


def test_no_path_of_one_machine_is_named() -> None:
    assert _lines_with(MACHINE_PATH) == []


def test_no_package_registry_is_named() -> None:
    assert _lines_with(re.compile("|".join(map(re.escape, REGISTRY_HOSTS)))) == []


@pytest.mark.parametrize("folder", ["work", "root", "tmp"])
def test_a_path_of_one_machine_is_recognised(folder: str) -> None:
    assert MACHINE_PATH.search(f'open("/{folder}/data.csv")')
    assert not MACHINE_PATH.search(f"../{folder}/data.csv and example.com/{folder}/x and /{folder}")


def test_no_source_file_is_long() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in PACKAGE.rglob("*.py")
    }
    assert lengths
    assert {name: n for name, n in lengths.items() if n > LONGEST_SOURCE_IN_LINES} == {}


def _run_without_a_backend(code: str) -> subprocess.CompletedProcess[str]:
    """Run `code` where the only JAX platform does not exist: the first array, or anything else
    that starts a backend, raises."""
    environment = {**os.environ, "JAX_PLATFORMS": "no_such_platform"}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )


def test_importing_allocates_no_array_and_starts_no_backend() -> None:
    ran = _run_without_a_backend("import opvi")
    assert ran.returncode == 0, ran.stderr


def test_an_array_allocated_at_import_would_be_noticed() -> None:
    ran = _run_without_a_backend("import jax.numpy as jnp; jnp.zeros(1)")
    assert ran.returncode != 0
    assert "no_such_platform" in ran.stderr


def _paths_in(markdown: str) -> set[str]:
    """What stands in backticks and looks like a path: it has a slash, or a file's ending."""
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", markdown, flags=re.DOTALL))
    return {
        span.rstrip("/")
        for span in spans
        if re.fullmatch(r"\.?[\w-][\w.-]*(/[\w.-]+)*/?", span)
        and ("/" in span or re.search(r"\.(py|md|toml|json|yml|cff)$", span))
    }


def test_paths_named_in_the_architecture_exist() -> None:
    paths = _paths_in((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    assert paths
    places = (ROOT, ROOT / "src", PACKAGE)
    assert {p for p in paths if not any((place / p).exists() for place in places)} == set()


def test_every_room_is_named_in_the_architecture() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert rooms
    assert {room for room in rooms if not re.search(rf"\b{room}\b", page)} == set()


def test_paths_are_found_in_a_page() -> None:
    page = "`solver/loop.py`, `families/`, `README.md`; not `opvi.fit`, `make lint`\n```\nx/y\n```"
    assert _paths_in(page) == {"solver/loop.py", "families", "README.md"}


def test_the_citation_has_the_version_of_the_package() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "version"
    ]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
