"""The unit ball of a reproducing-kernel space: kernel Stein discrepancy."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from opvi._core.errors import IncompatibleError, require
from opvi._core.types import Array, Float, Scalar, Vector
from opvi.families import AbstractFamily, AbstractWeightedFamily
from opvi.operators._base import AbstractClosedFormTestFunctionFamily, AbstractOperator, Draw
from opvi.operators.langevin_stein import LangevinStein
from opvi.operators.statistics import (
    AbstractStatistic,
    TwoBatches,
    UStatistic,
    check_pairs,
)
from opvi.operators.stein_kernel import stein_kernel
from opvi.targets import AbstractTarget
from opvi.testfunctions import (
    IMQ,
    AbstractBall,
    AbstractKernel,
    AbstractTestFunction,
    RKHSBall,
)

MOST = 64  # draws whose distances make up a median: 2,016 pairs


class KernelBall(AbstractClosedFormTestFunctionFamily):
    """F = {f : |f|_H <= 1}, H the RKHS of k(x, y) I. With Langevin-Stein and the square

        sup_F (E_q[O f])^2 = E_{z, z' ~ q} h(z, z') = KSD(q, p)^2,      h: `stein_kernel`,

    reached along f*(z) = E_{z'}[grad log p(z') k(z', z) + grad_{z'} k(z', z)]. No f is learned.

    - `kernel`: `IMQ`, `RBF`, `Laplace`, `Riesz`. Its bandwidth, left out, is the median distance between
      the draws of the step (held fixed in the gradient): the ball is then a little different each time.
    - `statistic`: `UStatistic` and `TwoBatches` are unbiased at a fixed bandwidth, `VStatistic` is not.
    - How fine it sees falls with the dimension and at a distance of several bandwidths.

    Gradient: `Reparameterised` descends KSD^2. `FunctionalGradient` pushes draws along f*, as Stein
    variational gradient descent does (Liu and Wang 2016).
    """

    kernel: AbstractKernel = eqx.field(default_factory=IMQ)
    statistic: AbstractStatistic = eqx.field(default_factory=UStatistic)
    ball: AbstractBall = eqx.field(static=True, default=RKHSBall(), init=False)

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
        scale = length(self.kernel.scale, draws)

        def h(k: int, l: int) -> Float[Array, "n m"]:
            a, b = draws[k], draws[l]
            return stein_kernel(self.kernel, a.z, a.seen, b.z, b.seen, scale)  # pyright: ignore

        return self.statistic(h, tuple(d.weight for d in draws))

    def maximisers(
        self,
        operator: AbstractOperator,
        family: AbstractFamily,
        targets: tuple[AbstractTarget, ...],
        draws: tuple[Draw, ...],
    ) -> tuple[AbstractTestFunction, ...]:
        scale = length(self.kernel.scale, draws)
        others = draws[1:] + draws[:1]
        return tuple(_Witness(self.kernel, d.z, d.seen, jnp.asarray(scale)) for d in others)

    def check(self, operator: AbstractOperator, family: AbstractFamily) -> None:
        require(
            isinstance(operator, LangevinStein),
            IncompatibleError,
            expected="LangevinStein: its kernel is the one known in closed form",
            got=f"{type(operator).__name__}",
            write="Objective(LangevinStein(), KernelBall()), or "
            f"Objective({type(operator).__name__}(...), Features(RandomFeatures()))",
        )
        check_statistic(self.statistic, family, "KernelBall(IMQ(), TwoBatches())")


class _Witness(AbstractTestFunction):
    """f*(z) = mean_j [t_j k(z, y_j) + grad_{y_j} k(z, y_j)]: h is affine in s, and f* its slope."""

    kernel: AbstractKernel
    y: Float[Array, "n d"]
    t: Float[Array, "n d"]
    scale: Scalar

    def __call__(self, z: Vector, score: Vector) -> Vector:
        def mean(s: Vector) -> Any:
            h = stein_kernel(self.kernel, z[None], s[None], self.y, self.t, self.scale)
            return jnp.mean(h)  # pyright: ignore[reportArgumentType]

        return jax.grad(mean)(score)


def length(scale: float | None, draws: tuple[Draw, ...]) -> ArrayLike:
    """The bandwidth: as given, or the median distance between the first draws."""
    if scale is not None:
        return scale
    z = jax.lax.stop_gradient(jnp.concatenate([d.z[:MOST] for d in draws])[:MOST])
    check_pairs(z.shape[0])
    i, j = jnp.triu_indices(z.shape[0], 1)
    return jnp.median(jnp.sqrt(jnp.sum((z[i] - z[j]) ** 2, axis=1)))


def check_statistic(statistic: AbstractStatistic, family: AbstractFamily, write: str) -> None:
    require(
        not isinstance(family, AbstractWeightedFamily) or isinstance(statistic, TwoBatches),
        IncompatibleError,
        expected="two batches for a family with mixture weights: the draws of one set take the "
        "components in turn and are not independent of each other",
        got=f"{type(statistic).__name__}()",
        write=write,
    )
