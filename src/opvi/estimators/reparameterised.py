"""The reparameterisation gradient of the objective (paper, eq. 7, second form)."""

import equinox as eqx

from opvi._core.types import Scalar
from opvi.estimators._base import (
    AbstractEstimator,
    SampleSet,
    check_draws,
    check_reparameterised,
    estimate,
    redraw_with_density,
)
from opvi.families import AbstractFamily, AbstractReparameterisedFamily
from opvi.objective import Objective
from opvi.operators import KL, AbstractRatioOperator
from opvi.testfunctions import AbstractTestFunction


class Reparameterised(AbstractEstimator):
    """grad_lambda of paired(mean_1 h(R(eps; lambda)), mean_2 h(R(eps'; lambda))).

    For the square of two independent means a b this is a grad b + b grad a, whose expectation is
    2 E[O f] grad E[O f]: unbiased. For Langevin-Stein it differentiates the score, so it costs a
    Hessian-vector product of log p at each draw.
    """

    draws: int = eqx.field(static=True, default=256)

    def gradient(
        self,
        objective: Objective,
        f: AbstractTestFunction,
        family: AbstractFamily,
        sets: tuple[SampleSet, ...],
    ) -> tuple[Scalar, AbstractFamily]:
        @eqx.filter_value_and_grad
        def loss(family: AbstractReparameterisedFamily) -> Scalar:
            redrawn = tuple(redraw_with_density(sample, objective, family) for sample in sets)
            return estimate(objective, f, family, redrawn)

        return loss(family)  # pyright: ignore[reportArgumentType]  (checked in `check`)

    def check(self, objective: Objective, family: AbstractFamily) -> None:
        check_reparameterised(family, self)
        check_draws(self.draws, objective)

    def gradient_evaluations(self, objective: Objective) -> int:
        # KL and ratios: the gradient is one backward pass of the values already counted. Langevin-Stein
        # and Fisher: the score is differentiated once more, a Hessian-vector product counted as one.
        values = isinstance(objective.operator, KL | AbstractRatioOperator)
        return 0 if values else self.draws
