"""Which operators, families and targets know states, which know real numbers, which know both."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from opvi._core.errors import IncompatibleError, require
from opvi.families import AbstractDiscreteFamily, AbstractFamily, AbstractMixedFamily
from opvi.operators._base import AbstractGradientFreeOperator, AbstractOperator
from opvi.operators.discrete_stein import AbstractDiscreteSteinOperator
from opvi.operators.discrete_stein_mixed import MixedStein
from opvi.targets import AbstractDiscreteTarget, AbstractMixedTarget, AbstractTarget
from opvi.testfunctions import (
    AbstractTestFunctionFamily,
    StateTestFunction,
    TableTestFunction,
    VanishingTestFunction,
)

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


def check_test_functions(
    test_functions: AbstractTestFunctionFamily, operator: AbstractOperator, family: AbstractFamily
) -> None:
    """Raise unless f takes what the family draws and has as many numbers as the operator reads."""
    name, states = type(test_functions).__name__, getattr(family, "cardinalities", ())
    if isinstance(test_functions, StateTestFunction | TableTestFunction):
        listed = isinstance(test_functions, TableTestFunction)
        require(
            states == test_functions.cardinalities
            and (not listed or _kind_of_family(family) == STATES),
            IncompatibleError,
            expected=f"a family of states for {name}: it is told how many each latent has"
            + (", and lists them all" if listed else ""),
            got=f"{test_functions.cardinalities} with {type(family).__name__} over "
            f"{_kind_of_family(family)}" + (f", {states}" if states else ""),
            write=f"StateTestFunction({states})" if states else "NeuralTestFunction()",
        )
    if isinstance(test_functions, VanishingTestFunction):
        require(
            _kind_of_family(family) == REAL,
            IncompatibleError,
            expected="a family over real numbers for test functions that vanish at a boundary",
            got=f"{name} with {type(family).__name__} over {_kind_of_family(family)}",
            write=f"StateTestFunction({states})",
        )
    wanted = outputs(operator, family)
    z = jax.ShapeDtypeStruct((family.dim,), jnp.result_type(float))
    shape = eqx.filter_eval_shape(
        lambda z: test_functions.init(family.dim, key=jr.key(0))(z, z), z
    ).shape
    require(
        shape == (wanted,),
        IncompatibleError,
        expected=f"test functions from R^{family.dim} to R^{wanted} for {type(operator).__name__}: "
        f"f(z, score) of shape ({wanted},)",
        got=f"shape {shape} from {name}",
        write="def __call__(self, z, score): ...  # same shape as z"
        if wanted == family.dim
        else f"StateTestFunction({states}, outputs={wanted})",
    )


def outputs(operator: AbstractOperator, family: AbstractFamily) -> int:
    """How many numbers a test function of this operator has: one for each latent, unless it says so."""
    if isinstance(operator, AbstractDiscreteSteinOperator):
        return operator.outputs(family.dim)
    if isinstance(operator, MixedStein) and isinstance(family, AbstractMixedFamily):
        return operator.outputs(family.dim - family.discrete.dim, family.dim)
    return family.dim


def evaluations(operator: AbstractOperator, target: AbstractTarget) -> int:
    """Gradients of the log density at one draw; a log density alone counts as one too."""
    states = getattr(target, "cardinalities", ())
    if isinstance(operator, AbstractDiscreteSteinOperator):
        return operator.evaluations(states)
    if isinstance(operator, MixedStein):
        return operator.continuous.gradient_evaluations + operator.discrete.evaluations(states)
    return operator.gradient_evaluations
