"""Stein operators for states (paper, appendix C): ratios of p beside z instead of its score."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp

from opvi._core.errors import IncompatibleError, require
from opvi._core.states import Cardinalities, is_last, replace_each, successor, valid
from opvi._core.types import Array, Float, Scalar, Vector
from opvi.families import AbstractDiscreteFamily, AbstractFamily
from opvi.operators._base import AbstractGradientFreeOperator, AbstractSteinOperator, Draw
from opvi.targets import AbstractDiscreteTarget, AbstractTarget
from opvi.testfunctions import AbstractTestFunction


class AbstractDiscreteSteinOperator(AbstractSteinOperator, AbstractGradientFreeOperator):
    """E_p[O f] = 0 for every f of the states, by a sum that telescopes or a conditional mean.

    Test functions are shown a score of zeros. Families: any law of states that can be sampled; what
    needs log q is the gradient in lambda, the score function.
    """

    @abc.abstractmethod
    def outputs(self, dim: int) -> int:
        """How many numbers f(z) has."""

    @abc.abstractmethod
    def evaluations(self, cardinalities: Cardinalities) -> int:
        """Log densities that `see` asks for at one draw."""


class DiscreteStein(AbstractDiscreteSteinOperator):
    """(O f)(z) = (f(z + 1) p(z + 1, x) - f(z) p(z, x)) / p(z, x), with f(0) = 0 and p(c + 1, x) = 0.

    On {0, ..., c} exactly as in appendix C. With several latents z + 1 is the next state when states
    are counted like a clock, the last coordinate fastest: binary numbers, for binary latents. f is a
    scalar, f: states -> R^1.

    - Closeness: sum_z p(z) (O f)(z) telescopes, with both ends zero. E_q[O f] = 0 for all f says
      q(k) / q(k - 1) = p(k) / p(k - 1) for all k, hence q = p, where p has no zeros.
    - Tractability: ratios of p at two states, no normaliser. Two log densities a draw; one scalar f.
      But states that are neighbours in the order may have nothing to do with each other: ratios are
      large, f is as rough as p, and its variance grows with the number of latents. Use `GibbsStein`
      there.
    - Subsampling: no, it is not linear in log p. Programs: no, a family of states needs log q.
    """

    gradient_evaluations: int = eqx.field(static=True, default=2, init=False)

    def see(self, target: AbstractTarget, z: Vector) -> tuple[Vector, Scalar]:
        """The next state, and how much more probable it is."""
        states = cardinalities_of(target)
        following = successor(z, states)
        last = is_last(z, states)
        # The double where keeps inf - inf of the wrapped state out of it.
        change = target.log_density(following) - target.log_density(z)
        return following, jnp.where(last, 0.0, jnp.exp(jnp.where(last, 0.0, change)))

    def __call__(
        self,
        f: AbstractTestFunction,
        draw: Draw,
        *,
        target: AbstractTarget,
        family: AbstractFamily,
    ) -> Scalar:
        del target, family
        following, ratio = draw.seen
        return (ratio * _from_zero(f, following) - self.value(f, draw))[0]

    def value(self, f: AbstractTestFunction, draw: Draw) -> Float[Array, " 1"]:
        return _from_zero(f, draw.z)

    def outputs(self, dim: int) -> int:
        return 1

    def evaluations(self, cardinalities: Cardinalities) -> int:
        return 2

    def check(self, family: AbstractFamily) -> None:
        _check_states(self, family)


class CoordinateStein(AbstractDiscreteSteinOperator):
    """(O f)(z) = sum_i f_i(z + e_i) p(z + e_i, x) / p(z, x) - f_i(z), f_i(z) = 0 where z_i = 0.

    Appendix C in every coordinate with the others held fixed: d short sums that telescope instead of
    one with all 2^n states. f: states -> R^d.

    - Closeness: E_q[O f] = 0 for all f says that q has the conditionals q(z_i | z_-i) of p, hence
      q = p, where p has no zeros.
    - Tractability: d + 1 log densities a draw. The ratios are not bounded: `GibbsStein` has the same
      zeros and is.
    - Subsampling: no, it is not linear in log p. Programs: no, a family of states needs log q.
    """

    gradient_evaluations: int = eqx.field(static=True, default=2, init=False)

    def see(self, target: AbstractTarget, z: Vector) -> tuple[Float[Array, "d d"], Vector]:
        """z + e_i, and how much more probable it is."""
        last = z == jnp.asarray(cardinalities_of(target), z.dtype) - 1
        above = jnp.where(last[:, None], z, z + jnp.eye(len(z), dtype=z.dtype))
        change = jax.vmap(target.log_density)(above) - target.log_density(z)
        return above, jnp.where(last, 0.0, jnp.exp(jnp.where(last, 0.0, change)))

    def __call__(
        self,
        f: AbstractTestFunction,
        draw: Draw,
        *,
        target: AbstractTarget,
        family: AbstractFamily,
    ) -> Scalar:
        del target, family
        above, ratio = draw.seen
        there = jnp.diagonal(jax.vmap(lambda z: _each_from_zero(f, z))(above))
        return jnp.dot(ratio, there) - jnp.sum(self.value(f, draw))

    def value(self, f: AbstractTestFunction, draw: Draw) -> Vector:
        return _each_from_zero(f, draw.z)

    def outputs(self, dim: int) -> int:
        return dim

    def evaluations(self, cardinalities: Cardinalities) -> int:
        return len(cardinalities) + 1

    def check(self, family: AbstractFamily) -> None:
        _check_states(self, family)


class GibbsStein(AbstractDiscreteSteinOperator):
    """(O f)(z) = sum_i E_p[f_i(z_-i, s) | z_-i] - f_i(z), the mean over s ~ p(z_i = s | z_-i, x).

    The generator of the Gibbs sampler of p, one f for each coordinate. f: states -> R^d, with no
    condition on it.

    - Closeness: E_p[E_p[f_i | z_-i]] = E_p[f_i], with no telescoping. E_q[O f] = 0 for all f says that
      q has the conditionals of p, hence q = p, where the sampler can reach every state. Over the L2
      ball f*_i(z) = p(z_i | z_-i) / q(z_i | z_-i) - 1, and the objective is a sum of chi-squared
      divergences between conditionals, sum_i E_q[(p(z_i | z_-i) / q(z_i | z_-i) - 1)^2].
    - Tractability: sum_i (c_i - 1) + 1 log densities a draw; |O f| <= 2 sum_i |f_i|, however unlikely
      the draw is.
    - Subsampling: no, it is not linear in log p. Programs: no, a family of states needs log q.
    """

    gradient_evaluations: int = eqx.field(static=True, default=2, init=False)

    def see(
        self, target: AbstractTarget, z: Vector
    ) -> tuple[Float[Array, "d c d"], Float[Array, "d c"]]:
        """All states beside z, and their conditional probabilities under p."""
        states = cardinalities_of(target)
        beside = replace_each(z, states)
        log_p = jax.vmap(jax.vmap(target.log_density))(beside)
        return beside, jax.nn.softmax(jnp.where(valid(states), log_p, -jnp.inf), axis=1)

    def __call__(
        self,
        f: AbstractTestFunction,
        draw: Draw,
        *,
        target: AbstractTarget,
        family: AbstractFamily,
    ) -> Scalar:
        del target, family
        beside, p = draw.seen
        values = jax.vmap(jax.vmap(lambda z: _of_states(f, z)))(beside)
        return jnp.einsum("is,isi->", p, values) - jnp.sum(self.value(f, draw))

    def value(self, f: AbstractTestFunction, draw: Draw) -> Vector:
        return _of_states(f, draw.z)

    def outputs(self, dim: int) -> int:
        return dim

    def evaluations(self, cardinalities: Cardinalities) -> int:
        return sum(c - 1 for c in cardinalities) + 1

    def check(self, family: AbstractFamily) -> None:
        _check_states(self, family)


def cardinalities_of(target: AbstractTarget) -> Cardinalities:
    assert isinstance(target, AbstractDiscreteTarget)
    return target.cardinalities


def _check_states(operator: AbstractDiscreteSteinOperator, family: AbstractFamily) -> None:
    require(
        isinstance(family, AbstractDiscreteFamily),
        IncompatibleError,
        expected="a family over states: there is no successor of a real number",
        got=f"{type(operator).__name__} with {type(family).__name__}",
        write="Objective(LangevinStein()), or family=Autoregressive(target.cardinalities, key=key)",
    )


def _of_states(f: AbstractTestFunction, z: Vector) -> Array:
    return f(z, jnp.zeros_like(z))


def _from_zero(f: AbstractTestFunction, z: Vector) -> Array:
    """f with f(0) = 0, 0 the first of all states."""
    return jnp.where(jnp.any(z != 0), _of_states(f, z), 0.0)


def _each_from_zero(f: AbstractTestFunction, z: Vector) -> Array:
    """f with f_i(z) = 0 wherever z_i = 0."""
    return jnp.where(z != 0, _of_states(f, z), 0.0)
