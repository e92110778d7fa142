"""The functional gradient: push the draws along the test function."""

import equinox as eqx
import jax
import jax.numpy as jnp

from opvi._core.errors import IncompatibleError, require
from opvi._core.types import Noise, Scalar, Vector
from opvi.estimators._base import AbstractEstimator, SampleSet, check_draws, check_reparameterised
from opvi.families import AbstractFamily, AbstractReparameterisedFamily
from opvi.objective import Objective
from opvi.operators import LangevinStein
from opvi.testfunctions import AbstractTestFunction


class FunctionalGradient(AbstractEstimator):
    """-E[(dz/dlambda)' f(z)], f held fixed.

    For any reparameterisable q, grad_lambda KL(q || p) = -E[(dz/dlambda)' (grad log p - grad log q)(z)]
    (the term E_q[grad_lambda log q] is zero). The Langevin-Stein supremum over the L2 ball is at
    f* = grad log p - grad log q, so the test function *is* the missing direction: the gradient of KL
    for a q without density, with no derivative of the operator and no second derivative of log p.
    """

    draws: int = eqx.field(static=True, default=256)

    def gradient(
        self,
        objective: Objective,
        f: AbstractTestFunction,
        family: AbstractFamily,
        sets: tuple[SampleSet, ...],
    ) -> tuple[None, AbstractFamily]:
        def work(family: AbstractReparameterisedFamily, eps: Noise, direction: Vector) -> Scalar:
            return -jnp.dot(family.transform(eps), direction)

        @eqx.filter_grad
        def loss(family: AbstractFamily) -> Scalar:
            means = [
                jnp.mean(
                    jax.vmap(lambda eps, v: work(family, eps, v))(  # pyright: ignore
                        sample.draws.eps,
                        jax.vmap(lambda d: objective.operator.value(f, d))(sample.draws),
                    )
                )
                for sample in sets
            ]
            return sum(means) / len(means)  # pyright: ignore

        return None, loss(family)

    def check(self, objective: Objective, family: AbstractFamily) -> None:
        check_reparameterised(family, self)
        check_draws(self.draws, objective)
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
