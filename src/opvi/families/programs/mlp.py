"""Programs z = R(eps; lambda) from any network (paper, eq. 9)."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from opvi._core.errors import OpviError, require
from opvi._core.types import Array, Float, Key, Vector
from opvi.families._base import AbstractReparameterisedFamily


class Program(AbstractReparameterisedFamily):
    """z = network(eps), eps ~ N(0, I): any Equinox module, or any function, from noise to latents.

    The parameters lambda are the arrays inside `network`.
    """

    network: Callable[[Vector], Vector]
    noise_dim: int = eqx.field(static=True)
    dim: int = eqx.field(static=True)

    def __init__(self, network: Callable[[Vector], Vector], noise_dim: int, dim: int | None = None):
        eps = jax.ShapeDtypeStruct((noise_dim,), jnp.result_type(float))
        shape = eqx.filter_eval_shape(network, eps).shape
        require(
            len(shape) == 1 and (dim is None or shape == (dim,)),
            OpviError,
            expected=f"a network from ({noise_dim},) noise to ({dim or 'd'},) latents",
            got=f"output of shape {shape}",
            write=f"Program(eqx.nn.MLP({noise_dim}, {dim or 'd'}, 64, 2, key=key), {noise_dim})",
        )
        self.network, self.noise_dim, self.dim = network, noise_dim, shape[0]

    def noise(self, key: Key, n: int) -> Float[Array, "n e"]:
        return jr.normal(key, (n, self.noise_dim))

    def transform(self, eps: Float[Array, " e"]) -> Vector:
        return self.network(eps)


def MLPProgram(
    dim: int,
    *,
    key: Key,
    noise_dim: int | None = None,
    width: int | None = None,
    depth: int = 2,
    activation: Callable = jax.nn.relu,
) -> Program:
    """The paper's program for logistic factor analysis (section 4.2).

    As many noise inputs as latents and `depth` hidden layers of twice that width, unless told
    otherwise.
    """
    noise_dim = dim if noise_dim is None else noise_dim
    width = 2 * dim if width is None else width
    network = eqx.nn.MLP(noise_dim, dim, width, depth, activation, key=key)
    return Program(network, noise_dim, dim)
