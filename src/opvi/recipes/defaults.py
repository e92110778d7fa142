"""What stands in for a piece that the caller leaves out: read by `fit`, `fit_many` and `learn`."""

from collections.abc import Callable

import optax

from opvi._core.errors import IncompatibleError, require
from opvi._core.types import Key
from opvi.estimators import (
    AbstractEstimator,
    FunctionalGradient,
    PathGradient,
    Reparameterised,
)
from opvi.families import (
    AbstractDiscreteFamily,
    AbstractFamily,
    AbstractMixedFamily,
    AbstractTractableFamily,
    AbstractWeightedFamily,
)
from opvi.objective import Objective
from opvi.operators import KL, AbstractClosedFormTestFunctionFamily, LangevinStein
from opvi.recipes.states import estimator_of_states
from opvi.solver import adam

FamilyOrMaker = AbstractFamily | Callable[..., AbstractFamily]


def make_family(family: FamilyOrMaker, dim: int, key: Key) -> AbstractFamily:
    """The family itself, or what its maker makes of `(dim, key=key)`."""
    made = family if isinstance(family, AbstractFamily) else family(dim, key=key)
    require(
        isinstance(made, AbstractFamily),
        IncompatibleError,
        expected="a family, or a callable (dim, key=key) that makes one",
        got=f"something that made a {type(made).__name__}",
        write="family=opvi.FullRank",
    )
    return made


def default_objective(family: AbstractFamily) -> Objective:
    """KL where q has a density, Langevin-Stein over the L2 ball where it has none."""
    return Objective(KL() if isinstance(family, AbstractTractableFamily) else LangevinStein())


def default_estimator(objective: Objective, family: AbstractFamily) -> AbstractEstimator:
    """The path gradient of KL, the functional gradient where f* is learned, else eq. 7 as it stands."""
    if isinstance(family, AbstractDiscreteFamily | AbstractMixedFamily):
        return estimator_of_states(objective)
    if isinstance(objective.operator, KL):
        return PathGradient()
    if isinstance(objective.test_functions, AbstractClosedFormTestFunctionFamily):
        return Reparameterised()
    functional = isinstance(objective.operator, LangevinStein)
    functional = functional and objective.test_functions.ball.linear
    # Pushing draws along f moves no mixture weight.
    if functional and not isinstance(family, AbstractWeightedFamily):
        return FunctionalGradient()
    return Reparameterised()


def default_rate(objective: Objective) -> float:
    """Of Adam on both sides: a min-max problem takes smaller steps than a descent."""
    closed = isinstance(objective.test_functions, AbstractClosedFormTestFunctionFamily)
    return 1e-2 if closed or isinstance(objective.operator, KL) else 2e-3


def default_optimisers(
    rate: float, steps: int, critic_steps: int
) -> tuple[optax.GradientTransformation, optax.GradientTransformation]:
    """Adam for q and for f, each decaying over its own number of updates."""
    # f takes critic_steps updates a step: a shorter decay would freeze it while q still moves.
    # (No critic step at all is for `MinMax` to refuse, not for the schedule.)
    return adam(rate, steps), adam(rate, steps * max(critic_steps, 1))
