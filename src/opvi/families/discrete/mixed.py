"""Real numbers and states in one family: a reparameterised block and a discrete one."""

import abc
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import jax.scipy.linalg as jsl

from opvi._core.errors import IncompatibleError, require
from opvi._core.states import Cardinalities, one_hot
from opvi._core.types import Array, Float, Key, Matrix, Noise, Scalar, Vector
from opvi.families._base import (
    AbstractFamily,
    AbstractReparameterisedFamily,
    AbstractTractableFamily,
)
from opvi.families.discrete._base import AbstractDiscreteFamily
from opvi.families.discrete.autoregressive import Autoregressive

_WRITE = "MixedFamily(FullRank(target.continuous), Autoregressive(target.cardinalities, key=key))"


class AbstractMixedFamily(AbstractFamily):
    """z = (R(eps, k; lambda), k): eps is noise free of lambda, k are states, k ~ q(k; lambda).

    With h(z; lambda) the operator's value at a draw,

        grad E[h] = E[ grad_lambda h(R(eps, k; lambda)) + h grad_lambda log q(k; lambda) ],

    the reparameterisation gradient for the real numbers and the score function for the states.
    """

    discrete: eqx.AbstractVar[AbstractDiscreteFamily]

    @property
    def cardinalities(self) -> Cardinalities:
        return self.discrete.cardinalities

    @abc.abstractmethod
    def noise(self, key: Key, n: int) -> Noise:
        """`n` draws of (eps, k), stacked along the first axis of every leaf."""

    @abc.abstractmethod
    def transform(self, eps: Noise) -> Vector:
        """(R(eps, k; lambda), k) for one draw."""

    def sample(self, key: Key, n: int) -> Float[Array, "n d"]:
        return jax.vmap(self.transform)(self.noise(key, n))


class MixedFamily(AbstractMixedFamily, AbstractTractableFamily):
    """q(x, k) = q(x) q(k), both with a density."""

    continuous: AbstractReparameterisedFamily
    discrete: AbstractDiscreteFamily
    dim: int = eqx.field(static=True)

    def __init__(self, continuous: AbstractFamily, discrete: AbstractFamily):
        continuous, discrete = _blocks(continuous, discrete)
        require(
            isinstance(continuous, AbstractTractableFamily),
            IncompatibleError,
            expected="a block with a density for the real numbers",
            got=f"{type(continuous).__name__}, which can only be sampled",
            write=f"{_WRITE}, or MixedProgram(...) with an objective that needs no log q",
        )
        self.continuous, self.discrete = continuous, discrete
        self.dim = continuous.dim + discrete.dim

    def noise(self, key: Key, n: int) -> Noise:
        return _noise(self.continuous, self.discrete, key, n)

    def transform(self, eps: Noise) -> Vector:
        return jnp.concatenate([self.continuous.transform(eps[0]), eps[1]])

    def log_prob(self, z: Vector) -> Scalar:
        assert isinstance(self.continuous, AbstractTractableFamily)
        x, states = z[: self.continuous.dim], z[self.continuous.dim :]
        return self.continuous.log_prob(x) + self.discrete.log_prob(states)


class MixedProgram(AbstractMixedFamily):
    """q(x) q(k) with a program for the real numbers: no density, for Stein operators only.

    The states keep theirs: without log q(k) there is no gradient for them.
    """

    continuous: AbstractReparameterisedFamily
    discrete: AbstractDiscreteFamily
    dim: int = eqx.field(static=True)

    def __init__(self, continuous: AbstractFamily, discrete: AbstractFamily):
        continuous, discrete = _blocks(continuous, discrete)
        self.continuous, self.discrete = continuous, discrete
        self.dim = continuous.dim + discrete.dim

    def noise(self, key: Key, n: int) -> Noise:
        return _noise(self.continuous, self.discrete, key, n)

    def transform(self, eps: Noise) -> Vector:
        return jnp.concatenate([self.continuous.transform(eps[0]), eps[1]])


class ConditionalMixedFamily(AbstractMixedFamily, AbstractTractableFamily):
    """q(x, k) = q(k) Normal(x; m(k), S(k) T T' S(k)): the real numbers see the states.

    m and the logarithm of the diagonal S are linear in the one-hot states plus one hidden layer; T is
    lower triangular with ones on its diagonal, the same for every k. This is what a posterior over a
    label and the location that goes with it needs: a product cannot move x with k. It starts as
    uniform states beside standard normals, and has `MixedFamily` of a full-rank Gaussian inside.
    """

    discrete: AbstractDiscreteFamily
    network: eqx.nn.MLP
    linear: Float[Array, "out states"]
    bias: Float[Array, " out"]
    below: Matrix
    dim: int = eqx.field(static=True)

    def __init__(
        self,
        continuous: int,
        discrete: AbstractDiscreteFamily | Sequence[int],
        *,
        key: Key,
        width: int = 32,
    ):
        k_discrete, k_network = jr.split(key)
        if not isinstance(discrete, AbstractDiscreteFamily):
            discrete = Autoregressive(discrete, key=k_discrete)
        dtype = jnp.result_type(float)
        states = discrete.dim * (max(discrete.cardinalities) - 1)
        out = 2 * continuous
        network = eqx.nn.MLP(states, out, width, 1, jax.nn.gelu, key=k_network)
        # The hidden layer starts at nothing: x and k are independent at first.
        last = jnp.zeros_like(network.layers[-1].weight), jnp.zeros((out,), dtype)
        self.network = eqx.tree_at(
            lambda m: (m.layers[-1].weight, m.layers[-1].bias), network, last
        )
        self.discrete = discrete
        self.linear = jnp.zeros((out, states), dtype)
        self.bias = jnp.zeros((out,), dtype)
        self.below = jnp.zeros((continuous, continuous), dtype)
        self.dim = continuous + discrete.dim

    def _moments(self, states: Vector) -> tuple[Vector, Vector]:
        """m(k) and log s(k)."""
        x = one_hot(states, self.cardinalities)[:, 1:].ravel()
        out = self.network(x) + self.linear @ x + self.bias
        loc, log_scale = jnp.split(out, 2)
        return loc, log_scale

    def noise(self, key: Key, n: int) -> Noise:
        k_normal, k_states = jr.split(key)
        continuous = self.dim - self.discrete.dim
        normal = jr.normal(k_normal, (n, continuous), self.bias.dtype)
        return normal, self.discrete.sample(k_states, n)

    def transform(self, eps: Noise) -> Vector:
        normal, states = eps
        loc, log_scale = self._moments(states)
        correlated = normal + jnp.tril(self.below, -1) @ normal
        return jnp.concatenate([loc + jnp.exp(log_scale) * correlated, states])

    def log_prob(self, z: Vector) -> Scalar:
        x, states = jnp.split(z, [self.dim - self.discrete.dim])
        loc, log_scale = self._moments(states)
        white = (x - loc) * jnp.exp(-log_scale)
        normal = jsl.solve_triangular(self.below, white, lower=True, unit_diagonal=True)
        log_normal = jax.scipy.stats.norm.logpdf(normal) - log_scale
        return jnp.sum(log_normal) + self.discrete.log_prob(states)


def _noise(
    continuous: AbstractReparameterisedFamily, discrete: AbstractDiscreteFamily, key: Key, n: int
) -> Noise:
    k_continuous, k_discrete = jr.split(key)
    return continuous.noise(k_continuous, n), discrete.sample(k_discrete, n)


def _blocks(
    continuous: AbstractFamily, discrete: AbstractFamily
) -> tuple[AbstractReparameterisedFamily, AbstractDiscreteFamily]:
    require(
        isinstance(continuous, AbstractReparameterisedFamily),
        IncompatibleError,
        expected="a reparameterised block for the real numbers",
        got=f"{type(continuous).__name__}",
        write=_WRITE,
    )
    require(
        isinstance(discrete, AbstractDiscreteFamily),
        IncompatibleError,
        expected="a discrete block for the states",
        got=f"{type(discrete).__name__}",
        write=_WRITE,
    )
    return continuous, discrete  # pyright: ignore[reportReturnType]
