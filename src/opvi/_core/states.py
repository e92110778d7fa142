"""Finite grids {0..c_1} x ... x {0..c_d}, counted like a clock: the last coordinate turns fastest.

A state is a vector of floats that hold integers.
"""

import itertools
import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Int

from opvi._core.types import Array, Float, Vector

Cardinalities = tuple[int, ...]


def number_of_states(cardinalities: Cardinalities) -> int:
    return math.prod(cardinalities)


def all_states(cardinalities: Cardinalities) -> Float[Array, "s d"]:
    """Every state, in order: row number k is the state with index k."""
    rows = list(itertools.product(*(range(c) for c in cardinalities)))
    return jnp.asarray(np.asarray(rows, float), jnp.result_type(float))


def index(z: Vector, cardinalities: Cardinalities) -> Int[Array, ""]:
    """The place of z in the order; for binary z, the number that its digits spell."""
    strides = np.cumprod((*cardinalities[1:], 1)[::-1])[::-1]
    return jnp.sum(to_int(z) * jnp.asarray(strides.copy(), jnp.result_type(int)))


def successor(z: Vector, cardinalities: Cardinalities) -> Vector:
    """The next state in the order; the last is followed by the first.

    A coordinate turns when all behind it are at their last state: no index is formed, so that
    nothing overflows, however many coordinates there are.
    """
    size = jnp.asarray(cardinalities, z.dtype)
    full = (z == size - 1).astype(jnp.int32)
    behind = jnp.cumprod(full[::-1])[::-1]
    turns = jnp.concatenate([behind[1:], jnp.ones((1,), jnp.int32)]) == 1
    return jnp.where(turns, jnp.where(z == size - 1, jnp.zeros_like(z), z + 1), z)


def is_last(z: Vector, cardinalities: Cardinalities) -> Bool[Array, ""]:
    return jnp.all(z == jnp.asarray(cardinalities, z.dtype) - 1)


def valid(cardinalities: Cardinalities) -> np.ndarray:
    """(d, c): True where coordinate i has a state number s; c is the largest number of states."""
    return np.arange(max(cardinalities))[None, :] < np.asarray(cardinalities)[:, None]


def replace_each(z: Vector, cardinalities: Cardinalities) -> Float[Array, "d c d"]:
    """Entry [i, s] is z with coordinate i set to s (to its last state beyond that)."""
    d, c = len(cardinalities), max(cardinalities)
    to = np.minimum(np.arange(c)[None, :], np.asarray(cardinalities)[:, None] - 1)
    here = jnp.eye(d, dtype=bool)[:, None, :]
    return jnp.where(here, jnp.asarray(to, z.dtype)[:, :, None], jnp.broadcast_to(z, (d, c, d)))


def one_hot(z: Vector, cardinalities: Cardinalities) -> Float[Array, "d c"]:
    """Row i is the indicator of the state of coordinate i; all zeros when z_i is no state."""
    states = jnp.arange(max(cardinalities)).astype(z.dtype)
    return (z[:, None] == states).astype(z.dtype)


def to_int(z: Vector) -> Int[Array, " d"]:
    return jnp.round(z).astype(jnp.result_type(int))


def take(table: Float[Array, "d c"], z: Vector) -> Vector:
    """Entry i is table[i, z_i]."""
    return jnp.take_along_axis(table, to_int(z)[:, None], axis=1)[:, 0]
