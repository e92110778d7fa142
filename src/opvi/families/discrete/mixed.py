"""Real numbers and states in one family: a reparameterised block and a discrete one."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp

from opvi._core.errors import IncompatibleError, require
from opvi._core.states import Cardinalities
from opvi._core.types import Array, Float, Key, Noise, Scalar, Vector
from opvi.families._base import (
    AbstractFamily,
    AbstractReparameterisedFamily,
    AbstractTractableFamily,
)
from opvi.families.discrete._base import AbstractDiscreteFamily


class AbstractPartlyReparameterisedFamily(AbstractFamily):
    """z = R(eps, k; lambda): eps is noise free of lambda, k are states whose law depends on lambda.

    With h(z; lambda) the operator's value at a draw,

        grad E[h] = E[ grad_lambda h(R(eps, k; lambda)) + h grad_lambda log q(k; lambda) ],

    the reparameterised gradient for what is smooth and the score function for what is not.
    """

    @abc.abstractmethod
    def noise(self, key: Key, n: int) -> Noise:
        """`n` draws of (eps, k), stacked along the first axis of every leaf."""

    @abc.abstractmethod
    def transform(self, eps: Noise) -> Vector:
        """R(eps, k; lambda) for one draw."""

    @abc.abstractmethod
    def log_choices(self, eps: Noise) -> Float[Array, " t"]:
        """log q(k; lambda), split by the chain rule: what the score function differentiates."""

    def sample(self, key: Key, n: int) -> Float[Array, "n d"]:
        return jax.vmap(self.transform)(self.noise(key, n))


class MixedFamily(AbstractPartlyReparameterisedFamily, AbstractTractableFamily):
    """q(x, k) = q(x) q(k): z holds x first, then the states k."""

    continuous: AbstractReparameterisedFamily
    discrete: AbstractDiscreteFamily
    dim: int = eqx.field(static=True)

    def __init__(self, continuous: AbstractReparameterisedFamily, discrete: AbstractDiscreteFamily):
        require(
            isinstance(continuous, AbstractReparameterisedFamily)
            and isinstance(continuous, AbstractTractableFamily),
            IncompatibleError,
            expected="a reparameterised block with a density for the real numbers",
            got=f"{type(continuous).__name__}",
            write="MixedFamily(FullRank(target.continuous), Autoregressive(target.cardinalities, "
            "key=key))",
        )
        require(
            isinstance(discrete, AbstractDiscreteFamily),
            IncompatibleError,
            expected="a discrete block for the states",
            got=f"{type(discrete).__name__}",
            write="MixedFamily(FullRank(target.continuous), Autoregressive(target.cardinalities, "
            "key=key))",
        )
        self.continuous, self.discrete = continuous, discrete
        self.dim = continuous.dim + discrete.dim

    @property
    def cardinalities(self) -> Cardinalities:
        return self.discrete.cardinalities

    def noise(self, key: Key, n: int) -> Noise:
        k_continuous, k_discrete = jax.random.split(key)
        return self.continuous.noise(k_continuous, n), self.discrete.sample(k_discrete, n)

    def transform(self, eps: Noise) -> Vector:
        noise, states = eps
        return jnp.concatenate([self.continuous.transform(noise), states])

    def log_choices(self, eps: Noise) -> Float[Array, " t"]:
        _, states = eps
        return self.discrete.log_conditionals(states)

    def log_prob(self, z: Vector) -> Scalar:
        assert isinstance(self.continuous, AbstractTractableFamily)
        x, states = z[: self.continuous.dim], z[self.continuous.dim :]
        return self.continuous.log_prob(x) + self.discrete.log_prob(states)
