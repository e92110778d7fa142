"""Evaluations of the target from the host, in batches of any size, every one of them counted.

The stages of the default fit do their linear algebra in NumPy, in double precision whatever the
precision of JAX: scales from 1e-6 to 1e6 and nearly singular covariances are then no matter. Only
the target itself runs in JAX, through two compiled functions that serve every stage.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from opvi._core.types import Array
from opvi.targets import AbstractTarget

ROWS = 4096
CHUNK = 64


class Evaluator:
    """log p and its derivatives at rows of a NumPy array. Counts the points it was asked for.

    A product with the Hessian counts as two gradients, which is about what it costs.
    """

    def __init__(self, target: AbstractTarget):
        self.target = target
        self.dim = target.dim
        self.evaluations = 0
        self.dtype = np.dtype(jnp.result_type(float))

    def __call__(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log p (n,) and its gradient (n, d); not finite where the model is not."""
        self.evaluations += len(z)
        return evaluate(self.target, z)

    def products(self, z: np.ndarray, v: np.ndarray) -> np.ndarray:
        """H(z_i) v_i, a row each."""
        self.evaluations += 2 * len(z)
        return _in_blocks(_products, self.target, z, v)[0]

    def hessians(self, z: np.ndarray) -> np.ndarray:
        """H(z_i), each (d, d), symmetrised."""
        n, d = z.shape
        points = np.repeat(z, d, axis=0)
        basis = np.tile(np.eye(d), (n, 1))
        h = self.products(points, basis).reshape(n, d, d)
        return 0.5 * (h + np.swapaxes(h, 1, 2))


def evaluate(target: AbstractTarget, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log p and its gradient at the rows of z."""
    log_density, score = _in_blocks(_scores, target, z)
    return log_density, score


def _in_blocks(
    function: Callable[..., tuple[Array, ...]], target: AbstractTarget, *rows: np.ndarray
) -> tuple[np.ndarray, ...]:
    """`function` over rows: blocks of one size, so that it is compiled once."""
    dtype = jnp.result_type(float)
    parts = []
    for start in range(0, len(rows[0]), ROWS):
        block = [x[start : start + ROWS] for x in rows]
        n = len(block[0])
        # The last chunk is filled up with its first row: a place where the model is defined.
        padded = [np.broadcast_to(x[:1], (ROWS, x.shape[1])).astype(dtype) for x in block]
        for whole, x in zip(padded, block, strict=True):
            whole[:n] = x
        chunks = jnp.asarray(-(-n // CHUNK), jnp.int32)
        out = function(target, chunks, *(jnp.asarray(x) for x in padded))
        parts.append([np.asarray(x)[:n].astype(np.float64) for x in out])
    return tuple(np.concatenate(x) for x in zip(*parts, strict=True))


@eqx.filter_jit
def _scores(target: AbstractTarget, chunks: Array, z: Array) -> tuple[Array, ...]:
    return _chunked(jax.value_and_grad(target.log_density), chunks, z)


@eqx.filter_jit
def _products(target: AbstractTarget, chunks: Array, z: Array, v: Array) -> tuple[Array, ...]:
    def product(z: Array, v: Array) -> tuple[Array]:
        return (jax.jvp(jax.grad(target.log_density), (z,), (v,))[1],)

    return _chunked(product, chunks, z, v)


def _chunked(one: Callable[..., tuple[Array, ...]], chunks: Array, *rows: Array):
    """`one` over the first `chunks` chunks of the rows."""
    like = jax.eval_shape(one, *(x[0] for x in rows))
    out = tuple(jnp.zeros((len(rows[0]), *x.shape), x.dtype) for x in like)

    def body(i: Array, out: tuple[Array, ...]) -> tuple[Array, ...]:
        here = [jax.lax.dynamic_slice_in_dim(x, i * CHUNK, CHUNK) for x in rows]
        return tuple(
            jax.lax.dynamic_update_slice_in_dim(o, new, i * CHUNK, 0)
            for o, new in zip(out, jax.vmap(one)(*here), strict=True)
        )

    return jax.lax.fori_loop(jnp.zeros((), jnp.int32), chunks, body, out)
