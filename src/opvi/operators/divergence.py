"""Three ways to get the divergence of a test function into an expectation under q.

`Exact` and `Hutchinson` work for every family. `DivergenceFree` needs grad log q(z), or
grad log q(z | eps) for one of the latent noises: it has the same expectation, no derivative of f at
all, and costs the same in any dimension. All three are checked against each other in tests/laws.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from opvi._core.errors import IncompatibleError, require
from opvi._core.types import Scalar, Vector
from opvi.families import AbstractFamily, AbstractSemiImplicitFamily, AbstractTractableFamily
from opvi.operators._base import Draw
from opvi.targets import AbstractTarget
from opvi.testfunctions import AbstractTestFunction


def _field(f: AbstractTestFunction, target: AbstractTarget):
    # The total field z -> f(z, grad log p(z)). Where f ignores the score, the compiler drops it.
    return lambda z: f(z, target.score(z))


class AbstractDivergence(eqx.Module):
    """Something whose expectation under q is E_q[div f]."""

    @abc.abstractmethod
    def __call__(
        self,
        f: AbstractTestFunction,
        draw: Draw,
        *,
        target: AbstractTarget,
        family: AbstractFamily,
    ) -> Scalar:
        """One draw's contribution."""

    @abc.abstractmethod
    def check(self, family: AbstractFamily) -> None:
        """Raise `IncompatibleError` if the family lacks what this needs."""


class Exact(AbstractDivergence):
    """sum_i df_i/dz_i by forward mode: d Jacobian-vector products."""

    def __call__(
        self,
        f: AbstractTestFunction,
        draw: Draw,
        *,
        target: AbstractTarget,
        family: AbstractFamily,
    ) -> Scalar:
        del family
        field = _field(f, target)
        basis = jnp.eye(draw.z.shape[0], dtype=draw.z.dtype)
        columns = jax.vmap(lambda v: jax.jvp(field, (draw.z,), (v,))[1])(basis)
        return jnp.trace(columns)

    def check(self, family: AbstractFamily) -> None:
        del family


class Hutchinson(AbstractDivergence):
    """mean over probes of v' J v with random signs v: one Jacobian-vector product a probe."""

    probes: int = eqx.field(static=True, default=1)

    def __call__(
        self,
        f: AbstractTestFunction,
        draw: Draw,
        *,
        target: AbstractTarget,
        family: AbstractFamily,
    ) -> Scalar:
        del family
        field = _field(f, target)
        signs = jr.rademacher(draw.key, (self.probes, draw.z.shape[0]), draw.z.dtype)
        return jnp.mean(jax.vmap(lambda v: v @ jax.jvp(field, (draw.z,), (v,))[1])(signs))

    def check(self, family: AbstractFamily) -> None:
        del family


class DivergenceFree(AbstractDivergence):
    """-f(z)' grad_z log q(z | eps), by parts: E_q[div f] = -E[f(z)' grad_z log q(z | eps)].

    Given eps, int q(z | eps) div f dz = -int grad_z q(z | eps)' f dz. For a tractable family there is
    no eps to condition on and the score of q itself takes its place.
    """

    def __call__(
        self,
        f: AbstractTestFunction,
        draw: Draw,
        *,
        target: AbstractTarget,
        family: AbstractFamily,
    ) -> Scalar:
        del target
        return -jnp.dot(f(draw.z, draw.seen), _score_of_q(family, draw))

    def check(self, family: AbstractFamily) -> None:
        require(
            isinstance(family, AbstractSemiImplicitFamily | AbstractTractableFamily),
            IncompatibleError,
            expected="a semi-implicit or tractable family: the divergence-free form needs "
            "grad log q(z | eps)",
            got=f"{type(family).__name__}, which can only be sampled",
            write="LangevinStein(Exact()) or LangevinStein(Hutchinson()), or SemiImplicitProgram",
        )


class Automatic(AbstractDivergence):
    """The best of the three for the family and the dimension at hand.

    Divergence-free for semi-implicit programs; otherwise exact up to `exact_up_to` latents, where d
    Jacobian-vector products are cheap, and Hutchinson beyond.
    """

    exact_up_to: int = eqx.field(static=True, default=32)

    def __call__(
        self,
        f: AbstractTestFunction,
        draw: Draw,
        *,
        target: AbstractTarget,
        family: AbstractFamily,
    ) -> Scalar:
        return self.choose(family)(f, draw, target=target, family=family)

    def choose(self, family: AbstractFamily) -> AbstractDivergence:
        if isinstance(family, AbstractSemiImplicitFamily):
            return DivergenceFree()
        return Exact() if family.dim <= self.exact_up_to else Hutchinson()

    def check(self, family: AbstractFamily) -> None:
        self.choose(family).check(family)


def _score_of_q(family: AbstractFamily, draw: Draw) -> Vector:
    if isinstance(family, AbstractSemiImplicitFamily):
        return family.conditional_score(draw.eps)
    assert isinstance(family, AbstractTractableFamily)
    return jax.grad(family.log_prob)(draw.z)
