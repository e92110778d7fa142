"""What Renyi, chi and inclusive KL share: the operator is a power of the density ratio."""

import abc

import equinox as eqx
import jax.numpy as jnp

from opvi._core.errors import IncompatibleError, require
from opvi._core.types import Scalar, Vector
from opvi.distances import AbstractDistance
from opvi.families import AbstractFamily, AbstractTractableFamily
from opvi.operators._base import (
    AbstractDivergenceOperator,
    AbstractGradientFreeOperator,
    Draw,
    log_q,
)
from opvi.targets import AbstractTarget
from opvi.testfunctions import AbstractTestFunction


class AbstractRatioOperator(AbstractDivergenceOperator, AbstractGradientFreeOperator):
    """(O f)(z) = (q(z) / p(x, z))^power for every f: positive, and known up to a factor.

    What `__call__` returns is its *logarithm*, power (log q - log p): the ratio itself overflows. The
    distance of such an operator, `distance`, reads logarithms and turns the factor into a constant.

    - Closeness: E_p[O^{p,p} f] = 1 and t(1) = 0, up to p(x)^-power.
    - Tractability: the unknown factor becomes a constant, harmless as in KL.
    - Subsampling: not without bias, a power is not linear in log p: an unbiased estimate of log p of
      variance v multiplies the ratio by exp(power^2 v / 2). Programs: no, it needs log q.
    """

    gradient_evaluations: int = eqx.field(static=True, default=1, init=False)

    @property
    @abc.abstractmethod
    def power(self) -> float:
        """The exponent of q / p."""

    @property
    @abc.abstractmethod
    def distance(self) -> AbstractDistance:
        """The t that makes a divergence of E_q[(q/p)^power]; no other is accepted."""

    def see(self, target: AbstractTarget, z: Vector) -> Scalar:
        return target.log_density(z)

    def __call__(
        self,
        f: AbstractTestFunction,
        draw: Draw,
        *,
        target: AbstractTarget,
        family: AbstractFamily,
    ) -> Scalar:
        del f, target
        assert isinstance(family, AbstractTractableFamily)
        return self.power * (log_q(family, draw) - draw.seen)

    def value(self, f: AbstractTestFunction, draw: Draw) -> Vector:
        del f
        return jnp.zeros_like(draw.z)

    def check(self, family: AbstractFamily) -> None:
        require(
            isinstance(family, AbstractTractableFamily),
            IncompatibleError,
            expected=f"a family with a density: {type(self).__name__} needs log q(z)",
            got=f"{type(family).__name__}, which can only be sampled",
            write=f"Objective(LangevinStein()) for a program, or family=FullRank(dim) for "
            f"{type(self).__name__}",
        )
