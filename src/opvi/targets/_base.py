"""A target: log p(x, z) of `dim` real numbers, and the way back to the names and supports of the model."""

import abc
from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
from jaxtyping import PyTree

from opvi._core.types import Key, Scalar, Vector


class AbstractTarget(eqx.Module):
    """The log joint density of a model on unconstrained space, where every inference happens.

    Known up to a constant. Everything here is for one point; estimators `vmap`.
    """

    dim: eqx.AbstractVar[int]

    @abc.abstractmethod
    def log_density(self, z: Vector) -> Scalar:
        """log p(x, z) up to a constant, Jacobians of the supports included."""

    @abc.abstractmethod
    def constrain(self, z: Vector) -> PyTree:
        """The latents on their own supports, under the model's names."""

    @property
    @abc.abstractmethod
    def columns(self) -> tuple[str, ...]:
        """A name for each of the `dim` unconstrained coordinates."""

    @property
    @abc.abstractmethod
    def dims(self) -> Mapping[str, Sequence[str]]:
        """Names of the axes of each latent, for labelled output."""

    @property
    @abc.abstractmethod
    def coords(self) -> Mapping[str, Sequence[Any]]:
        """Labels along those axes."""

    def score(self, z: Vector) -> Vector:
        """grad_z log p(x, z): the one thing a Langevin-Stein operator asks of a model."""
        return jax.grad(self.log_density)(z)


class AbstractSubsampledTarget(AbstractTarget):
    """A target whose log density is a sum over data, so that a minibatch gives an unbiased estimate.

    Unbiased estimates of the log density are unbiased in every objective that is linear in it
    (KL, Langevin-Stein; paper, section 3, data subsampling).
    """

    @abc.abstractmethod
    def minibatch(self, key: Key) -> AbstractTarget:
        """The target seen through one random minibatch: its expectation over keys is the full one."""


def subsample(target: AbstractTarget, key: Key) -> AbstractTarget:
    """One minibatch of a target that has data to subsample; the target itself otherwise."""
    if isinstance(target, AbstractSubsampledTarget):
        return target.minibatch(key)
    return target
