"""The Fisher operator: Langevin-Stein with its supremum written down, for families with a density."""

import equinox as eqx
import jax
import jax.numpy as jnp

from opvi._core.errors import IncompatibleError, require
from opvi._core.types import Scalar, Vector
from opvi.families import AbstractFamily, AbstractTractableFamily
from opvi.operators._base import AbstractDivergenceOperator, Draw
from opvi.targets import AbstractTarget
from opvi.testfunctions import AbstractTestFunction


class Fisher(AbstractDivergenceOperator):
    """(O f)(z) = |grad log p(x, z) - grad log q(z)|^2 for every f.

    By parts under q, E_q[O_LS f] = E_q[(grad log p - grad log q)' f], so over the ball E_q|f|^2 <= 1
    the supremum of the square is at f* = grad log p - grad log q (up to scale), and is the Fisher
    divergence E_q|f*|^2. Where log q can be differentiated, f* is known and nothing has to be learned.

    - Closeness: zero at q = p draw by draw, never negative: t is the identity.
    - Tractability: no constant is missing, the score does not know the normaliser.
    - Blind to the weights of separated modes: inside each of them the scores agree. Use KL for these.
    - Subsampling: not without bias. It is quadratic in the score: a minibatch adds the trace of the
      covariance of its score, which depends on z. Programs: no; LangevinStein over an L2 ball has
      the same value for them.

    Gradient: `Reparameterised`, which differentiates the score: a Hessian-vector product at each draw.
    """

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
        del f, target
        assert isinstance(family, AbstractTractableFamily)
        return jnp.sum((draw.seen - jax.grad(family.log_prob)(draw.z)) ** 2)

    def value(self, f: AbstractTestFunction, draw: Draw) -> Vector:
        del f
        return jnp.zeros_like(draw.z)

    def check(self, family: AbstractFamily) -> None:
        require(
            isinstance(family, AbstractTractableFamily),
            IncompatibleError,
            expected="a family with a density: the Fisher operator needs grad log q(z)",
            got=f"{type(family).__name__}, which can only be sampled",
            write="Objective(LangevinStein(), NeuralTestFunction(ball=L2Ball())), which has the same "
            "supremum without log q",
        )
