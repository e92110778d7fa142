"""Labels k of a mixture sum_k w_k q_k: drawn from the weights, or in shares that do not depend on them.

With r_k the share of label k among the draws, E_q[h] = sum_k r_k (w_k / r_k) E[h | k]: the ratio is
what a draw counts, and all of lambda that its label carries.
"""

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Int

from opvi._core.errors import OpviError, require
from opvi._core.types import Array, Float, Key

Labels = tuple[Int[Array, " n"], Float[Array, " n"]]


def from_weights(key: Key, n: int, logits: Float[Array, " k"]) -> Labels:
    """`n` labels from the weights and the logarithms of their shares, log w_k held fixed."""
    label = jr.categorical(key, logits, shape=(n,))
    return label, jax.lax.stop_gradient(jax.nn.log_softmax(logits))[label]


def in_turn(key: Key, n: int, logits: Float[Array, " k"]) -> Labels:
    """`n` labels in turn from a random start: each draw has each label with probability 1/K, and so
    do their numbers in the set, to one."""
    count = logits.shape[0]
    label = (jnp.arange(n) + jr.randint(key, (), 0, count)) % count
    return label, jnp.full((n,), -math.log(count), logits.dtype)


def logits_of(count: int, weights: Sequence[float] | np.ndarray | None) -> Float[Array, " k"]:
    """log w_k; equal weights unless given."""
    values = np.asarray([1.0] * count if weights is None else weights, float)
    require(
        values.shape == (count,) and bool(np.all(values > 0.0)),
        OpviError,
        expected=f"{count} positive weights, one for each component",
        got=f"{weights}",
        write=f"weights={[round(1 / count, 3)] * count}",
    )
    return jnp.asarray(np.log(values / values.sum()), jnp.result_type(float))
