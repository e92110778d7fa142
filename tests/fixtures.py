"""Targets with known answers: a normalised log density and an exact sampler of it.

Most are skewed or lopsided on purpose: a symmetric target cannot tell a sign from its opposite.
`tests/test_fixtures.py` holds them to what they promise.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.special import log_ndtr, ndtr

import opvi


@dataclass(frozen=True)
class Known:
    """log p(z), normalised, and exact draws of p."""

    dim: int
    log_density: Callable[[jax.Array], jax.Array]
    sample: Callable[[jax.Array, int], jax.Array]

    def target(self) -> opvi.AbstractTarget:
        return opvi.from_log_density(self.log_density, jnp.zeros(self.dim))


def _normal(x: jax.Array, sd: float = 1.0) -> jax.Array:
    return -0.5 * jnp.sum((x / sd) ** 2) - x.size * math.log(sd * math.sqrt(2 * math.pi))


def skewed(dim: int) -> Known:
    """z_k = log G_k + z_{k-1}^2 / 4, G_k ~ Gamma(2 + k): skewed, bent, no symmetry in any coordinate."""
    shapes = [2 + k for k in range(dim)]
    log_normaliser = sum(math.lgamma(a) for a in shapes)

    def log_density(z: jax.Array) -> jax.Array:
        u = z - jnp.concatenate([jnp.zeros(1), z[:-1] ** 2 / 4])
        return jnp.sum(jnp.asarray(shapes, float) * u - jnp.exp(u)) - log_normaliser

    def sample(key: jax.Array, n: int) -> jax.Array:
        columns = []
        for k, a in enumerate(shapes):
            # A sum of a exponentials is Gamma(a).
            gamma = jnp.sum(jr.exponential(jr.fold_in(key, k), (n, a)), axis=1)
            bend = columns[-1] ** 2 / 4 if columns else 0.0
            columns.append(jnp.log(gamma) + bend)
        return jnp.stack(columns, axis=1)

    return Known(dim, log_density, sample)


def gaussian(dim: int) -> Known:
    """A correlated Gaussian away from the origin: mean `gaussian_mean`, Cholesky factor `gaussian_tril`."""

    def log_density(z: jax.Array) -> jax.Array:
        tril = gaussian_tril(dim)
        u = jax.scipy.linalg.solve_triangular(tril, z - gaussian_mean(dim), lower=True)
        return _normal(u) - jnp.sum(jnp.log(jnp.diagonal(tril)))

    def sample(key: jax.Array, n: int) -> jax.Array:
        return gaussian_mean(dim) + jr.normal(key, (n, dim)) @ gaussian_tril(dim).T

    return Known(dim, log_density, sample)


def gaussian_mean(dim: int) -> jax.Array:
    return jnp.asarray([1.0, -2.0, 0.5][:dim])


def gaussian_tril(dim: int) -> jax.Array:
    tril = jnp.asarray([[1.2, 0.0, 0.0], [0.8, 0.6, 0.0], [-0.5, 0.7, 0.9]])
    return tril[:dim, :dim]


def mixture(dim: int) -> Known:
    """.3 N(-2, .6^2 I) + .7 N(1.5, I): two modes of unequal weight and width."""
    weights, means, sds = (0.3, 0.7), (-2.0, 1.5), (0.6, 1.0)

    def log_density(z: jax.Array) -> jax.Array:
        parts = [
            math.log(w) + _normal(z - m, s) for w, m, s in zip(weights, means, sds, strict=True)
        ]
        return jax.nn.logsumexp(jnp.stack(parts))

    def sample(key: jax.Array, n: int) -> jax.Array:
        k_mode, k_noise = jr.split(key)
        first = jr.uniform(k_mode, (n, 1)) < weights[0]
        noise = jr.normal(k_noise, (n, dim))
        return jnp.where(first, means[0] + sds[0] * noise, means[1] + sds[1] * noise)

    return Known(dim, log_density, sample)


def banana() -> Known:
    """z_1 ~ N(0, 2), z_2 | z_1 ~ N(z_1^2 / 4, 1)."""

    def log_density(z: jax.Array) -> jax.Array:
        return _normal(z[:1], math.sqrt(2)) + _normal(z[1:] - z[:1] ** 2 / 4)

    def sample(key: jax.Array, n: int) -> jax.Array:
        noise = jr.normal(key, (n, 2))
        first = math.sqrt(2) * noise[:, 0]
        return jnp.stack([first, first**2 / 4 + noise[:, 1]], axis=1)

    return Known(2, log_density, sample)


def two_modes() -> Known:
    """1/2 N((-2, 0), .5^2 I) + 1/2 N((2, 0), .5^2 I)."""
    centre, sd = (2.0, 0.0), 0.5

    def log_density(z: jax.Array) -> jax.Array:
        c = jnp.asarray(centre)
        return jnp.logaddexp(_normal(z - c, sd), _normal(z + c, sd)) - math.log(2)

    def sample(key: jax.Array, n: int) -> jax.Array:
        k_mode, k_noise = jr.split(key)
        side = jr.rademacher(k_mode, (n, 1), jnp.result_type(float))
        return side * jnp.asarray(centre) + sd * jr.normal(k_noise, (n, 2))

    return Known(2, log_density, sample)


def x_shape() -> Known:
    """1/2 N(0, [[2, 1.8], [1.8, 2]]) + 1/2 N(0, [[2, -1.8], [-1.8, 2]])."""
    # Along (1, 1) and (1, -1) the variances are 2 +- 1.8.
    wide, narrow = math.sqrt(3.8), math.sqrt(0.2)

    def log_density(z: jax.Array) -> jax.Array:
        u = (z[:1] + z[1:]) / math.sqrt(2)
        v = (z[:1] - z[1:]) / math.sqrt(2)
        up = _normal(u, wide) + _normal(v, narrow)
        down = _normal(u, narrow) + _normal(v, wide)
        return jnp.logaddexp(up, down) - math.log(2)

    def sample(key: jax.Array, n: int) -> jax.Array:
        k_arm, k_noise = jr.split(key)
        noise = jr.normal(k_noise, (n, 2)) * jnp.asarray([wide, narrow])
        up = jr.bernoulli(k_arm, shape=(n, 1))
        u, v = jnp.split(jnp.where(up, noise, noise[:, ::-1]), 2, axis=1)
        return jnp.concatenate([u + v, u - v], axis=1) / math.sqrt(2)

    return Known(2, log_density, sample)


def ring(radius: float = 3.0, sd: float = 0.4) -> Known:
    """p(z) proportional to exp(-(|z| - radius)^2 / (2 sd^2)).

    The radius has density r exp(-(r - radius)^2 / (2 sd^2)) / c on r > 0, whose distribution function
    is known (below): draws invert it by bisection, to the last digit.
    """
    ratio = radius / sd
    density_at_0 = math.exp(-0.5 * ratio**2) / math.sqrt(2 * math.pi)
    mass_above_0 = 0.5 * math.erfc(-ratio / math.sqrt(2))
    # int_0^inf (radius + sd x) phi(x) dx over x > -ratio, times sd sqrt(2 pi) and the angle 2 pi.
    mean_radius = radius * mass_above_0 + sd * density_at_0
    log_normaliser = math.log(2 * math.pi * math.sqrt(2 * math.pi) * sd * mean_radius)

    def log_density(z: jax.Array) -> jax.Array:
        # At the origin |z| has no gradient; there p is exp(-28) of its maximum.
        r = jnp.sqrt(jnp.sum(z**2) + 1e-12)
        return -0.5 * ((r - radius) / sd) ** 2 - log_normaliser

    def cdf(r: jax.Array) -> jax.Array:
        x = (r - radius) / sd
        phi = jnp.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)
        below = radius * (ndtr(x) - (1 - mass_above_0)) - sd * (phi - density_at_0)
        return below / mean_radius

    def sample(key: jax.Array, n: int) -> jax.Array:
        k_radius, k_angle = jr.split(key)
        u = jr.uniform(k_radius, (n,))
        low, high = jnp.zeros(n), jnp.full(n, radius + 12 * sd)
        for _ in range(60):
            middle = (low + high) / 2
            left = cdf(middle) < u
            low, high = jnp.where(left, middle, low), jnp.where(left, high, middle)
        angle = 2 * math.pi * jr.uniform(k_angle, (n,))
        return low[:, None] * jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=1)

    return Known(2, log_density, sample)


def skew_normal(slope: float = 4.0) -> Known:
    """2 phi(z) Phi(slope z): a lopsided bump with Gaussian tails."""

    def log_density(z: jax.Array) -> jax.Array:
        return math.log(2) + _normal(z) + jnp.sum(log_ndtr(slope * z))

    def sample(key: jax.Array, n: int) -> jax.Array:
        noise = jr.normal(key, (n, 2))
        delta = slope / math.sqrt(1 + slope**2)
        return delta * jnp.abs(noise[:, :1]) + math.sqrt(1 - delta**2) * noise[:, 1:]

    return Known(1, log_density, sample)


SHAPES_2D: dict[str, Callable[[], Known]] = {
    "banana": banana,
    "two_modes": two_modes,
    "x_shape": x_shape,
    "ring": ring,
}

KNOWN: dict[str, Callable[[], Known]] = {
    "skewed_1d": lambda: skewed(1),
    "skewed_2d": lambda: skewed(2),
    "skewed_3d": lambda: skewed(3),
    "skew_normal": skew_normal,
    "gaussian_3d": lambda: gaussian(3),
    "mixture_1d": lambda: mixture(1),
    "mixture_2d": lambda: mixture(2),
    **SHAPES_2D,
}


def sliced_w1(x: object, y: object, *, projections: int = 200, seed: int = 0) -> float:
    """Mean over random directions of the 1-Wasserstein distance of the projected draws.

    In one dimension W1 of two samples of equal size is the mean distance of their order statistics.
    """
    a, b = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if a.shape != b.shape:
        raise ValueError(f"sliced_w1 compares samples of one shape, not {a.shape} and {b.shape}")
    directions = np.random.default_rng(seed).normal(size=(projections, a.shape[1]))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return float(np.abs(np.sort(a @ directions.T, 0) - np.sort(b @ directions.T, 0)).mean())
