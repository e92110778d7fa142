"""What a run returns: the last state, the history, and a result whose text says how it ended."""

import enum

import equinox as eqx
import numpy as np

from opvi.families import AbstractFamily
from opvi.solver.minmax import State
from opvi.testfunctions import AbstractTestFunction


class Result(enum.Enum):
    """How a run ended. The value is the message. Whether the fit is *good* is another question."""

    completed = "All steps were taken."
    interrupted = "Interrupted: this is the fit so far. Continue it with `state=solution.state`."
    diverged = (
        "Diverged: every gradient of the last steps was NaN or infinite, or the draws were. This is "
        "the last finite state, not a posterior. Lower the learning rate, start closer, or look for "
        "where the log density is NaN."
    )


class History(eqx.Module):
    """One entry a step."""

    objective: np.ndarray
    skipped: np.ndarray
    test_function_skipped: np.ndarray


class Solution(eqx.Module):
    """The outcome of `solve`."""

    state: State
    history: History
    result: Result = eqx.field(static=True)
    gradient_evaluations: int = eqx.field(static=True)
    seconds: float = eqx.field(static=True)

    @property
    def family(self) -> AbstractFamily:
        return self.state.family

    @property
    def test_function(self) -> AbstractTestFunction:
        return self.state.test_function

    @property
    def skipped(self) -> int:
        """Steps of q whose gradient was not finite."""
        return int(self.history.skipped.sum())
