"""The Langevin-Stein operator (paper, eq. 4)."""

import equinox as eqx
import jax.numpy as jnp

from opvi._core.types import Scalar, Vector
from opvi.families import AbstractFamily
from opvi.operators._base import AbstractSteinOperator, Draw
from opvi.operators.divergence import AbstractDivergence, Automatic
from opvi.targets import AbstractTarget
from opvi.testfunctions import AbstractTestFunction


class LangevinStein(AbstractSteinOperator):
    """(O f)(z) = grad log p(x, z)' f(z) + div f(z).

    - Closeness: E_p[O f] = int div(p f) dz = 0 when p f vanishes at infinity (appendix A), and
      E_q[O f] = 0 for all f only at q = p (appendix B).
    - Tractability: the score does not know the normaliser.
    - Subsampling: yes, linear in log p. Programs: yes, the density of q does not appear.
    """

    divergence: AbstractDivergence = eqx.field(default_factory=Automatic)
    gradient_evaluations: int = eqx.field(static=True, default=1, init=False)

    def see(self, target: AbstractTarget, z: Vector) -> Vector:
        return target.score(z)

    def __call__(
        self,
        f: AbstractTestFunction,
        draw: Draw,
        *,
        target: AbstractTarget,
        family: AbstractFamily,
    ) -> Scalar:
        divergence = self.divergence(f, draw, target=target, family=family)
        return jnp.dot(draw.seen, self.value(f, draw)) + divergence

    def value(self, f: AbstractTestFunction, draw: Draw) -> Vector:
        return f(draw.z, draw.seen)

    def check(self, family: AbstractFamily) -> None:
        self.divergence.check(family)
