"""The picture: the truth in every panel, and what each method made of it."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from opvi.plotting import BLUE, GREEN, ORANGE, blank, style
from opvi.studies._results import Row
from opvi.studies.mixture import law

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_Z = np.linspace(-7.5, 7.5, 601)
_BINS = np.linspace(-7.5, 7.5, 121)


def mixture(rows: Sequence[Row], draws: Mapping[str, Sequence[np.ndarray]]) -> "Figure":
    """`draws` has the draws of each seed, by method."""
    by_method = {name: [row for row in rows if row["method"] == name] for name in draws}
    programs = [("ls_program", "(c) LS, program")]
    if "ls_program_literal" in draws:
        programs.append(("ls_program_literal", "(d) LS, program, as published"))
    count = 2 + len(programs)
    with style():
        figure = blank(2.55 * count, 2.6)
        panels = figure.subplots(1, count, sharex=True, sharey=True)
        for axes in panels:
            axes.fill_between(_Z, law.density(_Z), color=GREEN, alpha=0.22, linewidth=0)
            axes.plot(_Z, law.density(_Z), color=GREEN, linewidth=1.0, label="posterior")
        _gaussians(panels[0], "(a) KL, Gaussian", {"path gradient": by_method["kl_gaussian"]})
        _gaussians(
            panels[1],
            "(b) LS, Gaussian",
            {
                "objective's gradient": by_method["ls_gaussian"],
                "functional gradient": by_method["ls_gaussian_functional"],
            },
        )
        for axes, (name, title) in zip(panels[2:], programs, strict=True):
            _program(axes, title, draws[name][0], by_method[name])
        panels[0].set_ylabel("density")
        for axes in panels:
            axes.set(xlabel="z", xlim=(-7.5, 7.5), ylim=(0, 0.6), xticks=(-6, -3, 0, 3, 6))
            axes.legend(loc="upper left", handlelength=1.4, borderaxespad=0.1)
    return figure


def _gaussians(axes: "Axes", title: str, methods: Mapping[str, Sequence[Row]]) -> None:
    """One curve a seed."""
    looks = ((BLUE, "-"), (ORANGE, (0, (4, 2))))
    for (label, rows), (colour, line) in zip(methods.items(), looks, strict=False):
        for i, row in enumerate(rows):
            bell = np.exp(-0.5 * ((_Z - row["mean"]) / row["sd"]) ** 2)
            axes.plot(
                _Z,
                bell / (row["sd"] * math.sqrt(2.0 * math.pi)),
                color=colour,
                linestyle=line,
                linewidth=1.1,
                alpha=0.85,
                label=None if i else f"{label}, {_seeds(rows)}",
            )
    axes.set_title(title)


def _program(axes: "Axes", title: str, draws: np.ndarray, rows: Sequence[Row]) -> None:
    """The histogram of the first seed: the density of a program is not known."""
    distance = np.median([row["w1"] for row in rows])
    axes.hist(
        draws,
        bins=_BINS.tolist(),
        density=True,
        histtype="stepfilled",
        facecolor=(0.0, 0.45, 0.7, 0.25),
        edgecolor=BLUE,
        linewidth=1.0,
        label=f"draws, median W1 {distance:.3f}",
    )
    axes.set_title(title)


def _seeds(rows: Sequence[Row]) -> str:
    return f"{len(rows)} seed{'s' if len(rows) > 1 else ''}"
