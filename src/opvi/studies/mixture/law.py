"""The posterior of figure 1 and everything about it that is known exactly.

p(z) = 1/2 Normal(z; -3, 1) + 1/2 Normal(z; 3, 1)                          (paper, section 4.1)
"""

import math
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np

import opvi

CENTRES = (-3.0, 3.0)
MEAN = 0.0
SD = math.sqrt(10.0)  # 1 within a mode, 9 between them

# A mode is a side of zero, of the truth as well. |z| then has the law of |Normal(3, 1)| (folded):
# E|z| = 3 (1 - 2 Phi(-3)) + 2 phi(3), and E z^2 = 10.
_TAIL = 0.5 * math.erfc(3.0 / math.sqrt(2.0))
MODE_MEAN = 3.0 * (1.0 - 2.0 * _TAIL) + 2.0 * math.exp(-4.5) / math.sqrt(2.0 * math.pi)
MODE_SD = math.sqrt(10.0 - MODE_MEAN**2)


def log_density(z: jax.Array) -> jax.Array:
    """log p(z), normalised: the objective of KL is KL itself."""
    left, right = (-0.5 * (z - centre) ** 2 for centre in CENTRES)
    return jnp.logaddexp(left, right) - math.log(2.0) - 0.5 * math.log(2.0 * math.pi)


def target() -> opvi.AbstractTarget:
    return opvi.from_log_density(log_density, like=0.0)


def density(z: np.ndarray) -> np.ndarray:
    left, right = (np.exp(-0.5 * (z - c) ** 2) for c in CENTRES)
    return (left + right) / (2.0 * math.sqrt(2.0 * math.pi))


def sample(rng: np.random.Generator, n: int) -> np.ndarray:
    """Exact draws."""
    return rng.choice(CENTRES, size=n) + rng.standard_normal(n)


def distribution(z: np.ndarray) -> np.ndarray:
    """P(Z <= z)."""
    erfc = np.vectorize(math.erfc, otypes=[float])
    left, right = (erfc((c - z) / math.sqrt(2.0)) for c in CENTRES)
    return 0.25 * (left + right)


@cache
def quantiles(n: int) -> np.ndarray:
    """The quantiles at (i - 1/2) / n: the distribution function inverted on a grid of 1/2000."""
    grid = np.linspace(-10.0, 10.0, 40_001)
    return np.interp((np.arange(n) + 0.5) / n, distribution(grid), grid)


def wasserstein(draws: np.ndarray) -> float:
    """W1 = int_0^1 |Q_draws(u) - Q_p(u)| du, against the law and not against a sample of it."""
    return float(np.mean(np.abs(np.sort(draws) - quantiles(len(draws)))))
