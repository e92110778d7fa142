"""Test functions that vanish at the boundary of a bounded support (paper, appendix A)."""

from opvi._core.domains import AbstractDomain
from opvi._core.types import Key, Vector
from opvi.testfunctions._base import AbstractTestFunction, AbstractTestFunctionFamily
from opvi.testfunctions.balls import AbstractBall


class _Vanishing(AbstractTestFunction):
    """M(z) f(z)."""

    f: AbstractTestFunction
    domain: AbstractDomain

    def __call__(self, z: Vector, score: Vector) -> Vector:
        return self.domain.vanishing(z) @ self.f(z, score)


class VanishingTestFunction(AbstractTestFunctionFamily):
    """F = {M(z) f(z) : f in base}, with v' M = 0 on the boundary of `domain`, v its normal.

    On a bounded set E_p[O_LS f] = int_B v' f p dB (appendix A), which is zero for every f in F, whatever
    p does at the boundary: no transform of the latents, no Jacobian. M is invertible inside, so F is
    rich enough if `base` is. q has to live inside as well: `Squashed`.

    The L2 ball acts on M f, so f* is still grad log p - grad log q; a bounded norm bounds f.
    """

    base: AbstractTestFunctionFamily
    domain: AbstractDomain
    ball: AbstractBall

    def __init__(self, base: AbstractTestFunctionFamily, domain: AbstractDomain):
        self.base, self.domain, self.ball = base, domain, base.ball

    def init(self, dim: int, *, key: Key) -> AbstractTestFunction:
        return _Vanishing(self.base.init(dim, key=key), self.domain)
