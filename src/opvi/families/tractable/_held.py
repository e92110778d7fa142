"""Constants of a flowjax distribution, kept where no optimiser takes them for parameters."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.lax import bitcast_convert_type, stop_gradient

from opvi._core.types import Array

_BITS = {2: np.uint16, 4: np.uint32, 8: np.uint64}


def hold(tree: Any) -> Any:
    """Every floating-point array of the tree as the integers with its bits.

    lambda is all floating-point arrays of a family, and a stopped gradient would not take one out of
    that set: weight decay, or a test that moves every parameter, would still reach it.
    """
    from paramax import Parameterize

    def one(leaf: Any) -> Any:
        if not eqx.is_inexact_array(leaf):
            return leaf
        array = jnp.asarray(leaf)
        bits = bitcast_convert_type(array, _BITS[array.dtype.itemsize])
        return Parameterize(_float_of, bits, dtype=array.dtype.name)

    return jax.tree.map(one, tree)


def hold_non_trainable(tree: Any) -> Any:
    """`hold` what flowjax wraps as `NonTrainable`; leave the rest."""
    from paramax import NonTrainable

    def is_frozen(node: Any) -> bool:
        return isinstance(node, NonTrainable)

    return jax.tree.map(
        lambda node: hold(node.tree) if is_frozen(node) else node, tree, is_leaf=is_frozen
    )


def _float_of(bits: Array, dtype: str) -> Array:
    return stop_gradient(bitcast_convert_type(bits, jnp.dtype(dtype)))
