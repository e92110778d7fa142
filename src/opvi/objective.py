"""The triple: an operator, a family of test functions, a distance.

    L(q) = sup_{f in F} t(E_q[(O^{p,q} f)(z)])                                       (paper, eq. 2)

- the evidence lower bound is `Objective(KL())`: no test function, identity distance;
- the paper's Langevin-Stein objective is
  `Objective(LangevinStein(), NeuralTestFunction(ball=BoundedNorm(2.0)), Square())`;
- the Fisher divergence is `Objective(LangevinStein(), NeuralTestFunction(ball=L2Ball()), Square())`,
  the default for Langevin-Stein, because it can be optimised;
- with `LinearTestFunction()` and a Gaussian family it is stationary exactly where KL is.

An objective knows no target and no family: those come when it is estimated (`opvi.estimators`).
"""

import equinox as eqx

from opvi._core.errors import IncompatibleError, require
from opvi._core.types import Scalar
from opvi.distances import AbstractDistance, Identity, Logarithm, SelfNormalised, Square
from opvi.families import AbstractFamily
from opvi.operators import (
    AbstractClosedFormTestFunctionFamily,
    AbstractDivergenceOperator,
    AbstractOperator,
    AbstractRatioOperator,
    AbstractSteinOperator,
    Draw,
    check_operator,
    check_test_functions,
)
from opvi.targets import AbstractTarget
from opvi.testfunctions import (
    AbstractTestFunction,
    AbstractTestFunctionFamily,
    Evaluated,
    NeuralTestFunction,
    NoTestFunction,
    VanishingTestFunction,
)


class Objective(eqx.Module):
    """The triple, and the checks that it makes sense. Nothing else."""

    operator: AbstractOperator
    test_functions: AbstractTestFunctionFamily
    distance: AbstractDistance

    def __init__(
        self,
        operator: AbstractOperator,
        test_functions: AbstractTestFunctionFamily | None = None,
        distance: AbstractDistance | None = None,
    ):
        stein = isinstance(operator, AbstractSteinOperator)
        if test_functions is None:
            test_functions = NeuralTestFunction() if stein else NoTestFunction()
        if distance is None:
            distance = default_distance(operator)
        self.operator = operator
        self.test_functions = test_functions
        self.distance = distance

    def __check_init__(self):
        operator = type(self.operator).__name__
        if isinstance(self.operator, AbstractSteinOperator):
            require(
                not isinstance(self.distance, Identity),
                IncompatibleError,
                expected=f"a distance t >= 0: E_q[O f] of {operator} can be negative",
                got="Identity()",
                write=f"Objective({operator}(), test_functions, Square())",
            )
            require(
                not isinstance(self.test_functions, NoTestFunction),
                IncompatibleError,
                expected=f"a family of test functions: {operator} without one says nothing",
                got="NoTestFunction()",
                write=f"Objective({operator}(), NeuralTestFunction(), Square())",
            )
            require(
                not isinstance(self.distance, Logarithm | SelfNormalised),
                IncompatibleError,
                expected=f"a distance that reads numbers of either sign: {operator} has no logarithm",
                got=f"{type(self.distance).__name__}",
                write=f"Objective({operator}(), test_functions, Square())",
            )
            _check_vanishing(self.test_functions)
            require(
                not self.test_functions.ball.linear or isinstance(self.distance, Square),
                IncompatibleError,
                expected="Square() with an L2 or an RKHS ball: 2 E[O f] - |f|^2 is the dual of the square",
                got=f"{type(self.distance).__name__}()",
                write=f"Objective({operator}(), NeuralTestFunction(ball=BoundedNorm()), "
                f"{type(self.distance).__name__}())",
            )
        if isinstance(self.operator, AbstractRatioOperator):
            require(
                bool(eqx.tree_equal(self.distance, self.operator.distance)),
                IncompatibleError,
                expected=f"the distance {self.operator.distance}: {operator} is a ratio known up to a "
                "factor and through its logarithm, which no other t makes a divergence of",
                got=f"{self.distance}",
                write=f"Objective({self.operator})",
            )
        elif isinstance(self.operator, AbstractDivergenceOperator):
            require(
                isinstance(self.distance, Identity),
                IncompatibleError,
                expected=f"the identity distance: {operator} is known up to a constant only, and t of "
                "a number plus an unknown constant has its minimum elsewhere",
                got=f"{type(self.distance).__name__}()",
                write=f"Objective({operator}())",
            )
        if isinstance(self.operator, AbstractDivergenceOperator):
            require(
                isinstance(self.test_functions, NoTestFunction),
                IncompatibleError,
                expected=f"no test functions: {operator} maps every f to the same function",
                got=f"{type(self.test_functions).__name__}",
                write=f"Objective({self.operator})",
            )

    @property
    def sets(self) -> int:
        """Independent sets of draws that one estimate takes."""
        if isinstance(self.test_functions, AbstractClosedFormTestFunctionFamily):
            return self.test_functions.sets
        return self.outer.sets

    @property
    def outer(self) -> AbstractDistance:
        """The distance left to apply to the mean: none under a ball that has absorbed it."""
        return Identity() if self.test_functions.ball.linear else self.distance

    def integrand(
        self,
        f: AbstractTestFunction,
        draw: Draw,
        *,
        target: AbstractTarget,
        family: AbstractFamily,
    ) -> Scalar:
        """What is averaged over draws: (O f)(z), or 2 (O f)(z) - |f(z)|^2 under the L2 ball."""
        value = self.operator.value(f, draw)
        f = Evaluated(f, draw.z, value)
        of = self.operator(f, draw, target=target, family=family)
        return self.test_functions.ball.integrand(of, value)

    def check(self, family: AbstractFamily) -> None:
        """Raise unless the operator can work with the family, and F with both."""
        check_operator(self.operator, family)
        self.operator.check(family)
        if isinstance(self.test_functions, AbstractClosedFormTestFunctionFamily):
            self.test_functions.check(self.operator, family)
        check_test_functions(self.test_functions, self.operator, family)


def _check_vanishing(test_functions: AbstractTestFunctionFamily) -> None:
    if not isinstance(test_functions, VanishingTestFunction):
        return
    base = test_functions.base
    require(
        not isinstance(base, AbstractClosedFormTestFunctionFamily | NoTestFunction),
        IncompatibleError,
        expected="test functions that are learned: a supremum in closed form knows no boundary",
        got=f"VanishingTestFunction({type(base).__name__}(), ...)",
        write="Objective(DiffusionStein(domain.vanishing), Features()), the same on the features",
    )


def default_distance(operator: AbstractOperator) -> AbstractDistance:
    """The square for expectations of either sign, the identity or the operator's own for the others."""
    if isinstance(operator, AbstractRatioOperator):
        return operator.distance
    return Square() if isinstance(operator, AbstractSteinOperator) else Identity()
