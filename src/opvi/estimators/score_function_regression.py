"""A linear stand-in for the learning signal, from draws that are independent of those it is used on."""

import jax
import jax.numpy as jnp

from opvi._core.states import Cardinalities, one_hot
from opvi._core.types import Array, Float


def slopes(
    states: Float[Array, "n d"],
    values: Float[Array, "n t"],
    cardinalities: Cardinalities,
    ridge: float,
) -> tuple[Float[Array, "n t"], Float[Array, "n t d c"]]:
    """Ridge regression of the values on the one-hot states, cross-fitted.

    Row i has the intercept and the slopes fitted to the half of the draws without draw i.
    """
    n, half = len(states), len(states) // 2
    first, second = (
        _fit(states[part], values[part], cardinalities, ridge)
        for part in (slice(half, n), slice(half))
    )
    both = jax.tree_util.tree_map(lambda a, b: jnp.stack([a, b]), first, second)
    in_second = (jnp.arange(n) >= half).astype(int)
    return jax.tree_util.tree_map(lambda x: x[in_second], both)


def _fit(
    states: Float[Array, "m d"], values: Float[Array, "m t"], cardinalities: Cardinalities, ridge
) -> tuple[Float[Array, " t"], Float[Array, "t d c"]]:
    m, d = states.shape
    x = jax.vmap(lambda z: one_hot(z, cardinalities))(states).reshape(m, -1)
    x_mean, y_mean = jnp.mean(x, axis=0), jnp.mean(values, axis=0)
    x, y = x - x_mean, values - y_mean
    gram = x.T @ x / m + ridge * jnp.eye(x.shape[1], dtype=x.dtype)
    slope = jnp.linalg.solve(gram, x.T @ y / m).T
    return y_mean - slope @ x_mean, slope.reshape(-1, d, max(cardinalities))
