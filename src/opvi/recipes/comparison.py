"""The result of `compare`: a row for each method, and the distances in it."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from opvi._core.errors import OpviError, require
from opvi._core.layout import Layout
from opvi._core.types import PyTree

Columns = dict[str, np.ndarray]


@dataclass(frozen=True)
class ComparisonRow:
    """One method. Distances are in sd of the reference, per column of the latents on their supports.

    `mean_err` = max |mean - ref| / sd, `sd_ratio` = the ratio of sds furthest from 1, `w1` = mean
    over the columns of the one-dimensional Wasserstein distance / sd, `w1_floor` what exact draws
    would have. `seconds` are of fit and draws, compilation included.
    """

    method: str
    mean_err: float | None = None
    sd_ratio: float | None = None
    w1: float | None = None
    w1_floor: float | None = None
    verdict: str | None = None
    seconds: float | None = None
    gradient_evaluations: int | None = None
    error: str | None = None


@dataclass(frozen=True)
class Comparison:
    """The table, and the error of every column for the figure (`opvi.plotting.comparison`)."""

    rows: tuple[ComparisonRow, ...]
    columns: tuple[str, ...]
    mean_errors: Mapping[str, np.ndarray]
    sd_ratios: Mapping[str, np.ndarray]

    def __getitem__(self, method: str) -> ComparisonRow:
        for row in self.rows:
            if row.method == method:
                return row
        raise KeyError(f"{method!r}; compared: {[row.method for row in self.rows]}")

    def markdown(self) -> str:
        head = [name for name in _HEAD if name != "error" or any(r.error for r in self.rows)]
        lines = [head, ["---", *["---:"] * (len(head) - 1)]]
        lines += [[_cell(asdict(row)[name]) for name in head] for row in self.rows]
        lines[0] = [_HEAD[name] for name in head]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def save(self, path: str | Path) -> None:
        """The rows, one JSON object a line."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(asdict(row)) + "\n" for row in self.rows))

    def __repr__(self) -> str:
        return self.markdown()

    _repr_markdown_ = __repr__

    def __rich__(self) -> Any:
        from rich.table import Table

        table = Table()
        for name, title in _HEAD.items():
            if name != "error" or any(row.error for row in self.rows):
                table.add_column(title, justify="left" if name == "method" else "right")
        for row in self.rows:
            table.add_row(*[_cell(asdict(row)[name]) for name in _HEAD][: len(table.columns)])
        return table


_HEAD = {
    "method": "method",
    "mean_err": "mean error",
    "sd_ratio": "sd ratio",
    "w1": "W1",
    "w1_floor": "floor",
    "verdict": "verdict",
    "seconds": "seconds",
    "gradient_evaluations": "gradients",
    "error": "error",
}


def w1_floor(columns: Columns, draws: int) -> float:
    """W1 of one half of the reference against the other, brought to `draws` against `size`.

    W1 of exact draws goes as sqrt(1/n + 1/m).
    """
    size = len(next(iter(columns.values())))
    half = size // 2
    halves = np.mean([_w1(x[:half], x[half:]) / x.std() for x in columns.values()])
    return float(halves * math.sqrt((1 / draws + 1 / size) / (1 / half + 1 / (size - half))))


def score(
    row: ComparisonRow, columns: Columns, truth: Columns, floor: float
) -> tuple[ComparisonRow, np.ndarray, np.ndarray]:
    missing = sorted(set(truth) - set(columns))
    require(
        not missing,
        OpviError,
        expected="draws of every latent of the reference",
        got=f"none of {missing}",
        write="the pytree of posterior.sample(key, draws)",
    )
    pairs = [(columns[name], truth[name]) for name in truth]
    # Draws that are not finite have distances that are not: that is the row, not a warning.
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_errors = np.array([(x.mean() - y.mean()) / y.std() for x, y in pairs])
        sd_ratios = np.array([x.std() / y.std() for x, y in pairs])
        worst = np.argmax(np.abs(np.log(sd_ratios)))
    scored = {
        **asdict(row),
        "mean_err": float(np.abs(mean_errors).max()),
        "sd_ratio": float(sd_ratios[worst]),
        "w1": float(np.mean([_w1(x, y) / y.std() for x, y in pairs])),
        "w1_floor": floor,
    }
    return ComparisonRow(**scored), mean_errors, sd_ratios


def _w1(x: np.ndarray, y: np.ndarray) -> float:
    from scipy.stats import wasserstein_distance

    finite = np.isfinite(x).all() and np.isfinite(y).all()
    return float(wasserstein_distance(x, y)) if finite else math.inf


def columns_of(tree: PyTree) -> Columns:
    """One vector of draws for each number, by its name: `tau`, `theta[3]`."""
    layout = Layout.of(jax.tree_util.tree_map(lambda x: np.asarray(x)[0], tree))
    leaves = [np.asarray(x, np.float64) for x in jax.tree_util.tree_leaves(tree)]
    flat = np.concatenate([x.reshape(len(x), -1) for x in leaves], axis=1)
    return dict(zip(layout.columns, flat.T, strict=True))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3g}" if math.isfinite(value) else "inf"
    return f"{value:,}" if isinstance(value, int) else str(value)
