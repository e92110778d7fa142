"""The path gradient of KL ("sticking the landing", Roeder, Wu and Duvenaud 2017)."""

import equinox as eqx
import jax

from opvi._core.errors import IncompatibleError, require
from opvi._core.types import Scalar
from opvi.estimators._base import (
    AbstractEstimator,
    SampleSet,
    check_draws,
    check_reparameterised,
    estimate,
    redraw,
)
from opvi.families import AbstractFamily, AbstractReparameterisedFamily
from opvi.objective import Objective
from opvi.operators import KL
from opvi.testfunctions import AbstractTestFunction


class PathGradient(AbstractEstimator):
    """E[(dz/dlambda)' grad_z (log q - log p)]: the KL gradient without E_q[grad_lambda log q], which is 0.

    The parameters inside log q are held fixed, so at q = p every single draw gives exactly zero.
    """

    draws: int = eqx.field(static=True, default=16)

    def gradient(
        self,
        objective: Objective,
        f: AbstractTestFunction,
        family: AbstractFamily,
        sets: tuple[SampleSet, ...],
    ) -> tuple[Scalar, AbstractFamily]:
        fixed = jax.lax.stop_gradient(eqx.filter(family, eqx.is_inexact_array))
        fixed = eqx.combine(fixed, family)

        @eqx.filter_value_and_grad
        def loss(family: AbstractReparameterisedFamily) -> Scalar:
            redrawn = tuple(redraw(sample, objective, family) for sample in sets)
            return estimate(objective, f, fixed, redrawn)

        return loss(family)  # pyright: ignore[reportArgumentType]  (checked in `check`)

    def check(self, objective: Objective, family: AbstractFamily) -> None:
        check_reparameterised(family, self)
        check_draws(self.draws, objective)
        require(
            isinstance(objective.operator, KL),
            IncompatibleError,
            expected="the KL operator: only there the dropped term has mean zero",
            got=f"{type(objective.operator).__name__}",
            write="estimator=Reparameterised(), or Objective(KL())",
        )

    def gradient_evaluations(self, objective: Objective) -> int:
        return 0
