"""The picture: a table of colours for each shape, and one of the weight of the left mode."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from opvi.plotting import blank, style
from opvi.studies._results import Row
from opvi.studies.objectives import shapes
from opvi.studies.objectives.config import AT_THE_MODES, BETWEEN

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLES = {
    "modes": "two unequal modes",
    "banana": "banana",
    "funnel": "funnel",
    "heavy": "heavy tails",
    "gaussian": "correlated Gaussian",
}


@dataclass(frozen=True)
class _Panel:
    """One table: which rows, the number of each, and how dark it is from 0 (right) to 1."""

    title: str
    target: str
    start: str
    number: Callable[[Row], float]
    colour: Callable[[float], float]


def objectives(rows: Sequence[Row]) -> "Figure":
    """W1 in units of its floor, and the weight of a mode; hatched where there is no row: refused."""
    across = list(dict.fromkeys(row["family"] for row in rows))
    down = list(dict.fromkeys(row["objective"] for row in rows))
    panels = list(_panels(rows))
    columns = min(3, len(panels))
    lines = math.ceil(len(panels) / columns)
    with style():
        wide, high = max(1.1 + 0.42 * len(across), 2.9), 1.3 + 0.25 * len(down)
        figure = blank(columns * wide, lines * high)
        grid = np.atleast_1d(figure.subplots(lines, columns, sharex=True, sharey=True)).ravel()
        for axes, panel in zip(grid, panels, strict=False):
            _table(axes, panel, _matrix(rows, panel, down, across))
        for axes in grid[: len(panels)]:
            axes.tick_params(labelbottom=True)
            axes.set_xticks(
                range(len(across)), [_words(a) for a in across], rotation=55, ha="right"
            )
            axes.set_yticks(range(len(down)), [_words(d) for d in down])
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
    return figure


def _panels(rows: Sequence[Row]) -> Iterator[_Panel]:
    for name, title in _TITLES.items():
        if any(row["target"] == name for row in rows):
            yield _Panel(f"{title}: W1 / floor", name, BETWEEN, _relative, _in_doublings)
    left = f"weight of the left, {shapes.LEFT}"
    yield _Panel(f"modes: {left}", "modes", BETWEEN, _weight, _off)
    yield _Panel("... started at them, at .5", "modes", AT_THE_MODES, _weight, _off)
    yield _Panel("... and further apart", "far", AT_THE_MODES, _weight, _off)


def _weight(row: Row) -> float:
    return row["mode_weight"]


def _relative(row: Row) -> float:
    return row["w1"] / row["w1_floor"]


def _in_doublings(value: float) -> float:
    """0 at the floor, 1 at 64 times the floor."""
    return math.log2(max(value, 1.0)) / 6.0


def _off(value: float) -> float:
    return abs(value - shapes.LEFT) / 0.4


def _matrix(
    rows: Sequence[Row], panel: _Panel, down: Sequence[str], across: Sequence[str]
) -> np.ndarray:
    """The median over seeds; NaN where there is no row."""
    here: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row["target"] == panel.target and row["start"] == panel.start:
            here.setdefault((row["objective"], row["family"]), []).append(panel.number(row))
    return np.asarray([[np.median(here.get((d, a), [math.nan])) for a in across] for d in down])


def _table(axes: "Axes", panel: _Panel, values: np.ndarray) -> None:
    axes.patch.set(hatch="////", edgecolor="#d0d0d0", facecolor="white")
    shade = np.full(values.shape, math.nan)
    for at, value in np.ndenumerate(values):
        if not math.isnan(value):
            shade[at] = min(panel.colour(value), 1.0)
            ink = "white" if shade[at] > 0.55 else "black"
            axes.text(
                at[1], at[0], _short(value), ha="center", va="center", fontsize=6.5, color=ink
            )
    axes.imshow(shade, cmap="cividis_r", vmin=0.0, vmax=1.0, aspect="auto")
    axes.set_title(panel.title)


def _short(value: float) -> str:
    if value >= 1000:
        return "> 999"
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 10 else f"{value:.0f}"


def _words(name: str) -> str:
    return name.replace("_", " ")
