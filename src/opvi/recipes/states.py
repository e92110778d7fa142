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
    FullRank,
    MixedFamily,
)
from opvi.objective import Objective
from opvi.operators import KL
from opvi.targets import AbstractDiscreteTarget, AbstractMixedTarget, AbstractTarget

Maker = Callable[..., AbstractFamily]


def has_states(target: AbstractTarget) -> bool:
    return isinstance(target, AbstractDiscreteTarget | AbstractMixedTarget)


def make_family_of_states(
    maker: Maker | None, target: AbstractDiscreteTarget | AbstractMixedTarget, key: Key
) -> AbstractFamily:
    """Autoregressive states, beside a full-rank Gaussian for the real numbers; or what `maker` makes.

    It is called with (cardinalities, key=key) for states, (continuous, cardinalities, key=key) for
    real numbers and states.
    """
    if isinstance(target, AbstractDiscreteTarget):
        maker = Autoregressive if maker is None else maker
        _check_class(maker, AbstractDiscreteFamily, "opvi.Autoregressive")
        made = maker(target.cardinalities, key=key)
    else:
        maker = _gaussian_and_autoregressive if maker is None else maker
        _check_class(maker, AbstractMixedFamily, "opvi.ConditionalMixedFamily")
        made = maker(target.continuous, target.cardinalities, key=key)
    return made


def estimator_of_states(objective: Objective) -> AbstractEstimator:
    """Leave-one-out; each state's own part of the signal where the objective is KL."""
    return ScoreFunction(rao_blackwell=isinstance(objective.operator, KL))


def _gaussian_and_autoregressive(
    continuous: int, cardinalities: tuple[int, ...], *, key: Key
) -> MixedFamily:
    return MixedFamily(FullRank(continuous), Autoregressive(cardinalities, key=key))


def _check_class(maker: Maker, kind: type[AbstractFamily], write: str) -> None:
    """A class that makes another kind of family is refused before it is handed the wrong numbers."""
    require(
        not isinstance(maker, type) or issubclass(maker, kind),
        IncompatibleError,
        expected="a family over the kind of latents that the target has",
        got=f"{getattr(maker, '__name__', maker)}",
        write=f"family={write}",
    )
