"""The KL operator (paper, eq. 6)."""

import equinox as eqx
import jax.numpy as jnp

from opvi._core.errors import IncompatibleError, require
from opvi._core.types import Scalar, Vector
from opvi.families import AbstractFamily, AbstractTractableFamily
from opvi.operators._base import (
    AbstractDivergenceOperator,
    AbstractGradientFreeOperator,
    Draw,
    log_q,
)
from opvi.targets import AbstractTarget
from opvi.testfunctions import AbstractTestFunction


class KL(AbstractDivergenceOperator, AbstractGradientFreeOperator):
    """(O f)(z) = log q(z) - log p(x, z) for every f.

    - Closeness: E_q is KL(q || p) - log p(x) >= -log p(x), with equality at the posterior.
    - Tractability: log p(x) is a constant, harmless under the identity distance.
    - Subsampling: yes, linear in log p. Programs: no, it needs log q.
    """

    gradient_evaluations: int = eqx.field(static=True, default=1, init=False)

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
        return log_q(family, draw) - draw.seen

    def value(self, f: AbstractTestFunction, draw: Draw) -> Vector:
        del f
        return jnp.zeros_like(draw.z)

    def check(self, family: AbstractFamily) -> None:
        require(
            isinstance(family, AbstractTractableFamily),
            IncompatibleError,
            expected="a family with a density: the KL operator needs log q(z)",
            got=f"{type(family).__name__}, which can only be sampled",
            write="Objective(LangevinStein()) for a program, or family=FullRank(dim) for KL",
        )
