"""How a fit of several stages came about: the log, and the outcome in the form of a single run's."""

import equinox as eqx
import numpy as np

from opvi.solver import History, Result


class Stage(eqx.Module):
    """One stage: its name, what it found and so what came next, and what it cost."""

    name: str = eqx.field(static=True)
    found: str = eqx.field(static=True)
    evaluations: int = eqx.field(static=True)
    seconds: float = eqx.field(static=True)

    def __repr__(self) -> str:
        return f"{self.name}: {self.found} [{self.evaluations:,} evaluations, {self.seconds:.1f} s]"


class StagedSolution(eqx.Module):
    """What a `Solution` says, of a fit that was no single run: it has stages instead of a state.

    `history.objective` is KL(q || p) up to its constant, as each iteration of the stages that have
    one estimated it.
    """

    stages: tuple[Stage, ...]
    history: History
    result: Result = eqx.field(static=True)
    gradient_evaluations: int = eqx.field(static=True)
    seconds: float = eqx.field(static=True)

    @property
    def skipped(self) -> int:
        return int(self.history.skipped.sum())


def history_of(objective: list[float]) -> History:
    values = np.asarray(objective, float)
    return History(values, ~np.isfinite(values), np.zeros(len(values), int))
