"""The objective over the steps of a fit."""

from typing import TYPE_CHECKING

import numpy as np

from opvi.plotting.style import BLUE, GREY, ORANGE, blank, style
from opvi.posterior import Posterior

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def history(posterior: Posterior, *, windows: int = 100) -> "Figure":
    """The estimate of the objective at every step, its median over each of `windows` stretches, and
    the steps that were skipped because a gradient was not finite."""
    objective = np.asarray(posterior.history.objective, float)
    step = np.arange(1, len(objective) + 1)
    parts = np.array_split(step, min(windows, len(step)))
    finite = np.where(np.isfinite(objective), objective, np.nan)
    middle = [_median(finite[part - 1]) for part in parts]
    with style():
        figure = blank(5.0, 2.6)
        axes = figure.add_subplot()
        axes.plot(step, finite, color=BLUE, alpha=0.25, linewidth=0.6, label="each step")
        axes.plot([p.mean() for p in parts], middle, color=BLUE, label="median of a stretch")
        skipped = step[np.asarray(posterior.history.skipped)]
        if skipped.size:
            axes.plot(
                skipped,
                np.zeros(skipped.size),
                linestyle="none",
                marker="|",
                color=ORANGE,
                label=f"{skipped.size} skipped",
                transform=axes.get_xaxis_transform(),
            )
        low, high = _limits(finite)
        if low <= 0.0 <= high:
            axes.axhline(0.0, color=GREY, linewidth=0.6, linestyle=(0, (4, 4)))
        axes.set_ylim(low, high)
        axes.set_xlim(1, max(2, len(step)))
        axes.set_xlabel("step")
        axes.set_ylabel("objective")
        # Above the axes: a curve that falls and one that rises both leave room there.
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, borderaxespad=0.0)
    return figure


def _median(values: np.ndarray) -> float:
    values = values[np.isfinite(values)]
    return float(np.median(values)) if values.size else float("nan")


def _limits(values: np.ndarray) -> tuple[float, float]:
    """The first steps may be a thousand times the last: show what all but a few steps do.

    And zero, where it is near: the least of a Stein objective, but nothing special to a KL, which is
    known up to a constant.
    """
    values = values[np.isfinite(values)]
    if not values.size:
        return -1.0, 1.0
    low, high = np.quantile(values, [0.01, 0.97])
    reach = high - low
    low, high = (0.0 if 0.0 < low < reach else low), (0.0 if -reach < high < 0.0 else high)
    margin = 0.08 * (high - low) or 1.0
    return low - margin, high + margin
