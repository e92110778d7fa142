"""Rows of numbers: written whole or not at all, and compared with what was expected of them.

An `expected.json` has a list of expectations for each form of its study:

    {"method": "ls_program", "number": "w1", "over_seeds": "median", "at_most": 0.03}
    {"method": "ls_program", "number": "mode_means[0]", "over_seeds": "each",
     "equals": -3.0, "within": 0.05}

`over_seeds` is `each` (every seed on its own), `median` or `mean`. A number that is missing, null or
not finite is out of tolerance, and so is a method with no row at all.
"""

import json
import math
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from statistics import fmean, median
from typing import Any

from opvi import OpviError

Row = Mapping[str, Any]

_OVER_SEEDS: dict[str, Callable[[Sequence[float]], float]] = {"median": median, "mean": fmean}
_NUMBER = re.compile(r"(\w+)(?:\[(\d+)\])?")


@dataclass(frozen=True)
class Check:
    """One number beside what was expected of it."""

    number: str
    value: float | None
    at_least: float
    at_most: float

    @property
    def ok(self) -> bool:
        # Written so that NaN is out of tolerance.
        return self.value is not None and self.at_least <= self.value <= self.at_most

    def __str__(self) -> str:
        found = "missing" if self.value is None else f"{self.value:.4g}"
        if self.at_least == -math.inf:
            wanted = f"at most {self.at_most:.4g}"
        elif self.at_most == math.inf:
            wanted = f"at least {self.at_least:.4g}"
        else:
            wanted = f"between {self.at_least:.4g} and {self.at_most:.4g}"
        return f"{self.number}: {found}, expected {wanted}"

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "ok": self.ok}


def compare(rows: Sequence[Row], expected: Sequence[Mapping[str, Any]]) -> list[Check]:
    """Every expectation beside the number it is about."""
    return [check for one in expected for check in _checks(rows, one)]


def _checks(rows: Sequence[Row], expected: Mapping[str, Any]) -> Iterator[Check]:
    low, high = _bounds(expected)
    method, number, over = expected["method"], expected["number"], expected["over_seeds"]
    of_method = [row for row in rows if row["method"] == method]
    values = [_number(row, number) for row in of_method]
    if over == "each" and values:
        for row, value in zip(of_method, values, strict=True):
            yield Check(f"{method}, seed {row['seed']}: {number}", value, low, high)
        return
    if over != "each" and over not in _OVER_SEEDS:
        raise OpviError(
            f"expected over_seeds to be one of each, {', '.join(_OVER_SEEDS)}; got {over!r}.\n"
            '  Write instead: "over_seeds": "each"'
        )
    finite = [value for value in values if value is not None]
    whole = len(finite) == len(values) > 0
    value = _OVER_SEEDS[over](finite) if whole and over != "each" else None
    yield Check(f"{method}, {over} over seeds: {number}", value, low, high)


def _bounds(expected: Mapping[str, Any]) -> tuple[float, float]:
    keys = set(expected) - {"method", "number", "over_seeds", "why"}
    if keys == {"equals", "within"}:
        centre, within = expected["equals"], expected["within"]
        return centre - within, centre + within
    if keys and keys <= {"at_least", "at_most"}:
        return expected.get("at_least", -math.inf), expected.get("at_most", math.inf)
    raise OpviError(
        f"expected `equals` and `within`, or `at_least` and `at_most`; got {sorted(keys)} in "
        f"{dict(expected)}.\n"
        '  Write instead: "at_most": 0.05'
    )


def _number(row: Row, number: str) -> float | None:
    """`w1`, or an entry of a list: `mode_means[0]`."""
    match = _NUMBER.fullmatch(number)
    value = row.get(match[1]) if match else None
    if match and match[2] is not None and value is not None:
        index = int(match[2])
        value = value[index] if index < len(value) else None
    return None if value is None or not math.isfinite(value) else float(value)


def read_expected(path: Traversable, form: str) -> list[Mapping[str, Any]]:
    """The expectations of one form (`full` or `quick`)."""
    return json.loads(path.read_text(encoding="utf-8"))[form]


def write_json(path: Path, content: Any) -> None:
    """Write whole or not at all. What is not finite becomes null: NaN is not JSON."""
    text = json.dumps(_plain(content), indent=1, allow_nan=False) + "\n"
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write beside `path`, then rename over it: a reader sees the old file or the new one."""
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(beside, 0o644)
        os.replace(beside, path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _plain(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {key: _plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_plain(value) for value in content]
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    return content
