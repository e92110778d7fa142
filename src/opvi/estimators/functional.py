"""The functional gradient: push the draws along the test function."""

import equinox as eqx
import jax
import jax.numpy as jnp

from opvi._core.errors import IncompatibleError, require
from opvi._core.types import Array, Float, Noise, Scalar, Vector
from opvi.estimators._base import (
    AbstractEstimator,
    SampleSet,
    check_draws,
    check_reparameterised,
    estimate,
    shown,
)
from opvi.families import AbstractFamily, AbstractReparameterisedFamily, AbstractWeightedFamily
from opvi.objective import Objective
from opvi.operators import AbstractClosedFormTestFunctionFamily, LangevinStein
from opvi.testfunctions import AbstractTestFunction


class FunctionalGradient(AbstractEstimator):
    """-E[(dz/dlambda)' f(z)], f held fixed.

    For any reparameterisable q, grad_lambda KL(q || p) = -E[(dz/dlambda)' (grad log p - grad log q)(z)]
    (the term E_q[grad_lambda log q] is zero). The Langevin-Stein supremum over the L2 ball is at
    f* = grad log p - grad log q, so the test function *is* the missing direction: the gradient of KL
    for a q without density, with no derivative of the operator and no second derivative of log p.

    Test functions with a supremum in closed form are not learned: f is the maximiser over the draws.
    With `KernelBall` that is the direction of Stein variational gradient descent (Liu and Wang 2016),
    amortised into q; with `Features` a ridge regression of f*.
    """

    draws: int = eqx.field(static=True, default=256)

    def gradient(
        self,
        objective: Objective,
        f: AbstractTestFunction,
        family: AbstractFamily,
        sets: tuple[SampleSet, ...],
    ) -> tuple[Scalar | None, AbstractFamily]:
        directions = _directions(objective, f, family, sets)

        def work(family: AbstractReparameterisedFamily, eps: Noise, direction: Vector) -> Scalar:
            return -jnp.dot(family.transform(eps), direction)

        @eqx.filter_grad
        def loss(family: AbstractFamily) -> Scalar:
            means = [
                jnp.mean(
                    jax.vmap(lambda eps, v: work(family, eps, v))(  # pyright: ignore
                        sample.draws.eps, direction
                    )
                )
                for sample, direction in zip(sets, directions, strict=True)
            ]
            return sum(means) / len(means)  # pyright: ignore

        closed = isinstance(objective.test_functions, AbstractClosedFormTestFunctionFamily)
        return estimate(objective, f, family, sets) if closed else None, loss(family)

    def check(self, objective: Objective, family: AbstractFamily) -> None:
        check_reparameterised(family, self)
        check_draws(self.draws, objective)
        require(
            not isinstance(family, AbstractWeightedFamily),
            IncompatibleError,
            expected="a family without mixture weights: pushing draws along f moves no weight",
            got=f"{type(family).__name__}",
            write="estimator=Reparameterised(), whose draws count by their weights",
        )
        require(
            isinstance(objective.operator, LangevinStein) and objective.test_functions.ball.linear,
            IncompatibleError,
            expected="LangevinStein over an L2 ball: only there is f* = grad log p - grad log q",
            got=f"{type(objective.operator).__name__} over "
            f"{type(objective.test_functions.ball).__name__}",
            write="Objective(LangevinStein(), NeuralTestFunction(ball=L2Ball())), or "
            "estimator=Reparameterised()",
        )

    def gradient_evaluations(self, objective: Objective) -> int:
        return 0


def _directions(
    objective: Objective,
    f: AbstractTestFunction,
    family: AbstractFamily,
    sets: tuple[SampleSet, ...],
) -> tuple[Float[Array, "n d"], ...]:
    """f at every draw of every set."""
    test_functions, operator = objective.test_functions, objective.operator
    fs = (f,) * len(sets)
    if isinstance(test_functions, AbstractClosedFormTestFunctionFamily):
        fs = test_functions.maximisers(operator, family, *shown(sets))
    return tuple(
        jax.vmap(lambda d, f=f: operator.value(f, d))(sample.draws)
        for sample, f in zip(sets, fs, strict=True)
    )
