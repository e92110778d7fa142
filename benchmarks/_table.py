"""The rows of a benchmark: a file that only grows, one JSON object a line, and what they add up to."""

import json
import math
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]

# What the default fit has to show, on all posteriors but two.
W1_FLOORS, MEAN_ERR, LOGSD_ERR = 1.25, 0.1, 0.1


def identity(row: Row) -> tuple:
    """Rows that agree in these are the same measurement; the last one written counts."""
    return row["posterior"], row["method"], row["seed"], row["precision"]


def read(*paths: Path) -> list[Row]:
    """The rows of the files, the newest of each identity. A line cut short by a crash is left out."""
    rows: dict[tuple, Row] = {}
    for path in paths:
        for line in path.read_text().splitlines() if path.exists() else ():
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                continue
            rows[identity(row)] = row
    return list(rows.values())


def append(path: Path, row: Row) -> None:
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")


def good(row: Row) -> bool:
    """At most 1.25 floors away, with every mean and sd within a tenth."""
    return not misses(row)


def misses(row: Row) -> list[str]:
    """Which of the three demands the row does not meet."""
    if row.get("error"):
        return ["failed"]
    limits = {"w1": W1_FLOORS * row["w1_floor"], "mean_err": MEAN_ERR, "logsd_err": LOGSD_ERR}
    return [name for name, limit in limits.items() if not row[name] <= limit]


def nuts_cost(rows: Iterable[Row]) -> dict[str, float]:
    """Gradient evaluations of NUTS for 1,000 effective draws, by posterior (median over seeds)."""
    costs: dict[str, list[float]] = {}
    for row in rows:
        if row.get("nuts_gradients_per_1000_ess"):
            costs.setdefault(row["posterior"], []).append(row["nuts_gradients_per_1000_ess"])
    return {name: statistics.median(values) for name, values in costs.items()}


def summarise(rows: Sequence[Row], method: str) -> Row:
    """One line of the summary."""
    mine = [row for row in rows if row["method"] == method]
    done = [row for row in mine if not row.get("error")]
    costs = nuts_cost(rows)
    ratios = [
        row["gradient_evaluations"] / costs[row["posterior"]]
        for row in done
        if row["posterior"] in costs
    ]
    judged = [row for row in mine if row.get("verdict")]
    return {
        "method": method,
        "rows": len(mine),
        "failed": len(mine) - len(done),
        "w1": sum("w1" not in misses(row) for row in done),
        "mean_err": sum("mean_err" not in misses(row) for row in done),
        "logsd_err": sum("logsd_err" not in misses(row) for row in done),
        "all three": sum(good(row) for row in done),
        "said good": sum(row["verdict"] == "good" for row in judged) if judged else None,
        "good but missed": (
            sum(row["verdict"] == "good" and not good(row) for row in judged) if judged else None
        ),
        "median w1 / floor": _median(row["w1"] / row["w1_floor"] for row in done),
        "median gradients": _median(row["gradient_evaluations"] for row in done),
        "median gradients / NUTS": _median(ratios),
        "median seconds": _median(row["seconds_compile"] + row["seconds_run"] for row in done),
    }


def markdown(lines: Sequence[Row]) -> str:
    """A table with the keys of the first line as its head."""
    head = list(lines[0])
    cells = [[text(line[key]) for key in head] for line in lines]
    rows = [head, ["---", *["---:"] * (len(head) - 1)], *cells]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def text(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    if not math.isfinite(value):
        return "inf"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _median(values: Iterable[float]) -> float | None:
    values = list(values)
    return statistics.median(values) if values else None
