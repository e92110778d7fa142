"""A product of blocks: a family for some latents, another for the others."""

from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from opvi._core.errors import IncompatibleError, require
from opvi._core.types import Array, Key, Noise, Scalar, Vector
from opvi.families._base import (
    AbstractFamily,
    AbstractReparameterisedFamily,
    AbstractSemiImplicitFamily,
    AbstractTractableFamily,
    AbstractTransportFamily,
    AbstractWeightedFamily,
)
from opvi.families._conditional import conditional_score

Blocks = tuple[AbstractReparameterisedFamily, ...]
Indices = tuple[tuple[int, ...], ...]


class _AbstractProduct(AbstractReparameterisedFamily):
    """q(z) = prod_b q_b(z[indices_b])."""

    blocks: eqx.AbstractVar[Blocks]
    indices: eqx.AbstractVar[Indices]

    def noise(self, key: Key, n: int) -> Noise:
        keys = jr.split(key, len(self.blocks))
        return tuple(q.noise(k, n) for q, k in zip(self.blocks, keys, strict=True))

    def transform(self, eps: Noise) -> Vector:
        return self._join([q.transform(e) for q, e in zip(self.blocks, eps, strict=True)])

    def _join(self, parts: list[Array]) -> Array:
        # Position i of the blocks, one after the other, is coordinate order[i] of z.
        order = np.concatenate([np.asarray(i) for i in self.indices])
        return jnp.concatenate(parts)[np.argsort(order)]

    def _split(self, z: Vector) -> list[Array]:
        return [z[np.asarray(i)] for i in self.indices]


class _AbstractConditional(_AbstractProduct, AbstractSemiImplicitFamily):
    def conditional_score(self, eps: Noise) -> Vector:
        pairs = zip(self.blocks, eps, strict=True)
        return self._join([conditional_score(q, e) for q, e in pairs])


class _AbstractDensity(_AbstractProduct, AbstractTractableFamily):
    def log_prob(self, z: Vector) -> Scalar:
        pairs = zip(self.blocks, self._split(z), strict=True)
        parts = [q.log_prob(x) for q, x in pairs]  # pyright: ignore[reportAttributeAccessIssue]
        return jnp.sum(jnp.stack(parts))


class _AbstractWeights(_AbstractProduct, AbstractWeightedFamily):
    def strata(self, key: Key, n: int) -> Noise:
        keys = jr.split(key, len(self.blocks))
        return tuple(_strata(q, k, n) for q, k in zip(self.blocks, keys, strict=True))

    def weight(self, eps: Noise) -> Scalar:
        pairs = zip(self.blocks, eps, strict=True)
        # The labels of different blocks are independent: what a draw counts is a product.
        parts = [q.weight(e) for q, e in pairs if isinstance(q, AbstractWeightedFamily)]
        return jnp.prod(jnp.stack(parts))


class _Product(_AbstractProduct):
    blocks: Blocks
    indices: Indices = eqx.field(static=True)
    dim: int = eqx.field(static=True)


class _SemiImplicit(_AbstractConditional):
    blocks: Blocks
    indices: Indices = eqx.field(static=True)
    dim: int = eqx.field(static=True)


class _Tractable(_AbstractDensity):
    blocks: Blocks
    indices: Indices = eqx.field(static=True)
    dim: int = eqx.field(static=True)


class _Transport(_AbstractDensity, AbstractTransportFamily):
    blocks: Blocks
    indices: Indices = eqx.field(static=True)
    dim: int = eqx.field(static=True)

    def transform_and_log_prob(self, eps: Noise) -> tuple[Vector, Scalar]:
        # With a flow among the blocks: its density comes with the draw, that of the others is cheap.
        parts, log_qs = [], []
        for q, e in zip(self.blocks, eps, strict=True):
            if isinstance(q, AbstractTransportFamily):
                x, log_q = q.transform_and_log_prob(e)
            else:
                x = q.transform(e)
                log_q = q.log_prob(x)  # pyright: ignore[reportAttributeAccessIssue]
            parts.append(x)
            log_qs.append(log_q)
        return self._join(parts), jnp.sum(jnp.stack(log_qs))


class _Weighted(_AbstractWeights):
    blocks: Blocks
    indices: Indices = eqx.field(static=True)
    dim: int = eqx.field(static=True)


class _WeightedSemiImplicit(_AbstractWeights, _AbstractConditional):
    blocks: Blocks
    indices: Indices = eqx.field(static=True)
    dim: int = eqx.field(static=True)


class _WeightedTractable(_AbstractWeights, _AbstractDensity):
    blocks: Blocks
    indices: Indices = eqx.field(static=True)
    dim: int = eqx.field(static=True)


def Product(
    blocks: Sequence[AbstractFamily],
    indices: Sequence[Sequence[int]] | None = None,
) -> AbstractReparameterisedFamily:
    """q(z) = prod_b q_b(z_b): blocks in order, or each over its own `indices` of z.

    A density if every block has one; semi-implicit if every block is or has a density; weights if any
    block has weights. Blocks are independent under q, so keep together what the posterior ties:

        theta = [i for i, c in enumerate(target.columns) if c.startswith("theta")]
        rest = [i for i in range(target.dim) if i not in theta]
        q = Product([SemiImplicitProgram(len(rest), key=key), MeanField(len(theta))], [rest, theta])

    For states and real numbers see `MixedFamily`.
    """
    parts = tuple(q for q in blocks if isinstance(q, AbstractReparameterisedFamily))
    require(
        0 < len(parts) == len(blocks),
        IncompatibleError,
        expected="one or more reparameterised families",
        got=f"{[type(q).__name__ for q in blocks]}",
        write="Product([FullRank(2), SemiImplicitProgram(3, key=key)]); for states "
        "MixedFamily(Product([...]), Autoregressive(target.cardinalities, key=key))",
    )
    sizes = [q.dim for q in parts]
    starts = np.cumsum([0, *sizes])
    ours = [range(a, b) for a, b in zip(starts[:-1], starts[1:], strict=True)]
    picked = tuple(tuple(int(i) for i in rows) for rows in (ours if indices is None else indices))
    require(
        [len(rows) for rows in picked] == sizes
        and sorted(i for rows in picked for i in rows) == list(range(sum(sizes))),
        IncompatibleError,
        expected=f"for blocks with dim={sizes} as many indices each, which together are 0, ..., "
        f"{sum(sizes) - 1}, every one once",
        got=f"indices={[list(rows) for rows in picked]}",
        write=f"Product(blocks, {[list(rows) for rows in ours]})",
    )
    return _kind(parts)(blocks=parts, indices=picked, dim=sum(sizes))


def _kind(blocks: Blocks) -> Callable[..., AbstractReparameterisedFamily]:
    weighted = any(isinstance(q, AbstractWeightedFamily) for q in blocks)
    if all(isinstance(q, AbstractTractableFamily) for q in blocks):
        if weighted:
            return _WeightedTractable
        flows = any(isinstance(q, AbstractTransportFamily) for q in blocks)
        return _Transport if flows else _Tractable
    if all(isinstance(q, AbstractTractableFamily | AbstractSemiImplicitFamily) for q in blocks):
        return _WeightedSemiImplicit if weighted else _SemiImplicit
    return _Weighted if weighted else _Product


def _strata(q: AbstractReparameterisedFamily, key: Key, n: int) -> Noise:
    if not isinstance(q, AbstractWeightedFamily):
        return q.noise(key, n)
    k_strata, k_order = jr.split(key)
    # Labels come in turn: in order, those of two blocks would go hand in hand through the whole set.
    order = jr.permutation(k_order, n)
    return jax.tree.map(lambda x: x[order], q.strata(k_strata, n))
