"""Histograms of the draws, one panel for each number."""

from typing import TYPE_CHECKING

import jax
import jax.random as jr
import numpy as np

from opvi._core.errors import OpviError, require
from opvi._core.layout import Layout
from opvi._core.types import Key
from opvi.plotting.style import BLUE, ORANGE, blank, style
from opvi.posterior import Posterior

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def marginals(
    posterior: Posterior,
    *,
    key: Key | None = None,
    draws: int = 4000,
    names: tuple[str, ...] | None = None,
    most: int = 16,
) -> "Figure":
    """The marginals of the latents on their own supports, with the mean and the central 90%.

    **Arguments:**

    - `names`: latents to draw, in this order; the first `most` numbers of all when left out.
    - `key`: of the draws; the posterior's own when left out, so that the picture does not change.
    """
    tree = posterior.sample(jr.fold_in(posterior.key, 0) if key is None else key, draws)
    columns = _columns(tree)
    chosen = _choose(tuple(columns), names)[:most]
    wide = min(4, len(chosen))
    high = -(-len(chosen) // wide)
    with style():
        figure = blank(2.3 * wide + 0.2, 1.7 * high + 0.2)
        for panel, name in enumerate(chosen):
            axes = figure.add_subplot(high, wide, panel + 1)
            x = columns[name]
            low, up = np.quantile(x, [0.05, 0.95])
            # The outermost draws of a heavy tail would squeeze all the rest into one bar.
            shown = x[(x >= low - 1.5 * (up - low)) & (x <= up + 1.5 * (up - low))]
            axes.hist(shown, bins=50, density=True, color=BLUE, alpha=0.45, linewidth=0)
            axes.axvline(x.mean(), color=ORANGE)
            axes.plot([low, up], [0, 0], color=ORANGE, linewidth=4, solid_capstyle="butt")
            axes.set_title(name)
            axes.set_yticks([])
            axes.spines["left"].set_visible(False)
        figure.supxlabel("value (line: mean; bar: central 90%)", fontsize=8)
    return figure


def _columns(tree: object) -> dict[str, np.ndarray]:
    """One vector of draws for each number, by its name: `tau`, `theta[3]`."""
    layout = Layout.of(jax.tree_util.tree_map(lambda x: x[0], tree))
    leaves = [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(tree)]
    flat = np.concatenate([leaf.reshape(len(leaf), -1) for leaf in leaves], axis=1)
    return dict(zip(layout.columns, flat.T, strict=True))


def _choose(columns: tuple[str, ...], names: tuple[str, ...] | None) -> tuple[str, ...]:
    if names is None:
        return columns
    latents = {column.partition("[")[0] for column in columns}
    unknown = [name for name in names if name not in latents and name not in columns]
    require(
        not unknown,
        OpviError,
        expected=f"names of latents: {sorted(latents)}",
        got=f"{unknown}",
        write=f"names=({columns[0]!r},)",
    )
    return tuple(c for name in names for c in columns if name in (c, c.partition("[")[0]))
