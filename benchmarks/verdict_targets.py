"""Targets with exact draws, for fits whose error is known: shapes, tails, modes."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import jax.random as jr


@dataclass(frozen=True)
class Exact:
    """log p up to its constant, exact draws, and the mode each draw belongs to."""

    dim: int
    log_density: Callable[[jax.Array], jax.Array]
    sample: Callable[[jax.Array, int], jax.Array]
    label: Callable[[jax.Array], jax.Array] | None = None


def funnel(dim: int, sd: float) -> Exact:
    """v ~ N(0, sd^2), x_i | v ~ N(0, e^v) (Neal 2003)."""

    def log_density(z):
        v, x = z[0], z[1:]
        return -0.5 * (v / sd) ** 2 - 0.5 * jnp.sum(x**2) * jnp.exp(-v) - 0.5 * (dim - 1) * v

    def sample(key, n):
        eps = jr.normal(key, (n, dim))
        v = sd * eps[:, :1]
        return jnp.concatenate([v, jnp.exp(v / 2) * eps[:, 1:]], axis=1)

    return Exact(dim, log_density, sample)


def bananas(dim: int) -> Exact:
    """dim / 2 independent pairs a ~ N(0, 2), b | a ~ N(a^2 / 4, 1)."""
    half = dim // 2

    def log_density(z):
        a, b = z[:half], z[half:]
        return -0.25 * jnp.sum(a**2) - 0.5 * jnp.sum((b - a**2 / 4) ** 2)

    def sample(key, n):
        eps = jr.normal(key, (n, dim))
        a = math.sqrt(2) * eps[:, :half]
        return jnp.concatenate([a, a**2 / 4 + eps[:, half:]], axis=1)

    return Exact(dim, log_density, sample)


def student_t(dim: int, degrees: float) -> Exact:
    def log_density(z):
        return -0.5 * (degrees + dim) * jnp.log1p(jnp.sum(z**2) / degrees)

    def sample(key, n):
        eps = jr.normal(jr.fold_in(key, 0), (n, dim))
        chi2 = 2 * jr.gamma(jr.fold_in(key, 1), degrees / 2, (n, 1))
        return eps / jnp.sqrt(chi2 / degrees)

    return Exact(dim, log_density, sample)


def log_gammas(dim: int) -> Exact:
    """z_i = log G_i, G_i ~ Gamma(1 + i / 2): skewed, as variances on the log scale are."""
    shapes = 1 + jnp.arange(dim) / 2

    def log_density(z):
        return jnp.sum(shapes * z - jnp.exp(z))

    def sample(key, n):
        return jnp.log(jr.gamma(key, shapes, (n, dim)))

    return Exact(dim, log_density, sample)


def mixture(centres, sds, weights) -> Exact:
    """sum_k w_k N(c_k, sd_k^2 I)."""
    centres, sds, weights = (jnp.asarray(x, float) for x in (centres, sds, weights))
    dim = centres.shape[1]
    log_scale = jnp.log(weights) - dim * jnp.log(sds)

    def parts(z):
        return log_scale - 0.5 * jnp.sum((z - centres) ** 2, axis=1) / sds**2

    def sample(key, n):
        k = jr.categorical(jr.fold_in(key, 0), jnp.log(weights), shape=(n,))
        return centres[k] + sds[k][:, None] * jr.normal(jr.fold_in(key, 1), (n, dim))

    return Exact(
        dim,
        lambda z: jax.nn.logsumexp(parts(z)),
        sample,
        lambda draws: jnp.argmax(jax.vmap(parts)(jnp.asarray(draws, float)), axis=1),
    )


def ring(radius: float = 3.0, sd: float = 0.4) -> Exact:
    """|z| - radius ~ N(0, sd^2), nearly: drawn with the factor |z| by rejection."""

    def log_density(z):
        return -0.5 * ((jnp.sqrt(jnp.sum(z**2) + 1e-12) - radius) / sd) ** 2

    def sample(key, n):
        r = jnp.abs(radius + sd * jr.normal(jr.fold_in(key, 0), (4 * n,)))
        kept = jr.uniform(jr.fold_in(key, 1), (4 * n,)) < r / (radius + 6 * sd)
        r = r[jnp.argsort(~kept, stable=True)[:n]]
        angle = 2 * math.pi * jr.uniform(jr.fold_in(key, 2), (n,))
        return r[:, None] * jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=1)

    return Exact(2, log_density, sample)


GRID = [(4.0 * i, 4.0 * j) for i in (-1, 0, 1) for j in (-1, 0, 1)]

EXACT: dict[str, Exact] = {
    "banana": bananas(2),
    "bananas, d = 10": bananas(10),
    "funnel, d = 2, sd 1": funnel(2, 1.0),
    "funnel, d = 10, sd 1.5": funnel(10, 1.5),
    "funnel, d = 10, sd 3": funnel(10, 3.0),
    "Student t, d = 5": student_t(5, 5.0),
    "log gammas, d = 6": log_gammas(6),
    "ring": ring(),
    "two modes": mixture([[-3.0, -3.0], [3.0, 3.0]], [0.5, 1.0], [0.3, 0.7]),
    "two modes, d = 6": mixture([[-2.0] * 6, [2.0] * 6], [0.7, 1.0], [0.4, 0.6]),
    "3 x 3 modes": mixture(GRID, [0.5] * 9, [1 / 9] * 9),
}
