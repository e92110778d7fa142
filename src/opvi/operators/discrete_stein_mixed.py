"""Langevin-Stein for the real numbers, a discrete Stein operator for the states."""

from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import PyTree

from opvi._core.errors import IncompatibleError, require
from opvi._core.states import Cardinalities
from opvi._core.types import Array, Float, Scalar, Vector
from opvi.families import AbstractFamily, AbstractMixedFamily
from opvi.operators._base import AbstractSteinOperator, Draw
from opvi.operators.discrete_stein import AbstractDiscreteSteinOperator, GibbsStein
from opvi.operators.divergence import DivergenceFree
from opvi.operators.langevin_stein import LangevinStein
from opvi.targets import AbstractDiscreteTarget, AbstractMixedTarget, AbstractTarget
from opvi.testfunctions import AbstractTestFunction


class MixedStein(AbstractSteinOperator):
    """(O f)(x, k) = (O_LS f_x(., k))(x) + (O_discrete f_k(x, .))(k) for z = (x, k).

    One operator in x with k held fixed, another in k with x held fixed.

    - Closeness: given k the first has mean zero under p(x | k), given x the second under p(k | x).
      Both conditionals right is p, where the two together reach everything.
    - Tractability: a score in x and ratios of p in k, no normaliser. q(x | k) need have no density (a
      program, in a `MixedProgram`); q(k) must, because its gradient is the score function's.
    - Subsampling: no, the ratios are not linear in log p.

    Gradient: `ScoreFunction`, which differentiates x through R(eps, k) and k through log q.
    """

    continuous: LangevinStein = eqx.field(default_factory=LangevinStein)
    discrete: AbstractDiscreteSteinOperator = eqx.field(default_factory=GibbsStein)
    gradient_evaluations: int = eqx.field(static=True, default=3, init=False)

    def see(self, target: AbstractTarget, z: Vector) -> tuple[Any, Any]:
        x, k = _split(target, z)
        return (
            self.continuous.see(_GivenStates(target, k), x),
            self.discrete.see(_GivenReals(target, x), k),
        )

    def __call__(
        self,
        f: AbstractTestFunction,
        draw: Draw,
        *,
        target: AbstractTarget,
        family: AbstractFamily,
    ) -> Scalar:
        x, k = _split(target, draw.z)
        at_x = Draw(z=x, eps=None, seen=draw.seen[0], key=draw.key)
        at_k = Draw(z=k, eps=None, seen=draw.seen[1], key=draw.key)
        of_x = self.continuous(_OfReals(f, k), at_x, target=_GivenStates(target, k), family=family)
        of_k = self.discrete(_OfStates(f, x), at_k, target=_GivenReals(target, x), family=family)
        return of_x + of_k

    def value(self, f: AbstractTestFunction, draw: Draw) -> Array:
        x, k = jnp.split(draw.z, [draw.seen[0].shape[0]])
        at_x = Draw(z=x, eps=None, seen=draw.seen[0], key=draw.key)
        at_k = Draw(z=k, eps=None, seen=draw.seen[1], key=draw.key)
        return jnp.concatenate(
            [
                self.continuous.value(_OfReals(f, k), at_x),
                self.discrete.value(_OfStates(f, x), at_k),
            ]
        )

    def outputs(self, continuous: int, dim: int) -> int:
        """How many numbers f(z) has: first those for x, then those for the states."""
        return continuous + self.discrete.outputs(dim - continuous)

    def check(self, family: AbstractFamily) -> None:
        require(
            isinstance(family, AbstractMixedFamily),
            IncompatibleError,
            expected="a family over real numbers and states",
            got=f"MixedStein with {type(family).__name__}",
            write="family=MixedFamily(FullRank(target.continuous), "
            "Autoregressive(target.cardinalities, key=key))",
        )
        require(
            not isinstance(self.continuous.divergence, DivergenceFree),
            IncompatibleError,
            expected="a divergence that does not ask for the density of the real numbers given k",
            got="DivergenceFree()",
            write="MixedStein(LangevinStein(Exact()), GibbsStein())",
        )


def _split(
    target: AbstractTarget, z: Vector
) -> tuple[Float[Array, " continuous"], Float[Array, " states"]]:
    assert isinstance(target, AbstractMixedTarget)
    return z[: target.continuous], z[target.continuous :]


class _OfReals(AbstractTestFunction):
    """x -> the part of f(x, k) that belongs to x."""

    f: AbstractTestFunction
    k: Vector

    def __call__(self, z: Array, score: Array) -> Array:
        value = self.f(
            jnp.concatenate([z, self.k]), jnp.concatenate([score, jnp.zeros_like(self.k)])
        )
        return value[: len(z)]


class _OfStates(AbstractTestFunction):
    """k -> the part of f(x, k) that belongs to k."""

    f: AbstractTestFunction
    x: Vector

    def __call__(self, z: Array, score: Array) -> Array:
        del score
        both = jnp.concatenate([self.x, z])
        return self.f(both, jnp.zeros_like(both))[len(self.x) :]


class _AbstractSlice(AbstractTarget):
    """A mixed target with one of its two blocks held fixed. Operators ask it for no names."""

    target: eqx.AbstractVar[AbstractTarget]

    def constrain(self, z: Vector) -> PyTree:
        return z

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    @property
    def dims(self) -> Mapping[str, Sequence[str]]:
        return {}

    @property
    def coords(self) -> Mapping[str, Sequence[Any]]:
        return {}


class _GivenStates(_AbstractSlice):
    """log p(x, k) as a function of x."""

    target: AbstractTarget
    k: Vector
    dim: int = eqx.field(static=True)

    def __init__(self, target: AbstractTarget, k: Vector):
        self.target, self.k, self.dim = target, k, target.dim - len(k)

    def log_density(self, z: Vector) -> Scalar:
        return self.target.log_density(jnp.concatenate([z, self.k]))


class _GivenReals(_AbstractSlice, AbstractDiscreteTarget):
    """log p(x, k) as a function of k."""

    target: AbstractTarget
    x: Vector
    cardinalities: Cardinalities = eqx.field(static=True)
    dim: int = eqx.field(static=True)

    def __init__(self, target: AbstractTarget, x: Vector):
        assert isinstance(target, AbstractMixedTarget)
        self.target, self.x = target, x
        self.cardinalities, self.dim = target.cardinalities, len(target.cardinalities)

    def log_density(self, z: Vector) -> Scalar:
        return self.target.log_density(jnp.concatenate([self.x, z]))
