"""Amortised inference: one network that makes q(z | x) out of what was observed, for every x.

An amortised family is not a family over z but a map `x -> family`; its arrays are lambda. What it
returns is an ordinary family, so operators and estimators need not know where it came from.
"""

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from opvi._core.types import Array, Float, Key, Matrix, PyTree, Vector
from opvi.families._base import AbstractFamily
from opvi.families.affine import Affine
from opvi.families.programs.networks import SkipMLP
from opvi.families.programs.semi_implicit import SemiImplicitProgram
from opvi.families.tractable.full_rank import FullRank
from opvi.families.tractable.mean_field import MeanField


def ravelled(x: PyTree) -> Float[Array, " features"]:
    """What a network sees of one row: all its numbers in one vector."""
    dtype = jnp.result_type(float)
    leaves = jax.tree_util.tree_leaves(x)
    return jnp.concatenate([jnp.ravel(leaf).astype(dtype) for leaf in leaves])


class AbstractAmortised(eqx.Module):
    """x -> q(z | x; lambda)."""

    dim: eqx.AbstractVar[int]

    @abc.abstractmethod
    def __call__(self, x: PyTree) -> AbstractFamily:
        """The family for one row of the data."""


class Shared(AbstractAmortised):
    """The same q for every row: for data of one row, where there is nothing to amortise over."""

    family: AbstractFamily
    dim: int = eqx.field(static=True)

    def __init__(self, family: AbstractFamily):
        self.family, self.dim = family, family.dim

    def __call__(self, x: PyTree) -> AbstractFamily:
        del x
        return self.family


class AmortisedMeanField(AbstractAmortised):
    """q(z | x) = N(m(x), diag s(x)^2) with one network for both."""

    encoder: eqx.nn.MLP
    features: Callable[[PyTree], Vector] = eqx.field(static=True)
    dim: int = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        dim: int,
        *,
        key: Key,
        width: int = 64,
        depth: int = 1,
        activation: Callable = jax.nn.gelu,
        features: Callable[[PyTree], Vector] = ravelled,
    ):
        self.encoder = _encoder(inputs, 2 * dim, width, depth, activation, key)
        self.features, self.dim = features, dim

    def __call__(self, x: PyTree) -> MeanField:
        loc, log_scale = jnp.split(self.encoder(self.features(x)), 2)
        q = MeanField(self.dim)
        return eqx.tree_at(lambda q: (q.loc, q.log_scale), q, (loc, log_scale))


class AmortisedFullRank(AbstractAmortised):
    """q(z | x) = N(m(x), L(x) L(x)')."""

    encoder: eqx.nn.MLP
    features: Callable[[PyTree], Vector] = eqx.field(static=True)
    dim: int = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        dim: int,
        *,
        key: Key,
        width: int = 64,
        depth: int = 1,
        activation: Callable = jax.nn.gelu,
        features: Callable[[PyTree], Vector] = ravelled,
    ):
        self.encoder = _encoder(inputs, 2 * dim + dim * dim, width, depth, activation, key)
        self.features, self.dim = features, dim

    def __call__(self, x: PyTree) -> FullRank:
        loc, log_diagonal, tril = _gaussian(self.encoder(self.features(x)), self.dim)
        q = FullRank(self.dim)
        where = lambda q: (q.loc, q.log_diagonal, q.off_diagonal)
        return eqx.tree_at(where, q, (loc, log_diagonal, jnp.tril(tril, -1)))


class AmortisedProgram(AbstractAmortised):
    """z = m(x) + L(x) (g(eps, h(x)) + s xi): a semi-implicit program that is told what was observed.

    It starts as `AmortisedFullRank` and learns from there how each posterior differs from a Gaussian.
    """

    encoder: eqx.nn.MLP
    network: SkipMLP
    log_scale: Vector
    features: Callable[[PyTree], Vector] = eqx.field(static=True)
    context: int = eqx.field(static=True)
    dim: int = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        dim: int,
        *,
        key: Key,
        width: int = 64,
        depth: int = 1,
        program_width: int = 32,
        context: int = 16,
        noise_scale: float = 0.5,
        activation: Callable = jax.nn.gelu,
        features: Callable[[PyTree], Vector] = ravelled,
    ):
        encoder_key, program_key = jr.split(key)
        outputs = 2 * dim + dim * dim + context
        self.encoder = _encoder(inputs, outputs, width, depth, activation, encoder_key)
        # With g(eps) = sqrt(1 - s^2) eps the program starts at N(m(x), L(x) L(x)') exactly.
        self.network = SkipMLP(
            dim + context,
            dim,
            key=program_key,
            width=program_width,
            depth=2,
            scale=max(1.0 - noise_scale**2, 0.0) ** 0.5,
            activation=activation,
        )
        self.log_scale = jnp.full((dim,), jnp.log(noise_scale), jnp.result_type(float))
        self.features, self.context, self.dim = features, context, dim

    def __call__(self, x: PyTree) -> AbstractFamily:
        out = self.encoder(self.features(x))
        split = out.shape[0] - self.context
        loc, log_diagonal, tril = _gaussian(out[:split], self.dim)
        told = _Told(self.network, out[split:])
        base = SemiImplicitProgram(self.dim, key=jr.key(0), noise_scale=0.5, network=told)
        base = eqx.tree_at(lambda q: q.log_scale, base, self.log_scale)
        return Affine(base, loc, jnp.tril(tril, -1) + jnp.diag(jnp.exp(log_diagonal)))


class _Told(eqx.Module):
    """eps -> network(eps, h(x)) at one x."""

    network: SkipMLP
    context: Vector

    def __call__(self, eps: Vector) -> Vector:
        return self.network(jnp.concatenate([eps, self.context]))


def _encoder(
    inputs: int, outputs: int, width: int, depth: int, activation: Callable, key: Key
) -> eqx.nn.MLP:
    """A network whose outputs start near zero: every q(z | x) starts near N(0, I)."""
    mlp = eqx.nn.MLP(inputs, outputs, width, depth, activation, key=key)
    last = mlp.layers[-1]
    small = (0.1 * last.weight, jnp.zeros(last.out_features, last.weight.dtype))
    return eqx.tree_at(lambda m: (m.layers[-1].weight, m.layers[-1].bias), mlp, small)


def _gaussian(out: Float[Array, " outputs"], dim: int) -> tuple[Vector, Vector, Matrix]:
    return out[:dim], out[dim : 2 * dim], out[2 * dim :].reshape(dim, dim)
