"""What every estimator shares: sample sets, the estimate of the objective, the gradient in theta.

With mean_k the mean over sample set k (weighted, where the family has weights), the objective at
fixed f is estimated by

    L = paired(mean_1 h, ..., mean_sets h),     h = O f, or 2 O f - |f|^2 under the L2 ball,

unbiased because the sets are independent. Its gradient in theta at fixed draws is unbiased as well
(paper, eq. 8): the draws do not depend on theta. The gradient in lambda is what estimators differ in.
"""

import abc

import equinox as eqx
import jax
import jax.random as jr

from opvi._core.errors import IncompatibleError, require
from opvi._core.types import Array, Float, Key, Noise, Scalar
from opvi.families import (
    AbstractFamily,
    AbstractMixedFamily,
    AbstractReparameterisedFamily,
    AbstractTransportFamily,
    AbstractWeightedFamily,
)
from opvi.objective import Objective
from opvi.operators import (
    AbstractClosedFormTestFunctionFamily,
    AbstractDivergenceOperator,
    Draw,
)
from opvi.targets import AbstractSubsampledTarget, AbstractTarget
from opvi.targets._base import subsample
from opvi.testfunctions import AbstractTestFunction


class SampleSet(eqx.Module):
    """Draws stacked along a first axis, with the target (or the minibatch of it) they were shown."""

    draws: Draw
    target: AbstractTarget


def sample_sets(
    key: Key, n: int, objective: Objective, family: AbstractFamily, target: AbstractTarget
) -> tuple[SampleSet, ...]:
    """`n` draws in as many independent sets as the objective needs, each with its own minibatch."""
    sets = objective.sets
    keys = [key] if sets == 1 else [jr.fold_in(key, k) for k in range(sets)]
    return tuple(_sample_set(k, n // sets, objective, family, target) for k in keys)


def _sample_set(
    key: Key, n: int, objective: Objective, family: AbstractFamily, target: AbstractTarget
) -> SampleSet:
    # Folded, not split: what is not used (probes, minibatches) is dropped by the compiler. A key of
    # one use is not folded at all: on a CPU a fold is a loop, a tenth of the cheapest step.
    only_draws = isinstance(objective.operator, AbstractDivergenceOperator) and not isinstance(
        target, AbstractSubsampledTarget
    )
    draw_key = key if only_draws else jr.fold_in(key, 0)
    probes = jr.split(jr.fold_in(key, 1), n)
    batch = subsample(target, jr.fold_in(key, 2))
    if isinstance(family, AbstractReparameterisedFamily | AbstractMixedFamily):
        weighted = isinstance(family, AbstractWeightedFamily)
        eps = family.strata(draw_key, n) if weighted else family.noise(draw_key, n)
        z = jax.vmap(family.transform)(eps)
    else:
        eps, z = None, family.sample(draw_key, n)
    seen = jax.vmap(lambda z: objective.operator.see(batch, z))(z)
    draws = Draw(z=z, eps=eps, seen=seen, key=probes, weight=weights(family, eps))
    return SampleSet(draws, batch)


def weights(family: AbstractFamily, eps: Noise) -> Float[Array, " n"] | None:
    """What each draw counts: a function of lambda, for families that have weights."""
    return jax.vmap(family.weight)(eps) if isinstance(family, AbstractWeightedFamily) else None


def redraw(
    sample: SampleSet,
    objective: Objective,
    family: AbstractReparameterisedFamily | AbstractMixedFamily,
) -> SampleSet:
    """The same noise through `family`: how lambda enters the draws, for differentiation."""
    return _redrawn(sample, objective, family, jax.vmap(family.transform)(sample.draws.eps))


def redraw_with_density(
    sample: SampleSet, objective: Objective, family: AbstractReparameterisedFamily
) -> SampleSet:
    """`redraw`, and log q(R(eps; lambda); lambda) as a function of lambda where it comes with z."""
    if not isinstance(family, AbstractTransportFamily):
        return redraw(sample, objective, family)
    z, log_q = jax.vmap(family.transform_and_log_prob)(sample.draws.eps)
    return _redrawn(sample, objective, family, z, log_q)


def _redrawn(
    sample: SampleSet,
    objective: Objective,
    family: AbstractFamily,
    z: Float[Array, "n d"],
    log_q: Float[Array, " n"] | None = None,
) -> SampleSet:
    seen = jax.vmap(lambda z: objective.operator.see(sample.target, z))(z)
    eps, key = sample.draws.eps, sample.draws.key
    draws = Draw(z=z, eps=eps, seen=seen, key=key, weight=weights(family, eps), log_q=log_q)
    return SampleSet(draws, sample.target)


def estimate(
    objective: Objective,
    f: AbstractTestFunction,
    family: AbstractFamily,
    sets: tuple[SampleSet, ...],
) -> Scalar:
    """An estimate of t(E_q[O f]) (or of its dual) at this f, or of the supremum over F.

    Unbiased wherever the distance has an unbiased paired form.
    """
    if isinstance(objective.test_functions, AbstractClosedFormTestFunctionFamily):
        return objective.test_functions.supremum(objective.operator, family, *shown(sets))

    def pool(sample: SampleSet) -> Scalar:
        values = jax.vmap(lambda d: objective.integrand(f, d, target=sample.target, family=family))(
            sample.draws
        )
        return objective.outer.pool(values, sample.draws.weight)

    return objective.outer.paired(*(pool(sample) for sample in sets))


def shown(sets: tuple[SampleSet, ...]) -> tuple[tuple[AbstractTarget, ...], tuple[Draw, ...]]:
    """The targets and the draws of the sets."""
    return tuple(sample.target for sample in sets), tuple(sample.draws for sample in sets)


def test_function_gradient(
    objective: Objective,
    f: AbstractTestFunction,
    family: AbstractFamily,
    sets: tuple[SampleSet, ...],
) -> tuple[Scalar, AbstractTestFunction]:
    """The estimate and its gradient in theta (paper, eq. 8): ascend it."""
    return eqx.filter_value_and_grad(lambda f: estimate(objective, f, family, sets))(f)


test_function_gradient.__test__ = False  # pyright: ignore  (its name is the paper's, not pytest's)


class AbstractEstimator(eqx.Module):
    """A stochastic gradient of the objective in lambda, from `draws` draws of q in all."""

    draws: eqx.AbstractVar[int]

    @abc.abstractmethod
    def gradient(
        self,
        objective: Objective,
        f: AbstractTestFunction,
        family: AbstractFamily,
        sets: tuple[SampleSet, ...],
    ) -> tuple[Scalar | None, AbstractFamily]:
        """(the estimate, or None where it is not a by-product; the gradient in lambda: descend it)."""

    @abc.abstractmethod
    def check(self, objective: Objective, family: AbstractFamily) -> None:
        """Raise `IncompatibleError`, naming a pair that works, where there is no such gradient."""

    @abc.abstractmethod
    def gradient_evaluations(self, objective: Objective) -> int:
        """Gradients of the log density that one call costs beyond what the sets already saw."""


def check_draws(draws: int, objective: Objective) -> None:
    """Refuse a number of draws that cannot be cut into the independent sets the distance needs."""
    sets = objective.sets
    require(
        draws >= sets and draws % sets == 0,
        IncompatibleError,
        expected=f"draws in {sets} independent sets of equal size",
        got=f"draws={draws}",
        write=f"draws={max(sets, draws - draws % sets)}",
    )


def check_reparameterised(family: AbstractFamily, estimator: AbstractEstimator) -> None:
    require(
        isinstance(family, AbstractReparameterisedFamily),
        IncompatibleError,
        expected=f"a reparameterised family: {type(estimator).__name__} differentiates z = R(eps)",
        got=f"{type(family).__name__}",
        write="family=SemiImplicitProgram(dim, key=key)",
    )
