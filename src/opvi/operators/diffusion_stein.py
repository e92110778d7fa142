"""The diffusion Stein operator: Langevin-Stein with a preconditioner."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from opvi._core.errors import IncompatibleError, require
from opvi._core.types import Array, Matrix, Scalar, Vector
from opvi.families import AbstractFamily
from opvi.operators._base import AbstractSteinOperator, Draw
from opvi.operators.divergence import AbstractDivergence, Automatic
from opvi.targets import AbstractTarget
from opvi.testfunctions import AbstractTestFunction


class _Preconditioned(AbstractTestFunction):
    """M(z) f(z)."""

    f: AbstractTestFunction
    preconditioner: Array | Callable[[Vector], Matrix]

    def __call__(self, z: Vector, score: Vector) -> Vector:
        m = self.preconditioner(z) if callable(self.preconditioner) else self.preconditioner
        return m @ self.f(z, score)


def _array_or_function(m: Any) -> Array | Callable[[Vector], Matrix]:
    return m if callable(m) else jnp.asarray(m)  # pyright: ignore[reportReturnType]


class DiffusionStein(AbstractSteinOperator):
    """(O f)(z) = 1/p div(p M f) = grad log p(x, z)' M(z) f(z) + div(M f)(z).

    The generator of the diffusion with drift 1/p div(p M), instead of the Langevin one with M = I
    (Gorham et al. 2019). `preconditioner` is M: a matrix, or a function of z that gives one.

    - Closeness: int div(p M f) dz = 0 when p M f vanishes at infinity; zero only at q = p where
      M is invertible.
    - Over an L2 ball of f (not of M f) the supremum is at f* = M' (grad log p - grad log q), with
      value E_q |M' (grad log p - grad log q)|^2: M says where, and along what, differences count.
      An M that falls with |z| tames heavy tails; the inverse root of a curvature undoes bad scaling.
    - Tractability, subsampling, programs: as Langevin-Stein. Gradient: `Reparameterised`.
    """

    preconditioner: Array | Callable[[Vector], Matrix] = eqx.field(converter=_array_or_function)
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
        g = _Preconditioned(f, self.preconditioner)
        divergence = self.divergence(g, draw, target=target, family=family)
        return jnp.dot(draw.seen, g(draw.z, draw.seen)) + divergence

    def value(self, f: AbstractTestFunction, draw: Draw) -> Vector:
        return f(draw.z, draw.seen)

    def check(self, family: AbstractFamily) -> None:
        m, dim = self.preconditioner, family.dim
        z = jax.ShapeDtypeStruct((dim,), jnp.result_type(float))
        shape = eqx.filter_eval_shape(m, z).shape if callable(m) else jnp.shape(m)
        require(
            shape == (dim, dim),
            IncompatibleError,
            expected=f"a preconditioner of shape ({dim}, {dim}), or a function of z that gives one",
            got=f"shape {shape}",
            write=f"DiffusionStein(jnp.eye({dim})), or DiffusionStein(lambda z: jnp.diag(...))",
        )
        self.divergence.check(family)
