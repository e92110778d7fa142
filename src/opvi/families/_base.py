"""The kinds of approximation. A family object is q(z; lambda): its arrays are the parameters lambda.

    AbstractFamily                    can be sampled
    |- AbstractReparameterisedFamily  z = R(eps; lambda), noise free of lambda       (paper, eq. 9)
    |  |- AbstractSemiImplicitFamily  and grad_z log q(z | eps) is known
    |  `- AbstractWeightedFamily      and draws count by a weight that depends on lambda (mixtures)
    `- AbstractTractableFamily        log q(z; lambda) is known
       `- AbstractTransportFamily     and comes with the draw: R is a bijection (flows)

A Gaussian is both reparameterised and tractable; a variational program is reparameterised only.
Operators say in their signature which kind they can work with.
"""

import abc

import equinox as eqx
import jax

from opvi._core.types import Array, Float, Key, Noise, Scalar, Vector


class AbstractFamily(eqx.Module):
    """A distribution over R^dim that can be sampled."""

    dim: eqx.AbstractVar[int]

    @abc.abstractmethod
    def sample(self, key: Key, n: int) -> Float[Array, "n d"]:
        """`n` independent draws."""


class AbstractReparameterisedFamily(AbstractFamily):
    """z = R(eps; lambda), eq. 9: differentiable in lambda, with noise that does not depend on lambda."""

    @abc.abstractmethod
    def noise(self, key: Key, n: int) -> Noise:
        """`n` draws of eps, stacked along the first axis of every leaf.

        The one method that sees many draws: one call to the generator instead of n.
        """

    @abc.abstractmethod
    def transform(self, eps: Noise) -> Vector:
        """R(eps; lambda) for one draw of the noise."""

    def sample(self, key: Key, n: int) -> Float[Array, "n d"]:
        return jax.vmap(self.transform)(self.noise(key, n))


class AbstractSemiImplicitFamily(AbstractReparameterisedFamily):
    """q(z) = E_eps q(z | eps) with a tractable conditional, though the mixture has no density."""

    @abc.abstractmethod
    def conditional_score(self, eps: Noise) -> Vector:
        """grad_z log q(z | eps) at z = R(eps; lambda). Its mean given z is grad_z log q(z)."""


class AbstractWeightedFamily(AbstractReparameterisedFamily):
    """q = sum_k w_k q_k with learned weights: E_q[h] = E[weight(eps; lambda) h(R(eps; lambda))].

    A label k drawn from the weights is no differentiable function of them. So `strata` draws labels
    from a law r that is free of lambda, and weight(eps) = w_k / r_k makes up for it, which *is*
    differentiable: the gradient of sum_k w_k E[h(R_k(eps))] is unbiased in the weights as well.

    `noise`, and with it `sample`, draws labels from the weights themselves: weight(eps) is 1 there.
    """

    @abc.abstractmethod
    def strata(self, key: Key, n: int) -> Noise:
        """`n` draws of eps, with labels in shares that do not depend on lambda."""

    @abc.abstractmethod
    def weight(self, eps: Noise) -> Scalar:
        """w_k / r_k at one draw of the noise."""


class AbstractTractableFamily(AbstractFamily):
    """A family whose log density can be written down; what the KL operator asks for."""

    @abc.abstractmethod
    def log_prob(self, z: Vector) -> Scalar:
        """log q(z; lambda), normalised."""


class AbstractTransportFamily(AbstractReparameterisedFamily, AbstractTractableFamily):
    """z = R(eps; lambda) with R a bijection: log q(R(eps)) = log r(eps) - log |det dR/deps|.

    At a draw the density needs R alone, where `log_prob` needs its inverse; for autoregressive flows
    that is one pass instead of `dim`.
    """

    @abc.abstractmethod
    def transform_and_log_prob(self, eps: Noise) -> tuple[Vector, Scalar]:
        """R(eps; lambda), and log q there."""
