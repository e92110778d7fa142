"""The picture: every estimate in standard errors of maximum likelihood, with the band of two."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from opvi.plotting import BLUE, GREEN, GREY, ORANGE, blank, style
from opvi.studies._results import Row
from opvi.studies.stein_models import laws

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LOOKS = {
    "score_matching": (GREEN, "o", "score matching"),
    "kernel": (BLUE, "s", "kernel ball"),
    "neural": (ORANGE, "^", "neural, L2 ball"),
}


def estimates(rows: Sequence[Row]) -> "Figure":
    """A panel for each law, a column of points for each of its parameters, one point a seed."""
    with style():
        figure = blank(8.6, 2.9)
        widths = [len(law.parameters) for law in laws.LAWS.values()]
        panels = figure.subplots(1, len(laws.LAWS), sharey=True, width_ratios=widths)
        for axes, (name, law) in zip(panels, laws.LAWS.items(), strict=True):
            axes.axhspan(-2.0, 2.0, color=GREY, alpha=0.12, linewidth=0)
            axes.axhline(0.0, color=GREY, linewidth=0.8)
            for k, (method, (colour, marker, label)) in enumerate(_LOOKS.items()):
                own = [row for row in rows if row["law"] == name and row["method"] == method]
                for row in own:
                    z = [
                        (theta - best) / error
                        for theta, best, error in zip(
                            row["parameters"],
                            row["maximum_likelihood"],
                            row["standard_errors"],
                            strict=True,
                        )
                    ]
                    at = [i + 0.22 * (k - 1) for i in range(len(z))]
                    axes.scatter(
                        at,
                        z,
                        s=20,
                        color=colour,
                        marker=marker,
                        alpha=0.8,
                        linewidths=0,
                        label=label if row is own[0] else None,
                    )
            axes.set_title(name)
            axes.set_xticks(range(len(law.parameters)), law.parameters)
        panels[0].set_ylabel("estimate less ML, in s.e. of ML")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure
