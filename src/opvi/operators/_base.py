"""Operators see one draw at a time; estimators take the means."""

import abc
from typing import Any

import equinox as eqx
from jaxtyping import Key as KeyArray

from opvi._core.types import Array, Float, Key, Noise, Scalar, Vector
from opvi.families import AbstractFamily, AbstractTractableFamily
from opvi.targets import AbstractTarget
from opvi.testfunctions import AbstractTestFunction, AbstractTestFunctionFamily, NoTestFunction


class Draw(eqx.Module):
    """One draw of q and all that is known there, so that nothing is computed twice.

    - `z`: the draw, R(eps; lambda);
    - `eps`: the noise it came from;
    - `seen`: what the operator saw of the target at z (`AbstractOperator.see`): the score, say;
    - `key`: randomness for operators that need some (Hutchinson probes);
    - `weight`: what the draw counts in a mean, for families that have weights; None counts as one;
    - `log_q`: log q(z), for families that know it from eps (`AbstractTransportFamily`).

    Operators see one draw. A sample set stacks many of them, hence the leading axes.
    """

    z: Float[Array, "*n d"]
    eps: Noise
    seen: Any
    key: KeyArray[Array, "*n"]
    weight: Float[Array, "*n"] | None = None
    log_q: Float[Array, "*n"] | None = None


def log_q(family: AbstractTractableFamily, draw: Draw) -> Scalar:
    """log q at the draw: remembered where it came with z, computed otherwise."""
    return family.log_prob(draw.z) if draw.log_q is None else draw.log_q


class AbstractOperator(eqx.Module):
    """(O^{p,q} f)(z). Pure, for one draw, with no parameters of its own to learn."""

    gradient_evaluations: eqx.AbstractVar[int]
    """Gradients of the log density that `see` costs at one draw (a value alone counts as one too)."""

    @abc.abstractmethod
    def see(self, target: AbstractTarget, z: Vector) -> Any:
        """All the operator needs of the target at z. It does not depend on f: compute it once."""

    @abc.abstractmethod
    def __call__(
        self,
        f: AbstractTestFunction,
        draw: Draw,
        *,
        target: AbstractTarget,
        family: AbstractFamily,
    ) -> Scalar:
        """(O^{p,q} f)(z), up to a constant where the distance allows one."""

    @abc.abstractmethod
    def value(self, f: AbstractTestFunction, draw: Draw) -> Vector:
        """f at the draw, as the operator shows it the target."""

    @abc.abstractmethod
    def check(self, family: AbstractFamily) -> None:
        """Raise `IncompatibleError`, naming a pair that works, if the family lacks what this needs."""


class AbstractSteinOperator(AbstractOperator):
    """E_p[O^{p,p} f] = 0 for every f, and E_q[O^{p,q} f] can have either sign: a distance is needed."""


class AbstractDivergenceOperator(AbstractOperator):
    """E_q[O^{p,q} f] is a divergence up to a constant and does not depend on f: t is the identity."""


class AbstractGradientFreeOperator(AbstractOperator):
    """An operator of values of log p alone: it takes no gradient in z, so z may hold states."""


class AbstractClosedFormTestFunctionFamily(AbstractTestFunctionFamily):
    """A set F whose supremum is known in closed form (an RKHS ball, finitely many features).

    There is no theta to learn: the solver has nothing to ascend, and the objective is a function of
    the draws alone. It lives with the operators because its formula is the operator applied to F.
    """

    def init(self, dim: int, *, key: Key) -> AbstractTestFunction:
        return NoTestFunction().init(dim, key=key)

    @property
    @abc.abstractmethod
    def sets(self) -> int:
        """Independent sets of draws that one estimate takes."""

    @abc.abstractmethod
    def supremum(
        self,
        operator: AbstractOperator,
        family: AbstractFamily,
        targets: tuple[AbstractTarget, ...],
        draws: tuple[Draw, ...],
    ) -> Scalar:
        """An estimate of sup_{f in F} t(E_q[O f]) from independent sets of stacked draws, each with the
        target (or the minibatch of it) that it was shown."""

    @abc.abstractmethod
    def maximisers(
        self,
        operator: AbstractOperator,
        family: AbstractFamily,
        targets: tuple[AbstractTarget, ...],
        draws: tuple[Draw, ...],
    ) -> tuple[AbstractTestFunction, ...]:
        """For each set the f of the supremum, up to scale; estimated from the other sets if there are
        any, so that it is independent of the draws it is shown."""

    @abc.abstractmethod
    def check(self, operator: AbstractOperator, family: AbstractFamily) -> None:
        """Raise `IncompatibleError`, naming what works, where the supremum has no closed form."""
