"""Which operators, families and targets know states, which know real numbers, which know both."""

from opvi._core.errors import IncompatibleError, require
from opvi.families import AbstractDiscreteFamily, AbstractFamily, AbstractMixedFamily
from opvi.operators._base import AbstractGradientFreeOperator, AbstractOperator
from opvi.operators.discrete_stein import AbstractDiscreteSteinOperator
from opvi.operators.discrete_stein_mixed import MixedStein
from opvi.targets import AbstractDiscreteTarget, AbstractMixedTarget, AbstractTarget

STATES, MIXED, REAL = "states", "real numbers and states", "real numbers"


def check_operator(operator: AbstractOperator, family: AbstractFamily) -> None:
    """Raise unless the operator can be applied to what the family draws."""
    name, kind = type(operator).__name__, _kind_of_family(family)
    # What discrete operators cannot work with, they say themselves.
    if kind == STATES:
        require(
            isinstance(operator, AbstractGradientFreeOperator),
            IncompatibleError,
            expected="an operator without gradients in z: states have no score",
            got=f"{name} with {type(family).__name__}, a law of states",
            write="Objective(KL()), or Objective(GibbsStein(), StateTestFunction(cardinalities))",
        )
    elif kind == MIXED:
        values = isinstance(operator, AbstractGradientFreeOperator)
        values = values and not isinstance(operator, AbstractDiscreteSteinOperator)
        require(
            values or isinstance(operator, MixedStein),
            IncompatibleError,
            expected="an operator that sees both the real numbers and the states",
            got=f"{name} with {type(family).__name__}",
            write="Objective(KL()), or Objective(MixedStein(LangevinStein(), GibbsStein()), ...)",
        )


def check_latents(family: AbstractFamily, target: AbstractTarget) -> None:
    """Raise unless the family draws what the target takes."""
    wanted, got = _kind_of_target(target), _kind_of_family(family)
    states = getattr(target, "cardinalities", ())
    same = getattr(family, "cardinalities", ()) == states
    write = {
        STATES: "family=Autoregressive(target.cardinalities, key=key)",
        MIXED: "family=MixedFamily(FullRank(target.continuous), "
        "Autoregressive(target.cardinalities, key=key))",
        REAL: "family=FullRank(target.dim)",
    }[wanted]
    numbers = f" with {states} states" if states else ""
    require(
        wanted == got and same,
        IncompatibleError,
        expected=f"a family over {wanted}{numbers}, as the latents of the target",
        got=f"{type(family).__name__}, over {got}"
        + (f" with {getattr(family, 'cardinalities', ())}" if wanted == got else ""),
        write=write,
    )


def _kind_of_family(family: AbstractFamily) -> str:
    if isinstance(family, AbstractDiscreteFamily):
        return STATES
    return MIXED if isinstance(family, AbstractMixedFamily) else REAL


def _kind_of_target(target: AbstractTarget) -> str:
    if isinstance(target, AbstractDiscreteTarget):
        return STATES
    return MIXED if isinstance(target, AbstractMixedTarget) else REAL


def outputs(operator: AbstractOperator, target: AbstractTarget) -> int:
    """How many numbers a test function of this operator has: one for each latent, unless it says so."""
    if isinstance(operator, AbstractDiscreteSteinOperator):
        return operator.outputs(target.dim)
    if isinstance(operator, MixedStein) and isinstance(target, AbstractMixedTarget):
        return operator.outputs(target.continuous, target.dim)
    return target.dim


def evaluations(operator: AbstractOperator, target: AbstractTarget) -> int:
    """Gradients of the log density at one draw; a log density alone counts as one too."""
    states = getattr(target, "cardinalities", ())
    if isinstance(operator, AbstractDiscreteSteinOperator):
        return operator.evaluations(states)
    if isinstance(operator, MixedStein):
        return operator.continuous.gradient_evaluations + operator.discrete.evaluations(states)
    return operator.gradient_evaluations
