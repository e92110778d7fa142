"""The pictures: what each method makes of the hidden half, two posteriors, and the table."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from opvi.plotting import BLUE, GREEN, GREY, ORANGE, blank, style
from opvi.studies._results import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from opvi.studies.lfa.run import Measurement, Problem

SIDE = 28


def reconstructions(problem: "Problem", found: Mapping[str, "Measurement"]) -> "Figure":
    """Original, what was seen (hidden pixels in orange), and E_q[x | z] where pixels were hidden."""
    count = len(found["hmc"].draws)
    rows = [("original", problem.images[:count].astype(float))]
    rows.append(("seen", np.stack([_seen(problem, i) for i in range(count)])))
    for one in found.values():
        made = np.stack([_completed(problem, i, one.draws[i]) for i in range(count)])
        rows.append((one.label, made))
    with style():
        figure = blank(0.62 * count + 2.1, 0.66 * len(rows))
        panels = figure.subplots(len(rows), count, squeeze=False)
        for line, (label, images) in zip(panels, rows, strict=True):
            for axes, image in zip(line, images, strict=True):
                _picture(axes, image)
            line[0].set_ylabel(label, rotation=0, ha="right", va="center")
    return figure


def _seen(problem: "Problem", i: int) -> np.ndarray:
    image = problem.images[i].astype(float)
    image[problem.order[i, problem.seen.values.shape[1] :]] = np.nan
    return image


def _completed(problem: "Problem", i: int, z: np.ndarray) -> np.ndarray:
    logits = z @ np.asarray(problem.parameters.weights).T + np.asarray(problem.parameters.biases)
    image = (1.0 / (1.0 + np.exp(-logits))).mean(axis=0)
    seen = problem.order[i, : problem.seen.values.shape[1]]
    image[seen] = problem.images[i, seen]
    return image


def _picture(axes: "Axes", image: np.ndarray) -> None:
    shades = np.repeat(1.0 - image.reshape(SIDE, SIDE, 1), 3, axis=2)
    hidden = np.isnan(shades[..., 0])
    shades[hidden] = (0.96, 0.80, 0.70)
    axes.imshow(shades, interpolation="nearest", vmin=0.0, vmax=1.0)
    axes.set(xticks=(), yticks=())
    for side in axes.spines.values():
        side.set_visible(False)


def posteriors(found: Mapping[str, "Measurement"], images: int = 2, shown: int = 500) -> "Figure":
    """The two latents that depend on each other most, of two images: draws of each method, and the
    ellipses of one and two standard deviations of HMC."""
    truth = found["hmc"].draws
    methods = [one for name, one in found.items() if name != "hmc"]
    images = min(images, len(truth))
    columns = (len(methods) + 1) // 2 if len(methods) > 6 else len(methods)
    lines = -(-len(methods) // columns)
    with style():
        figure = blank(1.75 * columns, 1.85 * images * lines)
        panels = figure.subplots(images * lines, columns, squeeze=False)
        for axes in panels.flat:
            axes.set_axis_off()
        for k, one in enumerate(methods):
            for i in range(images):
                axes = panels[(k // columns) * images + i, k % columns]
                axes.set_axis_on()
                a, b = _dependent(truth[i])
                z = one.draws[i][:shown]
                axes.scatter(z[:, a], z[:, b], s=3, color=BLUE, alpha=0.35, linewidths=0)
                for radius in (1.0, 2.0):
                    axes.plot(*_ellipse(truth[i][:, [a, b]], radius), color=GREEN, linewidth=1.2)
                centre, sd = truth[i].mean(axis=0), truth[i].std(axis=0)
                axes.set_xlim(centre[a] - 4 * sd[a], centre[a] + 4 * sd[a])
                axes.set_ylim(centre[b] - 4 * sd[b], centre[b] + 4 * sd[b])
                axes.set(xticks=(), yticks=())
                axes.set_xlabel(f"z[{a}]")
                axes.set_ylabel(f"image {i + 1}: z[{b}]" if k % columns == 0 else f"z[{b}]")
                if i == 0:
                    axes.set_title(one.label, fontsize=7.5)
    return figure


def _dependent(z: np.ndarray) -> tuple[int, int]:
    correlation = np.abs(np.corrcoef(z, rowvar=False))
    np.fill_diagonal(correlation, 0.0)
    a, b = np.unravel_index(np.argmax(correlation), correlation.shape)
    return int(min(a, b)), int(max(a, b))


def _ellipse(z: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    angle = np.linspace(0.0, 2.0 * np.pi, 120)
    root = np.linalg.cholesky(np.cov(z, rowvar=False))
    x, y = z.mean(axis=0)[:, None] + radius * root @ np.stack([np.cos(angle), np.sin(angle)])
    return x, y


_PAPER = ("mean_field_kl", "mean_field_ls", "program_ls")


def table(rows: Sequence[Row], found: Mapping[str, "Measurement"]) -> "Figure":
    """Table 1 as a picture, and what it cannot say: how far each is from the posterior.

    Green: the truth. Blue: the paper's rows. Orange: the same as published. Grey: the others."""
    y = np.arange(len(rows), dtype=float)[::-1]
    colours = [_colour(row["method"]) for row in rows]
    with style():
        figure = blank(8.6, 0.3 * len(rows) + 0.9)
        panels = figure.subplots(1, 4, sharey=True, width_ratios=(3, 2, 2, 2))
        # Before anything is drawn, so that margins are those of the scale.
        panels[0].set_xscale("symlog", linthresh=0.2)
        panels[2].set_xscale("symlog", linthresh=0.1)
        for at, row, colour in zip(y.tolist(), rows, colours, strict=True):
            error = 2.0 * row["paired_gap_se"]
            panels[0].errorbar(
                row["gap_to_hmc"], at, xerr=error, fmt="o", color=colour, markersize=5
            )
            text = f"{row['completed_log_likelihood']:.2f}"
            panels[0].annotate(
                text, (1.02, at), xycoords=("axes fraction", "data"), fontsize=7.5, va="center"
            )
        panels[0].axvline(0.0, color=GREEN, linewidth=0.8)
        floor = next(row["w1"] for row in rows if row["method"] == "hmc")
        shown = ("w1", "logsd_bias", "gradient_evaluations")
        for axes, number in zip(panels[1:], shown, strict=True):
            axes.scatter([row[number] for row in rows], y, c=colours, s=24)
        _logarithmic(panels[1], [row["w1"] for row in rows])
        _logarithmic(panels[3], [float(row["gradient_evaluations"]) for row in rows])
        panels[1].axvline(floor, color=GREEN, linewidth=0.8)
        panels[2].axvline(0.0, color=GREEN, linewidth=0.8)
        titles = (
            "log p(hidden) less HMC's, 2 s.e.",
            "W1 / sd",
            "log sd ratio",
            "gradients",
        )
        for axes, title in zip(panels, titles, strict=True):
            axes.set_title(title)
            axes.grid(axis="y", color=GREY, alpha=0.15)
            axes.set_ylim(-0.6, len(rows) - 0.4)
        panels[0].set_yticks(y, [found[row["method"]].label for row in rows])
    return figure


def _logarithmic(axes: "Axes", values: Sequence[float]) -> None:
    """A logarithmic axis with ticks that have room."""
    low, high = min(values) / 1.4, max(values) * 1.4
    steps = (1, 2, 5) if high / low < 15.0 else (1,)
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    ticks = [step * 10.0**power for power in powers for step in steps]
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlim(low, high)


def _colour(method: str) -> str:
    if method == "hmc":
        return GREEN
    if method in _PAPER:
        return BLUE
    return ORANGE if method.endswith("_published") else GREY
