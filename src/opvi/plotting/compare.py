"""Methods beside each other: how far each is from the reference, and what it cost."""

from typing import TYPE_CHECKING

import numpy as np

from opvi.plotting.style import BLUE, GREEN, GREY, ORANGE, blank, style
from opvi.recipes import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = {"good": GREEN, "means_only": BLUE, "unreliable": ORANGE}


def comparison(comparison: Comparison) -> "Figure":
    """A line for each method: the error of the mean and the ratio of the sds of every column (one
    dot each), W1 with the floor that exact draws have, and the gradient evaluations. The colour is
    the verdict."""
    rows = [row for row in comparison.rows if row.method in comparison.mean_errors]
    height = 0.32 * max(len(rows), 2) + 0.95
    y = np.arange(len(rows), dtype=float)[::-1]
    colours = [_COLOURS.get(row.verdict or "", GREY) for row in rows]
    with style():
        figure = blank(8.6, height)
        axes = figure.subplots(1, 4, sharey=True, width_ratios=(3, 3, 2, 2))
        for at, row, colour in zip(y.tolist(), rows, colours, strict=True):
            _dots(axes[0], comparison.mean_errors[row.method], at, colour)
            ratios = np.maximum(comparison.sd_ratios[row.method], 1e-12)
            _dots(axes[1], np.log2(ratios), at, colour)
        axes[0].set_xscale("symlog", linthresh=0.1, linscale=1.0)
        axes[1].set_xscale("symlog", linthresh=0.1, linscale=1.0)
        for panel in axes[:2]:
            panel.axvline(0.0, color=GREY, linewidth=0.6, linestyle=(0, (4, 4)))
            panel.axvspan(-0.1, 0.1, color=GREY, alpha=0.12, linewidth=0)
        axes[2].scatter([_known(row.w1) for row in rows], y, c=colours, s=22)
        axes[2].set_xscale("log")
        floor = next((row.w1_floor for row in rows if row.w1_floor), None)
        if floor is not None:
            axes[2].axvline(floor, color=GREY, linewidth=0.8, linestyle=(0, (4, 4)))
        axes[3].scatter([_known(row.gradient_evaluations) for row in rows], y, c=colours, s=22)
        axes[3].set_xscale("log")
        titles = ("mean error / sd", "log2 of the sd ratio", "W1 / sd (line: floor)", "gradients")
        for panel, title in zip(axes, titles, strict=True):
            panel.set_title(title)
            panel.grid(axis="y", color=GREY, alpha=0.15)
            panel.set_ylim(-0.6, max(len(rows), 1) - 0.4)
        axes[0].set_yticks(y, [row.method for row in rows])
        _legend(figure, {row.verdict for row in rows})
    return figure


def _dots(axes: "Axes", values: np.ndarray, y: float, colour: str) -> None:
    values = values[np.isfinite(values)]
    axes.scatter(values, np.full(values.shape, y), color=colour, s=14, alpha=0.6, linewidths=0)


def _known(value: float | None) -> float:
    return float("nan") if value is None or not np.isfinite(value) else float(value)


def _legend(figure: "Figure", verdicts: set[str | None]) -> None:
    from matplotlib.lines import Line2D

    shown = [name for name in (*_COLOURS, None) if name in verdicts]
    handles = [
        Line2D(
            [], [], linestyle="none", marker="o", markersize=5, color=_COLOURS.get(v or "", GREY)
        )
        for v in shown
    ]
    labels = [(v or "no verdict").replace("_", " ") for v in shown]
    figure.legend(handles, labels, loc="outside lower right", ncols=len(shown))
