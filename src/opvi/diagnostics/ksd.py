"""Kernel Stein discrepancy: the Langevin-Stein objective over a unit ball of an RKHS, as a test.

KSD^2 = E_{z, z' ~ q} h(z, z'),   h: the Stein kernel (`opvi.operators.stein_kernel`),

with the inverse multiquadric k = (1 + |y - y'|^2 / d)^{-1/2} in whitened coordinates, whose tails are
heavy enough that draws running away are seen (Gorham and Mackey 2017). E_p h(z, .) = 0, so under q = p
the U-statistic is degenerate and the wild bootstrap sum_{i != j} eps_i eps_j h_ij gives its law.
"""

from dataclasses import dataclass

import numpy as np

from opvi._core.types import Key
from opvi.diagnostics._arrays import Draws, generator, whiten
from opvi.operators import stein_kernel
from opvi.testfunctions import IMQ


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
    y, s = white.y[:draws], white.score[:draws]
    h = np.array(stein_kernel(IMQ(), y, s, y, s, y.shape[1] ** 0.5))
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
