"""Finitely many features: the supremum over the L2 ball is a ridge regression."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
from jax.typing import ArrayLike

from opvi._core.errors import IncompatibleError, OpviError, require
from opvi._core.types import Array, Float, Scalar, Vector
from opvi.families import AbstractFamily
from opvi.operators._base import AbstractClosedFormTestFunctionFamily, AbstractOperator, Draw
from opvi.operators.diffusion_stein import DiffusionStein
from opvi.operators.kernel_ball import check_statistic, length
from opvi.operators.langevin_stein import LangevinStein
from opvi.operators.statistics import AbstractStatistic, UStatistic
from opvi.targets import AbstractTarget
from opvi.testfunctions import (
    AbstractBall,
    AbstractFeatureMap,
    AbstractTestFunction,
    L2Ball,
    RandomFeatures,
)


class _Span(AbstractTestFunction):
    """f(z) = W' phi(z)."""

    weight: Float[Array, "k d"]
    features: AbstractFeatureMap
    scale: ArrayLike

    def __call__(self, z: Vector, score: Vector) -> Vector:
        del score
        return self.features(z, self.scale) @ self.weight


class Features(AbstractClosedFormTestFunctionFamily):
    """F = {W' phi(z)} over the L2 ball. O f is linear in W: with B(z) its slope, and G = E_q[phi phi'],

        sup_W 2 E_q[O f] - E_q|f|^2 - ridge sum_k G_kk |W_k|^2 = tr E[B]' A^-1 E[B],  A = G + ridge diag G,

    at W = A^-1 E[B]: the ridge regression of grad log p - grad log q on the features.

    - `features`: `LinearFeatures`, `RandomFeatures`, or your own map.
    - `statistic`: of h(z, z') = tr B(z)' A^-1 B(z'), with A from the draws too. At q = p `VStatistic` has a
      bias of order k/n, `UStatistic` one of order 1/n^2, `TwoBatches` none.

    Works with Langevin-Stein and diffusion Stein and any of their divergences.
    Gradient: `FunctionalGradient` pushes draws along the regression; `Reparameterised` descends the value.
    """

    features: AbstractFeatureMap = eqx.field(default_factory=RandomFeatures)
    ridge: float = eqx.field(static=True, default=1e-3, converter=float)
    statistic: AbstractStatistic = eqx.field(default_factory=UStatistic)
    ball: AbstractBall = eqx.field(static=True, default=L2Ball(), init=False)

    def __check_init__(self):
        require(
            0.0 <= self.ridge < float("inf"),
            OpviError,
            expected="a ridge of 0 or more",
            got=f"ridge={self.ridge}",
            write="Features(RandomFeatures(), ridge=1e-3)",
        )

    @property
    def sets(self) -> int:
        return self.statistic.sets

    def supremum(
        self,
        operator: AbstractOperator,
        family: AbstractFamily,
        targets: tuple[AbstractTarget, ...],
        draws: tuple[Draw, ...],
    ) -> Scalar:
        scale = length(self.features.scale, draws)
        slopes = self._slopes(operator, family, targets, draws, scale)
        # With A = L L': h = <L^-1 B(z), L^-1 B(z')>. Two sets, two A's: under each of them one of the
        # factors is independent of all the rest.
        factors = [self._factor(d, scale) for d in draws]
        flat = [[_solve(a, b).reshape(b.shape[0], -1) for b in slopes] for a in factors]

        def h(k: int, l: int) -> Float[Array, "n m"]:
            return sum(b[k] @ b[l].T for b in flat) / len(flat)  # pyright: ignore

        return self.statistic(h, tuple(d.weight for d in draws))

    def maximisers(
        self,
        operator: AbstractOperator,
        family: AbstractFamily,
        targets: tuple[AbstractTarget, ...],
        draws: tuple[Draw, ...],
    ) -> tuple[AbstractTestFunction, ...]:
        scale = length(self.features.scale, draws)
        slopes = self._slopes(operator, family, targets, draws, scale)
        out = []
        for k in range(len(draws)):
            other = (k + 1) % len(draws)
            factor = self._factor(draws[other], scale)
            weight = jsl.cho_solve((factor, True), jnp.mean(slopes[other], axis=0))
            out.append(_Span(weight, self.features, scale))
        return tuple(out)

    def check(self, operator: AbstractOperator, family: AbstractFamily) -> None:
        require(
            isinstance(operator, LangevinStein | DiffusionStein),
            IncompatibleError,
            expected="LangevinStein or DiffusionStein: features of real numbers have gradients",
            got=f"{type(operator).__name__}",
            write="Objective(LangevinStein(), Features(RandomFeatures()))",
        )
        check_statistic(self.statistic, family, "Features(statistic=TwoBatches())")

    def _slopes(
        self,
        operator: AbstractOperator,
        family: AbstractFamily,
        targets: tuple[AbstractTarget, ...],
        draws: tuple[Draw, ...],
        scale: ArrayLike,
    ) -> list[Float[Array, "n k d"]]:
        """B(z) = d (O f)(z) / dW at each draw."""
        k = jax.eval_shape(lambda z: self.features(z, scale), draws[0].z[0]).shape[0]
        zero = jnp.zeros((k, family.dim), draws[0].z.dtype)

        def slope(draw: Draw, target: AbstractTarget) -> Float[Array, "k d"]:
            def of(weight: Float[Array, "k d"]) -> Scalar:
                f = _Span(weight, self.features, scale)
                return operator(f, draw, target=target, family=family)

            return jax.grad(of)(zero)

        pairs = zip(draws, targets, strict=True)
        return [jax.vmap(lambda d, t=t: slope(d, t))(d) for d, t in pairs]

    def _factor(self, draws: Draw, scale: ArrayLike) -> Float[Array, "k k"]:
        """The Cholesky factor of A on one set of draws."""
        phi = jax.vmap(lambda z: self.features(z, scale))(draws.z)
        weighted = phi if draws.weight is None else phi * draws.weight[:, None]
        gram = weighted.T @ phi / phi.shape[0]
        return jnp.linalg.cholesky(gram + self.ridge * jnp.diag(jnp.diagonal(gram)))


def _solve(factor: Float[Array, "k k"], b: Float[Array, "n k d"]) -> Float[Array, "n k d"]:
    """L^-1 b_i for every i, as one solve."""
    n, k, d = b.shape
    columns = jnp.moveaxis(b, 1, 0).reshape(k, n * d)
    return jnp.moveaxis(jsl.solve_triangular(factor, columns, lower=True).reshape(k, n, d), 0, 1)
