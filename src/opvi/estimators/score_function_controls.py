"""Control variates of the score function: terms of mean zero that take its variance away.

The estimate of E_q[h grad log q] from one set is the gradient of sum_i sum_t c_it log q_t(z_i) / n, and
control variates are ways to choose the numbers c. h_it is the learning signal of factor t at draw i.
"""

import abc
from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp

from opvi._core.errors import IncompatibleError, OpviError, require
from opvi._core.states import replace_each, take, valid
from opvi._core.types import Array, Float, Scalar
from opvi.estimators.score_function_regression import slopes
from opvi.estimators.score_function_signals import log_choices, states_of
from opvi.families import AbstractDiscreteFamily, AbstractFamily, AbstractMixedFamily
from opvi.operators import Draw
from opvi.targets import AbstractTarget


@dataclass(frozen=True)
class LearningSignal:
    """h at the draws of one set, and what it takes to have it elsewhere. No gradient goes through it.

    - `values`: one column for each factor of q's chain rule, or one for all of them;
    - `at`: the same for one draw; `see`: a draw moved to another z.
    """

    values: Float[Array, "n t"]
    draws: Draw
    family: AbstractFamily
    at: Callable[[Draw], Float[Array, " t"]]
    see: Callable[[Draw, Array], Draw]


class AbstractControlVariate(eqx.Module):
    """How the learning signal is made quieter without moving the mean of the gradient."""

    @abc.abstractmethod
    def surrogate(self, signal: LearningSignal, family: AbstractFamily) -> Scalar:
        """A number whose gradient in lambda estimates E_q[h grad log q]. Its value means nothing."""

    @abc.abstractmethod
    def check(self, family: AbstractFamily, draws: int) -> None:
        """Raise `IncompatibleError` where it cannot work with the family or with so few draws a set."""


class NoControlVariate(AbstractControlVariate):
    """c = h, the plain score function: for comparison."""

    def surrogate(self, signal: LearningSignal, family: AbstractFamily) -> Scalar:
        return _weighted(signal.values, signal.draws, family)

    def check(self, family: AbstractFamily, draws: int) -> None:
        del family, draws


class LeaveOneOut(AbstractControlVariate):
    """c_i = h_i - mean_{j != i} h_j: the other draws are independent of z_i, and E_q[grad log q] = 0."""

    def surrogate(self, signal: LearningSignal, family: AbstractFamily) -> Scalar:
        return _weighted(_less_the_others(signal.values), signal.draws, family)

    def check(self, family: AbstractFamily, draws: int) -> None:
        del family
        _check_enough(draws, 2, "LeaveOneOut")


class AbstractSurrogate(eqx.Module):
    """A function H_i of the states that is close to h and independent of draw i."""

    evaluations: eqx.AbstractVar[bool]
    """Whether it asks for log p beside the draws."""

    least: eqx.AbstractVar[int]
    """The fewest draws a set it can work with."""

    @abc.abstractmethod
    def beside(self, signal: LearningSignal) -> Float[Array, "n d c"]:
        """H_i for factor j at draw i with coordinate j set to s."""


class Neighbours(AbstractSurrogate):
    """H = h itself, evaluated at all the states beside each draw: sum_j (c_j - 1) log densities more.

    What is left of the variance of factor j is that of the other coordinates (the local expectation
    gradients of Titsias and Lazaro-Gredilla 2015, for a mean-field q).
    """

    evaluations: bool = eqx.field(static=True, default=True, init=False)
    least: int = eqx.field(static=True, default=2, init=False)

    def beside(self, signal: LearningSignal) -> Float[Array, "n d c"]:
        states = states_of(signal.family)
        d, c = states.dim, max(states.cardinalities)

        def one(draw: Draw) -> Float[Array, "d c"]:
            x, k = draw.z[: -states.dim], draw.z[-states.dim :]
            moved = replace_each(k, states.cardinalities).reshape(d * c, d)
            h = jax.vmap(lambda k: signal.at(signal.see(draw, jnp.concatenate([x, k]))))(moved)
            h = jnp.broadcast_to(h, (d * c, d)).reshape(d, c, d)
            return jnp.einsum("jsj->js", h)

        return jax.lax.stop_gradient(jax.vmap(one)(signal.draws))


class Regression(AbstractSurrogate):
    """H_i = b + sum_j a_j[z_j], by ridge regression of h on the half of the draws that has no draw i.

    No log density beyond those at the draws. `ridge` is relative to the number of draws.
    """

    ridge: float = eqx.field(static=True, default=1e-2)
    evaluations: bool = eqx.field(static=True, default=False, init=False)
    least: int = eqx.field(static=True, default=4, init=False)

    def beside(self, signal: LearningSignal) -> Float[Array, "n d c"]:
        states = states_of(signal.family)
        k = signal.draws.z[:, -states.dim :]
        intercept, slope = slopes(k, signal.values, states.cardinalities, self.ridge)
        here = jax.vmap(jax.vmap(take, in_axes=(0, None)), in_axes=(0, 0))(slope, k)  # n t d
        level = intercept + jnp.sum(here, axis=2)
        # At z with coordinate j set to s: the term of z_j is exchanged for that of s.
        d = states.dim
        level = jnp.broadcast_to(level, (len(k), d)) - jnp.einsum("njj->nj", _per_factor(here, d))
        return level[:, :, None] + jnp.einsum("njjc->njc", _per_factor(slope, d))


class SteinControlVariate(AbstractControlVariate):
    """The discrete Stein operator of q, applied to H grad log q, H close to h (RODEO, Shi et al. 2022).

    For the Gibbs kernel of coordinate j, (A_j phi)(z) = sum_s q(z_j = s | z_-j) phi(z_-j, s) - phi(z)
    has mean zero under q for every phi. With phi = H grad log q(z_j | z_<j),

        h g_j + A_j (H g_j) = (h - H)(z) g_j(z) + sum_s q(s | z_-j) (H g_j)(z_-j, s):

    exact summation over z_j of what H knows of h, and the draw for the rest. Baselines leave one out.
    """

    surrogate_of_h: AbstractSurrogate = eqx.field(default_factory=Neighbours)

    def surrogate(self, signal: LearningSignal, family: AbstractFamily) -> Scalar:
        states = states_of(family)
        k = signal.draws.z[:, -states.dim :]
        beside = self.surrogate_of_h.beside(signal)
        has = jnp.asarray(valid(states.cardinalities))
        q = jax.vmap(lambda k: jnp.exp(states_of(signal.family).log_full_conditionals(k)))(k)
        q = jax.lax.stop_gradient(q)
        expected = jnp.sum(jnp.where(has, q * beside, 0.0), axis=2)
        # The other draws' h + A H, which has the mean of h and less variance.
        rest = signal.values - jax.vmap(take)(beside, k)
        baseline = _mean_of_the_others(rest + expected)
        numbers = jnp.where(has, q * (beside - baseline[:, :, None]), 0.0)
        table = jnp.where(has, jax.vmap(states.log_table)(k), 0.0)
        exact = jnp.sum(jax.lax.stop_gradient(numbers) * table) / len(k)
        return exact + _weighted(rest, signal.draws, family)

    def check(self, family: AbstractFamily, draws: int) -> None:
        require(
            isinstance(family, AbstractDiscreteFamily | AbstractMixedFamily),
            IncompatibleError,
            expected="a family of states: the control variate is a discrete Stein operator of q",
            got=f"{type(family).__name__}",
            write="ScoreFunction(control_variate=LeaveOneOut())",
        )
        name = f"SteinControlVariate({type(self.surrogate_of_h).__name__}())"
        _check_enough(draws, self.surrogate_of_h.least, name)

    def evaluations(self, target: AbstractTarget) -> int:
        """Log densities beside one draw."""
        beside = sum(c - 1 for c in getattr(target, "cardinalities", ()))
        return beside if self.surrogate_of_h.evaluations else 0


def _weighted(c: Float[Array, "n t"], draws: Draw, family: AbstractFamily) -> Scalar:
    """mean_i sum_t c_it log q_t(z_i), with the weights of the draws where they have some."""
    log_q = jax.vmap(lambda draw: log_choices(family, draw))(draws)
    total = jnp.sum(jax.lax.stop_gradient(c) * log_q, axis=1)
    return jnp.mean(total if draws.weight is None else draws.weight * total)


def _mean_of_the_others(h: Float[Array, "n t"]) -> Float[Array, "n t"]:
    n = h.shape[0]
    return (jnp.sum(h, axis=0, keepdims=True) - h) / (n - 1)


def _less_the_others(h: Float[Array, "n t"]) -> Float[Array, "n t"]:
    n = h.shape[0]
    return (h - jnp.mean(h, axis=0, keepdims=True)) * (n / (n - 1))


def _per_factor(x: Array, d: int) -> Array:
    """One row for each coordinate, where one signal serves all of them."""
    return jnp.broadcast_to(x, (x.shape[0], d, *x.shape[2:]))


def _check_enough(draws: int, least: int, name: str) -> None:
    require(
        draws >= least,
        OpviError,
        expected=f"at least {least} draws in each independent set: {name} learns from the others",
        got=f"{draws}",
        write="ScoreFunction(draws=64)",
    )
