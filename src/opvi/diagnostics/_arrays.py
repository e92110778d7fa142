"""Draws as float64 NumPy arrays, and the coordinates in which they are white.

Statistics of finished draws are host work of a few milliseconds. In float64 a moment of a badly
scaled latent is exact, whatever precision the fit had.
"""

from dataclasses import dataclass

import jax.random as jr
import numpy as np
from jaxtyping import Array, Float

from opvi._core.errors import OpviError, require
from opvi._core.types import Key

Draws = Float[Array, "n d"] | Float[np.ndarray, "n d"]
Column = Float[np.ndarray, " d"]
Values = Float[Array, " n"] | Float[np.ndarray, " n"]


@dataclass(frozen=True)
class White:
    """Draws and scores in y = tril^-1 (z - mean), where the draws have mean 0 and covariance I.

    s_y = tril' s_z, so E_p[s_y] = 0 and E_p[s_y y'] = -I hold in y as they do in z.
    """

    y: np.ndarray
    score: np.ndarray
    mean: np.ndarray
    tril: np.ndarray
    finite: np.ndarray

    @property
    def sd(self) -> np.ndarray:
        """Standard deviation of each original coordinate."""
        return np.linalg.norm(self.tril, axis=1)


def whiten(z: Draws, scores: Draws) -> White:
    """Whiten by the draws' own moments. Rows that are not finite are left out (`finite` says which)."""
    z64, s64 = np.asarray(z, np.float64), np.asarray(scores, np.float64)
    finite = np.asarray(np.isfinite(z64).all(1) & np.isfinite(s64).all(1))
    z64, s64 = z64[finite], s64[finite]
    n, d = z64.shape
    require(
        n > d + 1,
        OpviError,
        expected=f"more than {d + 1} draws with finite scores in {d} dimensions",
        got=f"{n} of {len(finite)}",
        write="z = posterior.unconstrained(key, 4000); scores = jax.vmap(target.score)(z)",
    )
    mean, tril = z64.mean(0), cholesky(z64)
    y = np.linalg.solve(tril, (z64 - mean).T).T
    return White(y, s64 @ tril, mean, tril, finite)


def cholesky(z: np.ndarray) -> np.ndarray:
    """A Cholesky factor of the covariance of the draws, scale-free and never singular."""
    sd = z.std(0, ddof=1)
    sd = np.where(sd > 0, sd, 1.0)
    correlation = np.atleast_2d(np.cov((z - z.mean(0)) / sd, rowvar=False))
    return sd[:, None] * np.linalg.cholesky(correlation + 1e-9 * np.eye(len(sd)))


def names(columns: tuple[str, ...] | None, d: int) -> tuple[str, ...]:
    return tuple(f"z[{i}]" for i in range(d)) if columns is None else tuple(columns)


def generator(key: Key) -> np.random.Generator:
    """Randomness on the host, fixed by a JAX key."""
    return np.random.default_rng(np.asarray(jr.key_data(key)).ravel().astype(np.uint64))
