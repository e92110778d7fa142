"""Independent states: Bernoulli and categorical mean-field."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from opvi._core.errors import OpviError, require
from opvi._core.states import Cardinalities, valid
from opvi._core.types import Array, Float, Key, Vector
from opvi.families.discrete._base import AbstractDiscreteFamily, check_cardinalities


class BernoulliMeanField(AbstractDiscreteFamily):
    """q(z) = prod_i sigmoid(logit_i)^z_i sigmoid(-logit_i)^(1 - z_i)."""

    logits: Vector
    cardinalities: Cardinalities = eqx.field(static=True)
    dim: int = eqx.field(static=True)

    def __init__(
        self,
        cardinalities: int | Sequence[int],
        *,
        key: Key | None = None,
        logits: Vector | float = 0.0,
    ):
        del key  # starts where it is told to
        self.cardinalities = check_cardinalities(cardinalities, "BernoulliMeanField")
        self.dim = len(self.cardinalities)
        require(
            set(self.cardinalities) == {2},
            OpviError,
            expected="two states for each coordinate",
            got=f"{self.cardinalities}",
            write=f"CategoricalMeanField({self.cardinalities})",
        )
        self.logits = jnp.full((self.dim,), logits, jnp.result_type(float))

    def sample(self, key: Key, n: int) -> Float[Array, "n d"]:
        on = jr.bernoulli(key, jax.nn.sigmoid(self.logits), (n, self.dim))
        return on.astype(self.logits.dtype)

    def log_table(self, z: Vector) -> Float[Array, "d c"]:
        del z
        return jnp.stack(
            [jax.nn.log_sigmoid(-self.logits), jax.nn.log_sigmoid(self.logits)], axis=1
        )

    def log_full_conditionals(self, z: Vector) -> Float[Array, "d c"]:
        return self.log_table(z)

    @property
    def descendants(self) -> np.ndarray:
        return np.eye(self.dim, dtype=bool)


class CategoricalMeanField(AbstractDiscreteFamily):
    """q(z) = prod_i softmax(logits_i)[z_i]; rows are as long as the largest number of states."""

    logits: Float[Array, "d c"]
    cardinalities: Cardinalities = eqx.field(static=True)
    dim: int = eqx.field(static=True)

    def __init__(
        self,
        cardinalities: int | Sequence[int],
        *,
        key: Key | None = None,
        logits: Float[Array, "d c"] | float = 0.0,
    ):
        del key  # starts where it is told to
        self.cardinalities = check_cardinalities(cardinalities, "CategoricalMeanField")
        self.dim = len(self.cardinalities)
        shape = (self.dim, max(self.cardinalities))
        self.logits = jnp.full(shape, logits, jnp.result_type(float))

    def sample(self, key: Key, n: int) -> Float[Array, "n d"]:
        states = jr.categorical(key, self._table(), shape=(n, self.dim))
        return states.astype(self.logits.dtype)

    def log_table(self, z: Vector) -> Float[Array, "d c"]:
        del z
        return self._table()

    def log_full_conditionals(self, z: Vector) -> Float[Array, "d c"]:
        return self.log_table(z)

    @property
    def descendants(self) -> np.ndarray:
        return np.eye(self.dim, dtype=bool)

    def _table(self) -> Float[Array, "d c"]:
        return masked_log_softmax(self.logits, self.cardinalities)


def masked_log_softmax(
    logits: Float[Array, "d c"], cardinalities: Cardinalities
) -> Float[Array, "d c"]:
    """log softmax of each row over the states that the row has; -inf for the others."""
    return jax.nn.log_softmax(jnp.where(valid(cardinalities), logits, -jnp.inf), axis=1)
