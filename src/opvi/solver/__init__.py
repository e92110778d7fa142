"""One pure min-max step, one loop on top of it, and what comes out."""

from opvi.solver.loop import solve
from opvi.solver.minmax import Info, MinMax, State
from opvi.solver.optimisers import adam
from opvi.solver.progress import AbstractProgress, NoProgress, RichProgress
from opvi.solver.schedules import linear_annealing
from opvi.solver.solution import History, Result, Solution
from opvi.solver.stopping import Stop, StoppingRule

__all__ = [
    "AbstractProgress",
    "History",
    "Info",
    "MinMax",
    "NoProgress",
    "Result",
    "RichProgress",
    "Solution",
    "State",
    "Stop",
    "StoppingRule",
    "adam",
    "linear_annealing",
    "solve",
]
