"""What a distribution over states can do beyond its log mass."""

import abc

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from opvi._core.errors import OpviError, require
from opvi._core.states import Cardinalities, take
from opvi._core.types import Array, Float, Scalar, Vector
from opvi.families._base import AbstractTractableFamily


class AbstractDiscreteFamily(AbstractTractableFamily):
    """q(z) = prod_i q(z_i | z_1, ..., z_{i-1}) with z_i in {0, ..., cardinalities[i] - 1}.

    z is a vector of floats that hold integers, as in the targets. It is no differentiable function of
    noise: gradients in lambda go through log q (the score function). The factors of the chain rule
    are kept apart, so that each can have a learning signal of its own.
    """

    cardinalities: eqx.AbstractVar[Cardinalities]

    @abc.abstractmethod
    def log_table(self, z: Vector) -> Float[Array, "d c"]:
        """Entry [i, s] is log q(z_i = s | z_1, ..., z_{i-1}); -inf where coordinate i has no state s."""

    @abc.abstractmethod
    def log_full_conditionals(self, z: Vector) -> Float[Array, "d c"]:
        """Entry [i, s] is log q(z_i = s | all the others), what a Gibbs sampler of q draws from."""

    @property
    @abc.abstractmethod
    def descendants(self) -> np.ndarray:
        """(d, d) booleans: [i, j] is False if the law of z_j does not change with z_i. True for j = i."""

    def log_conditionals(self, z: Vector) -> Vector:
        """Entry i is log q(z_i | z_1, ..., z_{i-1}) at z."""
        return take(self.log_table(z), z)

    def log_prob(self, z: Vector) -> Scalar:
        return jnp.sum(self.log_conditionals(z))


def check_cardinalities(cardinalities: object, name: str) -> Cardinalities:
    """A tuple of numbers of states; one number of coordinates stands for so many binary ones."""
    if isinstance(cardinalities, int):
        cardinalities = (2,) * cardinalities
    states = tuple(int(c) for c in cardinalities)  # pyright: ignore[reportGeneralTypeIssues]
    require(
        len(states) > 0 and min(states) >= 2,
        OpviError,
        expected="the number of states of each coordinate, two or more",
        got=f"{states}",
        write=f"{name}((2, 2, 5)), or {name}(target.cardinalities)",
    )
    return states
