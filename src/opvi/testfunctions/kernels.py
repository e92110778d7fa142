"""Kernels of a reproducing-kernel space, as functions of u = |x - y|^2 / scale^2.

One formula on the device and on the host: a profile is made of operations that JAX and NumPy arrays
share, in whatever precision the array has.
"""

import abc
from typing import Any

import equinox as eqx

from opvi._core.errors import OpviError, require

Profile = tuple[Any, Any, Any]


def _length(scale: Any) -> float | None:
    return None if scale is None else float(scale)


class AbstractKernel(eqx.Module):
    """k(x, y) = phi(|x - y|^2 / scale^2).

    `scale` is the bandwidth; left out, it is the median distance between the draws.
    """

    scale: eqx.AbstractVar[float | None]

    @abc.abstractmethod
    def profile(self, u: Any) -> Profile:
        """phi(u), phi'(u), phi''(u), elementwise."""

    def __check_init__(self):
        name = type(self).__name__
        require(
            self.scale is None or 0.0 < self.scale < float("inf"),
            OpviError,
            expected="a bandwidth above 0: under a kernel of width 0 no draw sees another",
            got=f"scale={self.scale}",
            write=f"{name}(scale=1.0), or {name}() for the median distance between the draws",
        )


class AbstractAnchoredKernel(AbstractKernel):
    """k(x, y) = 1 + a(x) + a(y) - a(x - y), a(v) = -phi(|v|^2 / scale^2), for conditionally positive phi.

    Its functions may grow, as a does; the anchor is the origin, so whiten first.
    """


class RBF(AbstractKernel):
    """exp(-u / 2). Light tails: functions that vanish far out do not see draws that ran away."""

    scale: float | None = eqx.field(static=True, default=None, converter=_length)

    def profile(self, u: Any) -> Profile:
        value = u.__array_namespace__().exp(-0.5 * u)
        return value, -0.5 * value, 0.25 * value


class IMQ(AbstractKernel):
    """(1 + u)^power, -1 < power < 0: the inverse multiquadric.

    Its Stein discrepancy controls convergence where that of a light-tailed kernel does not (Gorham and
    Mackey 2017).
    """

    scale: float | None = eqx.field(static=True, default=None, converter=_length)
    power: float = eqx.field(static=True, default=-0.5, converter=float)

    def __check_init__(self):
        require(
            -1.0 < self.power < 0.0,
            OpviError,
            expected="-1 < power < 0",
            got=f"power={self.power}",
            write="IMQ(power=-0.5)",
        )

    def profile(self, u: Any) -> Profile:
        value, p = (1.0 + u) ** self.power, self.power
        return value, p * value / (1.0 + u), p * (p - 1.0) * value / (1.0 + u) ** 2


def _check_smoothing(kernel: Any) -> None:
    require(
        kernel.smoothing > 0.0,
        OpviError,
        expected="a smoothing above 0: with a kink at x = y a kernel has no Stein kernel there",
        got=f"smoothing={kernel.smoothing}",
        write=f"{type(kernel).__name__}(smoothing=0.1)",
    )


class Laplace(AbstractKernel):
    """exp(-sqrt(smoothing^2 + u)): the Laplace kernel exp(-|x - y|) with its kink rounded.

    Smooth at lengths below `smoothing`; above it rougher than those of `IMQ`: finer, and noisier.
    """

    scale: float | None = eqx.field(static=True, default=None, converter=_length)
    smoothing: float = eqx.field(static=True, default=0.1, converter=float)

    def __check_init__(self):
        _check_smoothing(self)

    def profile(self, u: Any) -> Profile:
        xp = u.__array_namespace__()
        r = xp.sqrt(self.smoothing**2 + u)
        value = xp.exp(-r)
        return value, -value / (2.0 * r), value * (1.0 + 1.0 / r) / (4.0 * r**2)


class Riesz(AbstractAnchoredKernel):
    """1 + a(x) + a(y) - a(x - y), 0 < power < 2, with

        a(v) = (smoothing^2 + |v|^2 / scale^2)^(power / 2) - smoothing^power.

    The kernel of the energy distance (power 1), with its kink rounded. Its functions grow like
    |z|^(power / 2), so that draws far out count more, not less.
    """

    scale: float | None = eqx.field(static=True, default=None, converter=_length)
    power: float = eqx.field(static=True, default=1.0, converter=float)
    smoothing: float = eqx.field(static=True, default=0.1, converter=float)

    def __check_init__(self):
        _check_smoothing(self)
        require(
            0.0 < self.power < 2.0,
            OpviError,
            expected="0 < power < 2: only there is -|x - y|^power conditionally positive",
            got=f"power={self.power}",
            write="Riesz(power=1.0)",
        )

    def profile(self, u: Any) -> Profile:
        p, w = 0.5 * self.power, self.smoothing**2 + u
        a, a0 = w**p, self.smoothing ** (2 * p)
        return a0 - a, -p * a / w, -p * (p - 1.0) * a / w**2
