"""Rows of numbers: written whole or not at all, and compared with what was expected of them.

An `expected.json` has a list of expectations for each form of its study:

    {"method": "ls_program", "number": "w1", "over_seeds": "median", "at_most": 0.03}
    {"method": "ls_program", "number": "mode_means[0]", "equals": -3.0, "within": 0.05}
    {"method": "kl", "where": {"target": "banana"}, "number": "sd_ratio", "at_least": 0.9}
    {"method": "program", "number": "score", "over_seeds": "mean", "above": "mean_field"}

- The rows meant are those of `method`, where also all of `where` holds; either may be left out.
- `over_seeds`: `each` row on its own (when left out), or the `median` or `mean` of them all.
- Bounds: `at_least`, `at_most`; `equals` and `within`; or `above` / `below` another method's number,
  taken over the same `where` and in the same way (its mean, for `each`).

A number that is missing, null or not finite is out of tolerance, and so are rows that are not there.
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
    number, over = expected["number"], expected.get("over_seeds", "each")
    if over != "each" and over not in _OVER_SEEDS:
        raise OpviError(
            f"expected over_seeds to be one of each, {', '.join(_OVER_SEEDS)}; got {over!r}.\n"
            '  Write instead: "over_seeds": "each"'
        )
    low, high = _bounds(rows, expected)
    meant = _meant(rows, expected)
    about = ", ".join(str(value) for value in _where(expected).values()) or "all rows"
    if over == "each" and meant:
        for row in meant:
            seed = f", seed {row['seed']}" if row.get("seed") is not None else ""
            yield Check(f"{about}{seed}: {number}", _number(row, number), low, high)
        return
    yield Check(f"{about}, {over} over seeds: {number}", _over(meant, number, over), low, high)


def _where(expected: Mapping[str, Any]) -> dict[str, Any]:
    method = {"method": expected["method"]} if "method" in expected else {}
    return {**method, **expected.get("where", {})}


def _meant(rows: Sequence[Row], expected: Mapping[str, Any]) -> list[Row]:
    where = _where(expected)
    return [row for row in rows if all(row.get(key) == value for key, value in where.items())]


def _over(rows: Sequence[Row], number: str, over: str) -> float | None:
    """The median or mean, if all of the numbers are there."""
    values = [_number(row, number) for row in rows]
    finite = [value for value in values if value is not None]
    if not finite or len(finite) < len(values):
        return None
    return _OVER_SEEDS.get(over, fmean)(finite)


def _bounds(rows: Sequence[Row], expected: Mapping[str, Any]) -> tuple[float, float]:
    keys = set(expected) - {"method", "where", "number", "over_seeds", "why"}
    if keys == {"equals", "within"}:
        centre, within = float(expected["equals"]), float(expected["within"])
        return centre - within, centre + within
    if keys and keys <= {"at_least", "at_most"}:
        return float(expected.get("at_least", -math.inf)), float(expected.get("at_most", math.inf))
    if keys in ({"above"}, {"below"}):
        (side,) = keys
        others = _meant(rows, {**expected, "method": expected[side]})
        other = _over(others, expected["number"], expected.get("over_seeds", "each"))
        # Nothing to compare with is a failure, not a pass.
        other = math.nan if other is None else other
        return (other, math.inf) if side == "above" else (-math.inf, other)
    raise OpviError(
        f"expected `equals` and `within`, `at_least` and `at_most`, or `above` or `below`; got "
        f"{sorted(keys)} in {dict(expected)}.\n"
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
    if hasattr(content, "tolist"):  # an array or a number of NumPy's or JAX's
        content = content.tolist()
    if isinstance(content, Mapping):
        return {key: _plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_plain(value) for value in content]
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    return content
