"""One look for every picture: colours that differ for every kind of colour vision, and in grey."""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito (2008), the darker four: what is fitted, what is true, what warns, what is beside.
BLUE, GREEN, ORANGE, GREY = "#0072B2", "#009E73", "#D55E00", "#595959"

_RC: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": GREY,
    "axes.grid": False,
    "axes.labelcolor": "#222222",
    "axes.labelsize": 9,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "figure.dpi": 100,
    "figure.facecolor": "white",
    "font.family": "sans-serif",
    "font.size": 9,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "savefig.dpi": 200,
    "xtick.color": GREY,
    "xtick.labelsize": 8,
    "ytick.color": GREY,
    "ytick.labelsize": 8,
}


def style() -> AbstractContextManager[None]:
    """`with style(): ...`: what is drawn inside has the look; the reader's own settings stay."""
    import matplotlib

    return matplotlib.rc_context(_RC)


def blank(width: float, height: float) -> "Figure":
    """An empty figure of so many inches, bound to no window and no notebook. Call it in `style()`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure
