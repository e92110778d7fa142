"""The picture: how each model was learned, and how much evidence it gives to test images."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from opvi.plotting import BLUE, GREEN, GREY, ORANGE, blank, style
from opvi.studies._results import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = {"mean_field_kl": GREY, "full_rank_kl": GREEN, "program_ls": BLUE}


def learning(
    rows: Sequence[Row], histories: Mapping[str, np.ndarray], labels: Mapping[str, str]
) -> "Figure":
    """Left: E_q[log p(x, z)] of the training batches. Right: test log-likelihood less that of mean
    field + KL, with two paired standard errors, a mark for each seed."""
    with style():
        figure = blank(8.0, 2.8)
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        names = list(histories)
        for name in names:
            values = histories[name]
            window = max(1, len(values) // 100)
            smooth = values[: len(values) // window * window].reshape(-1, window).mean(axis=1)
            steps = window * (np.arange(len(smooth)) + 0.5)
            left.plot(steps, smooth, color=_COLOURS.get(name, ORANGE), label=labels[name])
        late = np.concatenate([history[len(history) // 10 :] for history in histories.values()])
        left.set_ylim(np.quantile(late, 0.01), late.max())
        left.set(xlabel="step", ylabel="E_q log p(x, z), training")
        left.legend(loc="lower right")
        for k, name in enumerate(names):
            own = [row for row in rows if row["method"] == name]
            for i, row in enumerate(own):
                right.errorbar(
                    row["difference_to_mean_field_kl"],
                    len(names) - 1 - k + 0.12 * (i - (len(own) - 1) / 2),
                    xerr=2.0 * row["paired_difference_se"],
                    fmt="o",
                    markersize=4,
                    color=_COLOURS.get(name, ORANGE),
                )
        right.axvline(0.0, color=GREY, linewidth=0.8)
        right.set_yticks(range(len(names)), [labels[name] for name in reversed(names)])
        right.set_ylim(-0.5, len(names) - 0.5)
        right.set_xlabel("test log p(x) less that of mean field + KL")
    return figure
