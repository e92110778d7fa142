"""Autoregressive states: each coordinate conditioned on those before it."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from opvi._core.errors import OpviError, require
from opvi._core.states import Cardinalities, one_hot, replace_each
from opvi._core.types import Array, Float, Key, Vector
from opvi.families.discrete._base import AbstractDiscreteFamily, check_cardinalities
from opvi.families.discrete.mean_field import masked_log_softmax


class _MaskedLinear(eqx.Module):
    """x -> (mask * W) x + b; the mask lets a unit see units of a lower (or equal) degree only."""

    weight: Float[Array, "out in"]
    bias: Float[Array, " out"]
    into: tuple[int, ...] = eqx.field(static=True)
    out: tuple[int, ...] = eqx.field(static=True)

    def __init__(self, into: Sequence[int], out: Sequence[int], *, key: Key, scale: float):
        self.into, self.out = tuple(into), tuple(out)
        dtype = jnp.result_type(float)
        inputs = np.maximum(self._mask().sum(1, keepdims=True), 1)
        shape = (len(self.out), len(self.into))
        self.weight = scale * jr.normal(key, shape, dtype) / jnp.asarray(inputs**0.5, dtype)
        self.bias = jnp.zeros((len(self.out),), dtype)

    def _mask(self) -> np.ndarray:
        return np.asarray(self.out)[:, None] >= np.asarray(self.into)[None, :]

    def __call__(self, x: Float[Array, " in"]) -> Float[Array, " out"]:
        return jnp.where(self._mask(), self.weight, jnp.zeros_like(self.weight)) @ x + self.bias


class Autoregressive(AbstractDiscreteFamily):
    """q(z) = prod_i softmax(g_i(z_1, ..., z_{i-1}))[z_i], all g_i in one masked network (MADE).

    g is linear in the one-hot states plus `depth` hidden layers of `width` units, masked so that g_i
    sees the coordinates before i only (Germain et al. 2015). With depth 0 the linear part alone is
    left: for binary states a logistic regression of each coordinate on those before it. A universal
    approximation of the mass function, in the order of the coordinates. It starts as uniform.
    """

    skip: _MaskedLinear
    layers: tuple[_MaskedLinear, ...]
    cardinalities: Cardinalities = eqx.field(static=True)
    dim: int = eqx.field(static=True)

    def __init__(
        self, cardinalities: int | Sequence[int], *, key: Key, width: int = 64, depth: int = 1
    ):
        self.cardinalities = check_cardinalities(cardinalities, "Autoregressive")
        self.dim = len(self.cardinalities)
        require(
            width >= 1 and depth >= 0,
            OpviError,
            expected="a width of at least 1 and a depth of at least 0",
            got=f"width={width}, depth={depth}",
            write="Autoregressive(target.cardinalities, key=key, width=64, depth=1)",
        )
        c, d = max(self.cardinalities), self.dim
        # A unit of degree i may see coordinates up to i; logits of coordinate i may see up to i - 1.
        states = [j for j in range(d) for _ in range(c - 1)]
        logits = [i - 1 for i in range(d) for _ in range(c)]
        hidden = [k % max(d - 1, 1) for k in range(width)]
        sizes = [states, *[hidden] * depth, logits]
        keys = jr.split(key, depth + 2)
        self.skip = _MaskedLinear(states, logits, key=keys[0], scale=0.0)
        self.layers = tuple(
            _MaskedLinear(into, out, key=k, scale=0.0 if out is logits else 2.0**0.5)
            for into, out, k in zip(sizes[:-1], sizes[1:], keys[1:], strict=True)
        )[: depth + 1 if depth else 0]

    def _logits(self, z: Vector) -> Float[Array, "d c"]:
        x = one_hot(z, self.cardinalities)[:, 1:].ravel()
        out, h = self.skip(x), x
        for layer in self.layers[:-1]:
            h = jax.nn.gelu(layer(h))
        for last in self.layers[-1:]:
            out = out + last(h)
        return out.reshape(self.dim, max(self.cardinalities))

    def sample(self, key: Key, n: int) -> Float[Array, "n d"]:
        def draw(z: Float[Array, "n d"], i: Array):
            table = jax.vmap(self.log_table)(z)[:, i]
            states = jr.categorical(jr.fold_in(key, i), table)
            return z.at[:, i].set(states.astype(z.dtype)), None

        # Entries from i on are still zero: the mask hides them from g_i.
        start = jnp.zeros((n, self.dim), self.skip.weight.dtype)
        return jax.lax.scan(draw, start, jnp.arange(self.dim))[0]

    def log_table(self, z: Vector) -> Float[Array, "d c"]:
        return masked_log_softmax(self._logits(z), self.cardinalities)

    def log_full_conditionals(self, z: Vector) -> Float[Array, "d c"]:
        # q(z_i = s | z_-i) is proportional to q at z with coordinate i set to s.
        beside = replace_each(z, self.cardinalities)
        return masked_log_softmax(jax.vmap(jax.vmap(self.log_prob))(beside), self.cardinalities)

    @property
    def descendants(self) -> np.ndarray:
        return np.triu(np.ones((self.dim, self.dim), bool))


def LogisticAutoregressive(cardinalities: int | Sequence[int], *, key: Key) -> Autoregressive:
    """Each coordinate by a logistic (multinomial, beyond two states) regression on those before it."""
    return Autoregressive(cardinalities, key=key, depth=0)
