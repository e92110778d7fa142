"""The Stein kernel: the Langevin-Stein operator applied to both arguments of a kernel.

    h(x, y) = s's_y k + s' grad_y k + s_y' grad_x k + tr grad_x grad_y k,   s = grad log p(x),
    E_{x, y ~ q} h = sup over the unit ball of the RKHS of (E_q[O f])^2

(Chwialkowski, Strathmann and Gretton 2016; Liu, Lee and Jordan 2016). The only place with this formula:
`KernelBall` reads it on the device, the KSD test of `diagnostics` on the host, in float64.
"""

from typing import Any

import numpy as np
from jax.typing import ArrayLike

from opvi._core.types import Array, Float
from opvi.testfunctions import AbstractAnchoredKernel, AbstractKernel

Points = Float[Array, "n d"] | Float[np.ndarray, "n d"]
Others = Float[Array, "m d"] | Float[np.ndarray, "m d"]
Pairs = Float[Array, "n m"] | Float[np.ndarray, "n m"]


def stein_kernel(
    kernel: AbstractKernel, x: Points, s: Points, y: Others, t: Others, scale: ArrayLike
) -> Pairs:
    """h(x_i, y_j), for scores s at x and t at y, at the bandwidth `scale`. JAX or NumPy arrays."""
    xp: Any = x.__array_namespace__()
    # In the unit of the bandwidth z / scale the score is scale * s, and h is scale^2 times larger.
    x, y, s, t = x / scale, y / scale, s * scale, t * scale
    st = s @ t.T
    # Differences do not know the origin, and far from it a square of their length loses digits.
    centre = xp.mean(y, axis=0)
    cx, cy = x - centre, y - centre
    own_x, own_y = xp.sum(cx**2, axis=1)[:, None], xp.sum(cy**2, axis=1)[None]
    u = xp.maximum(own_x + own_y - 2.0 * cx @ cy.T, 0.0)
    phi, d1, d2 = kernel.profile(u)
    # (x - y)' (t - s)
    drift = cx @ t.T - xp.sum(cx * s, axis=1)[:, None]
    drift = drift - xp.sum(cy * t, axis=1)[None] + s @ cy.T
    # grad_x k = 2 phi' (x - y) = -grad_y k;  grad_x grad_y k = -4 phi'' (x - y)(x - y)' - 2 phi' I.
    h = phi * st + 2.0 * d1 * drift - 4.0 * d2 * u - 2.0 * x.shape[1] * d1
    if isinstance(kernel, AbstractAnchoredKernel):
        phi_x, d1_x, _ = kernel.profile(xp.sum(x**2, axis=1)[:, None])
        phi_y, d1_y, _ = kernel.profile(xp.sum(y**2, axis=1)[None])
        h = h + st * (1.0 - phi_x - phi_y) - 2.0 * (d1_x * (x @ t.T) + d1_y * (s @ y.T))
    return h / scale**2
