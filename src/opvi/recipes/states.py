"""What `fit` does with latents that have states: which family, objective and estimator."""

from collections.abc import Callable

from opvi._core.errors import IncompatibleError, require
from opvi._core.types import Key
from opvi.estimators import AbstractEstimator, ScoreFunction
from opvi.families import (
    AbstractDiscreteFamily,
    AbstractFamily,
    AbstractMixedFamily,
    Autoregressive,
    ConditionalMixedFamily,
)
from opvi.objective import Objective
from opvi.operators import KL
from opvi.solver import linear_annealing
from opvi.solver.schedules import Schedule
from opvi.targets import AbstractDiscreteTarget, AbstractMixedTarget, AbstractTarget

Maker = Callable[..., AbstractFamily]


def has_states(target: AbstractTarget) -> bool:
    return isinstance(target, AbstractDiscreteTarget | AbstractMixedTarget)


def make_family_of_states(
    maker: Maker | None, target: AbstractDiscreteTarget | AbstractMixedTarget, key: Key
) -> AbstractFamily:
    """Autoregressive states, and given them Gaussian real numbers; or what `maker` makes.

    It is called with (cardinalities, key=key) for states, (continuous, cardinalities, key=key) for
    real numbers and states.
    """
    if isinstance(target, AbstractDiscreteTarget):
        maker = Autoregressive if maker is None else maker
        _check_class(maker, AbstractDiscreteFamily, "opvi.Autoregressive")
        made = maker(target.cardinalities, key=key)
    else:
        maker = ConditionalMixedFamily if maker is None else maker
        _check_class(maker, AbstractMixedFamily, "opvi.ConditionalMixedFamily")
        made = maker(target.continuous, target.cardinalities, key=key)
    return made


def estimator_of_states(objective: Objective) -> AbstractEstimator:
    """Leave-one-out; each state's own part of the signal where the objective is KL."""
    return ScoreFunction(rao_blackwell=isinstance(objective.operator, KL))


def temperature_of_states(
    target: AbstractTarget, objective: Objective, steps: int
) -> Schedule | None:
    """Annealing for KL where real numbers go with states.

    A state is judged by the real numbers that q draws for it. At first these are far from where they
    belong, all the more for states whose place is elsewhere, and KL drops such a state before its real
    numbers have arrived, for good. A flat start keeps every state alive until then.
    """
    kl = isinstance(objective.operator, KL)
    return linear_annealing(steps) if kl and isinstance(target, AbstractMixedTarget) else None


def _check_class(maker: Maker, kind: type[AbstractFamily], write: str) -> None:
    """A class that makes another kind of family is refused before it is handed the wrong numbers."""
    require(
        not isinstance(maker, type) or issubclass(maker, kind),
        IncompatibleError,
        expected="a family over the kind of latents that the target has",
        got=f"{getattr(maker, '__name__', maker)}",
        write=f"family={write}",
    )
