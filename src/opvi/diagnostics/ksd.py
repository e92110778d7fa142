"""Kernel Stein discrepancy: the Langevin-Stein objective over a unit ball of an RKHS, as a test.

KSD^2 = E_{z, z' ~ q} h(z, z'),   h = s's' k + s.grad' k + s'.grad k + tr grad grad' k,   s = grad log p,

with the inverse multiquadric k = (1 + |y - y'|^2 / d)^{-1/2} in whitened coordinates, whose tails are
heavy enough that draws running away are seen (Gorham and Mackey 2017). E_p h(z, .) = 0, so under q = p
the U-statistic is degenerate and the wild bootstrap sum_{i != j} eps_i eps_j h_ij gives its law.
"""

from dataclasses import dataclass

import numpy as np

from opvi._core.types import Key
from opvi.diagnostics._arrays import Draws, generator, whiten


@dataclass(frozen=True)
class KSDTest:
    """- `ksd2`: unbiased estimate of KSD^2 in whitened coordinates (it may be negative).
    - `z`: in standard deviations of its law under q = p; `p_value`: from the bootstrap.
    """

    ksd2: float
    z: float
    p_value: float
    draws: int
    gradient_evaluations: int = 0


def ksd_test(
    z: Draws, scores: Draws, key: Key, *, draws: int = 1000, bootstraps: int = 400
) -> KSDTest:
    """Test q = p from the first `draws` draws with their scores: O(draws^2) on the host."""
    white = whiten(z, scores)
    h = stein_kernel(white.y[:draws], white.score[:draws])
    np.fill_diagonal(h, 0.0)
    n = len(h)
    pairs = n * (n - 1)
    ksd2 = h.sum() / pairs
    signs = generator(key).choice([-1.0, 1.0], size=(bootstraps, n))
    null = np.einsum("bi,bi->b", signs @ h, signs) / pairs
    return KSDTest(
        ksd2=float(ksd2),
        z=float(ksd2 / max(null.std(ddof=1), 1e-300)),
        p_value=float((1 + np.sum(null >= ksd2)) / (1 + bootstraps)),
        draws=n,
    )


def stein_kernel(y: np.ndarray, s: np.ndarray) -> np.ndarray:
    """h at all pairs, for k = u^{-1/2}, u = 1 + |y - y'|^2 / d."""
    d = y.shape[1]
    square = np.sum(y**2, 1)
    r2 = np.maximum(square[:, None] + square[None] - 2 * y @ y.T, 0.0)
    u = 1.0 + r2 / d
    sy = s @ y.T  # s_i . y_j
    own = np.diagonal(sy)
    # grad_y k = -(y - y') u^{-3/2} / d, and the opposite in y'.
    drift = (own[:, None] - sy) + (own[None] - sy.T)  # s_i.(y_i - y_j) + s_j.(y_j - y_i)
    trace = u**-1.5 - 3.0 * r2 / d**2 * u**-2.5
    return (s @ s.T) * u**-0.5 + drift * u**-1.5 / d + trace
