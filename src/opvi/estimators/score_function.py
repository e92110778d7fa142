"""The score-function gradient of the objective (paper, eq. 7, first form)."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from opvi._core.errors import IncompatibleError, require
from opvi._core.types import Array, Float, Scalar
from opvi.distances import Identity, Square
from opvi.estimators._base import (
    AbstractEstimator,
    SampleSet,
    check_draws,
    estimate,
    redraw,
)
from opvi.estimators.score_function_controls import (
    AbstractControlVariate,
    LearningSignal,
    LeaveOneOut,
    NoControlVariate,
    SteinControlVariate,
)
from opvi.estimators.score_function_signals import blankets, log_choices
from opvi.families import (
    AbstractDiscreteFamily,
    AbstractFamily,
    AbstractMixedFamily,
    AbstractTractableFamily,
    AbstractWeightedFamily,
)
from opvi.objective import Objective
from opvi.operators import KL, AbstractClosedFormTestFunctionFamily, Draw
from opvi.targets import AbstractTarget
from opvi.testfunctions import AbstractTestFunction


class ScoreFunction(AbstractEstimator):
    """E_q[h grad_lambda log q + grad_lambda h], with h = (O f)(z) and z held fixed.

    For the square, paired(a, b) = a b of two independent sets, this is 2 E[O f] grad E[O f]: eq. 7.
    It asks for log q and for no derivative in z: states are as good as real numbers. In a mixed
    family only the states go through log q; the real numbers are differentiated through R(eps, k).

    - `control_variate`: `NoControlVariate()`, `LeaveOneOut()`, `SteinControlVariate()`.
    - `rao_blackwell`: give each factor q(z_j | z_<j) only the terms of log q - log p that move with
        z_j or with what depends on it; the others have mean zero against its score. For KL. A target
        from `from_factors` says which of its factors these are (the Markov blanket of z_j).

    Unbiased wherever the distance has an unbiased paired form, whatever the control variate. For KL
    the term E_q[grad log q], which is zero, is left out: at q = p leave-one-out gives exactly zero.
    """

    draws: int = eqx.field(static=True, default=64)
    control_variate: AbstractControlVariate = eqx.field(default_factory=LeaveOneOut)
    rao_blackwell: bool = eqx.field(static=True, default=False)

    def gradient(
        self,
        objective: Objective,
        f: AbstractTestFunction,
        family: AbstractFamily,
        sets: tuple[SampleSet, ...],
    ) -> tuple[Scalar, AbstractFamily]:
        fixed = _still(family)

        @eqx.filter_value_and_grad
        def loss(family: AbstractFamily) -> Scalar:
            inside = fixed if isinstance(objective.operator, KL) else family
            moved = tuple(_moved(sample, objective, family) for sample in sets)
            if not _linear(objective):
                value = estimate(objective, f, inside, moved)
                return value + self._jackknife(objective, f, family, fixed, sets)
            pooled = []
            for sample in moved:
                values = _values(objective, f, inside, sample)
                surrogate = self._surrogate(objective, f, family, fixed, sample)
                mean = objective.outer.pool(values, sample.draws.weight)
                pooled.append(mean + surrogate - jax.lax.stop_gradient(surrogate))
            return objective.outer.paired(*pooled)

        return loss(family)

    def _surrogate(
        self,
        objective: Objective,
        f: AbstractTestFunction,
        family: AbstractFamily,
        fixed: AbstractFamily,
        sample: SampleSet,
    ) -> Scalar:
        """A number whose gradient in lambda estimates E_q[h grad log q] from one set."""
        target = _still(sample.target)

        def at(draw: Draw) -> Float[Array, " t"]:
            if self.rao_blackwell:
                return blankets(fixed, target, draw)
            return objective.integrand(f, draw, target=target, family=fixed)[None]

        def see(draw: Draw, z: Array) -> Draw:
            seen = objective.operator.see(target, z)
            return Draw(z=z, eps=draw.eps, seen=seen, key=draw.key)

        draws = _still(sample.draws)
        values = jax.lax.stop_gradient(jax.vmap(at)(draws))
        signal = LearningSignal(values=values, draws=draws, family=fixed, at=at, see=see)
        return self.control_variate.surrogate(signal, family)

    def _jackknife(
        self,
        objective: Objective,
        f: AbstractTestFunction,
        family: AbstractFamily,
        fixed: AbstractFamily,
        sets: tuple[SampleSet, ...],
    ) -> Scalar:
        """The same for an estimate L that is no mean: sum_i (L - L without draw i) log q(z_i).

        L without draw i does not depend on z_i, so it is a baseline. For a mean it is leave-one-out.
        Its value is zero.
        """
        sets = _still(sets)
        whole = estimate(objective, f, fixed, sets)
        total = jnp.zeros_like(whole)
        for k, sample in enumerate(sets):
            log_q = jax.vmap(lambda draw: jnp.sum(log_choices(family, draw)))(sample.draws)
            n = log_q.shape[0]
            baseline = jnp.zeros_like(log_q)
            if isinstance(self.control_variate, LeaveOneOut):
                others = np.arange(n - 1) + (np.arange(n - 1) >= np.arange(n)[:, None])
                baseline = jax.lax.map(
                    lambda keep, k=k: estimate(objective, f, fixed, _keep(sets, k, keep)),
                    jnp.asarray(others),
                )
            surrogate = jnp.sum(jax.lax.stop_gradient(whole - baseline) * log_q)
            total = total + surrogate - jax.lax.stop_gradient(surrogate)
        return total

    def check(self, objective: Objective, family: AbstractFamily) -> None:
        require(
            isinstance(family, AbstractTractableFamily | AbstractMixedFamily),
            IncompatibleError,
            expected="a family with a density: the score function is grad_lambda log q(z)",
            got=f"{type(family).__name__}, which can only be sampled",
            write="estimator=Reparameterised(), or family=FullRank(dim)",
        )
        check_draws(self.draws, objective)
        require(
            not self.rao_blackwell
            or (
                isinstance(objective.operator, KL)
                and isinstance(family, AbstractDiscreteFamily | AbstractMixedFamily)
            ),
            IncompatibleError,
            expected="KL and a family of states with rao_blackwell=True: elsewhere the operator is no "
            "sum of terms that each see a few coordinates",
            got=f"{type(objective.operator).__name__} and {type(family).__name__}",
            write="ScoreFunction(control_variate=LeaveOneOut())",
        )
        require(
            _linear(objective) or not isinstance(family, AbstractWeightedFamily),
            IncompatibleError,
            expected="a family without mixture weights where the objective is no mean over draws",
            got=f"{type(family).__name__}",
            write="estimator=Reparameterised()",
        )
        require(
            _linear(objective) or isinstance(self.control_variate, LeaveOneOut | NoControlVariate),
            IncompatibleError,
            expected="leave-one-out or nothing, where the objective is no mean over draws",
            got=f"{type(self.control_variate).__name__}",
            write="ScoreFunction(control_variate=LeaveOneOut())",
        )
        self.control_variate.check(family, self.draws // objective.sets)

    def gradient_evaluations(self, objective: Objective) -> int:
        return 0

    def evaluations_beside(self, target: AbstractTarget) -> int:
        """Log densities at other states that one call costs, where the control variate asks."""
        if isinstance(self.control_variate, SteinControlVariate):
            return self.draws * self.control_variate.evaluations(target)
        return 0


def _linear(objective: Objective) -> bool:
    """Whether the estimate is a product of means over sets of draws."""
    closed = isinstance(objective.test_functions, AbstractClosedFormTestFunctionFamily)
    return isinstance(objective.outer, Identity | Square) and not closed


def _still(tree: Any) -> Any:
    """The same numbers, through which no gradient goes."""
    return eqx.combine(jax.lax.stop_gradient(eqx.filter(tree, eqx.is_inexact_array)), tree)


def _moved(sample: SampleSet, objective: Objective, family: AbstractFamily) -> SampleSet:
    """The draws as functions of lambda, where they are; fixed where they are not."""
    if isinstance(family, AbstractMixedFamily):
        return redraw(sample, objective, family)
    return eqx.tree_at(lambda s: s.draws, sample, _still(sample.draws))


def _values(
    objective: Objective, f: AbstractTestFunction, family: AbstractFamily, sample: SampleSet
) -> Float[Array, " n"]:
    return jax.vmap(lambda d: objective.integrand(f, d, target=sample.target, family=family))(
        sample.draws
    )


def _keep(sets: tuple[SampleSet, ...], k: int, keep: Array) -> tuple[SampleSet, ...]:
    """The sets, with the draws numbered `keep` alone left in set k."""
    draws = jax.tree_util.tree_map(lambda x: x[keep], sets[k].draws)
    return *sets[:k], SampleSet(draws, sets[k].target), *sets[k + 1 :]
