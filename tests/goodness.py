"""Do these draws come from this density? A chi-square test on cells, and the integral of a density."""

import itertools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

LogDensity = Callable[[jax.Array], jax.Array]


def grid(low: float, high: float, dim: int, points: int) -> tuple[jax.Array, float]:
    """Midpoints of `points**dim` equal boxes in [low, high]^dim, and the volume of one."""
    width = (high - low) / points
    mesh = np.meshgrid(*[low + width * (np.arange(points) + 0.5)] * dim, indexing="ij")
    z = np.stack([m.ravel() for m in mesh], axis=1)
    return jnp.asarray(z, jnp.result_type(float)), width**dim


def integral(log_density: LogDensity, low: float, high: float, dim: int, points: int) -> float:
    """int exp(log_density) over [low, high]^dim by the midpoint rule."""
    z, volume = grid(low, high, dim, points)
    return float(jnp.sum(jnp.exp(jax.vmap(log_density)(z))) * volume)


def p_value(
    draws: jax.Array, log_density: LogDensity, low: float, high: float, cells: int, fine: int = 8
) -> float:
    """Chi-square p-value of counts in `cells**dim` boxes; all that lies outside is one more cell.

    The probability of a cell is an integral of the density over `fine` midpoints a side. Cells that
    expect fewer than 10 draws are pooled with the outside.
    """
    n, dim = draws.shape
    z, volume = grid(low, high, dim, cells * fine)
    density = np.asarray(jnp.exp(jax.vmap(log_density)(z)), np.float64) * volume
    blocks = density.reshape(tuple(itertools.chain(*[(cells, fine)] * dim)))
    expected = n * blocks.sum(axis=tuple(range(1, 2 * dim, 2)))
    edges = [np.linspace(low, high, cells + 1)] * dim
    observed, _ = np.histogramdd(np.asarray(draws, np.float64), bins=edges)
    large = expected >= 10
    rest = n - expected[large].sum(), n - observed[large].sum()
    wanted, counted = np.append(expected[large], rest[0]), np.append(observed[large], rest[1])
    if wanted[-1] < 10:  # too few to say anything about: fold them into the largest cell
        top = int(np.argmax(wanted))
        wanted[top] += wanted[-1]
        counted[top] += counted[-1]
        wanted, counted = wanted[:-1], counted[:-1]
    chi2 = np.sum((counted - wanted) ** 2 / wanted)
    return float(stats.chi2.sf(chi2, len(wanted) - 1))
