"""Five shapes of two latents, one of them at two distances: log p, normalised, and exact draws.

One target for all of them: which shape it is, is an array inside. A fit is then compiled once for
each objective and family, and not six times.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import opvi

DIM = 2
DRAWS = 10_000
PROJECTIONS = 50


@dataclass(frozen=True)
class Shape:
    """A law of two real numbers."""

    name: str
    log_density: Callable[[jax.Array], jax.Array]
    sample: Callable[[np.random.Generator, int], np.ndarray]
    sd: tuple[float, float]


def _normal(x: jax.Array, sd: jax.Array | float = 1.0) -> jax.Array:
    return -0.5 * (x / sd) ** 2 - jnp.log(sd) - 0.5 * math.log(2.0 * math.pi)


# --- .3 N((-c, 0), .6^2 I) + .7 N((c, 0), .6^2 I): seven standard deviations apart, or ten

LEFT, NARROW = 0.3, 0.6
CENTRES = {"modes": 2.0, "far": 3.0}


def _modes(name: str) -> Shape:
    centre = CENTRES[name]

    def log_density(z: jax.Array) -> jax.Array:
        parts = [
            math.log(w) + _normal(z[0] - m, NARROW) + _normal(z[1], NARROW)
            for w, m in ((LEFT, -centre), (1.0 - LEFT, centre))
        ]
        return jnp.logaddexp(*parts)

    def sample(rng: np.random.Generator, n: int) -> np.ndarray:
        side = np.where(rng.random(n) < LEFT, -centre, centre)
        return np.stack([side, np.zeros(n)], 1) + NARROW * rng.standard_normal((n, 2))

    between = 4 * centre**2 * LEFT * (1 - LEFT)
    return Shape(name, log_density, sample, (math.sqrt(between + NARROW**2), NARROW))


# --- z_1 ~ N(0, 2), z_2 | z_1 ~ N(z_1^2 / 4, 1)


def _banana(z: jax.Array) -> jax.Array:
    return _normal(z[0], math.sqrt(2.0)) + _normal(z[1] - z[0] ** 2 / 4)


def _sample_banana(rng: np.random.Generator, n: int) -> np.ndarray:
    x, y = rng.standard_normal((2, n))
    x = math.sqrt(2.0) * x
    return np.stack([x, x**2 / 4 + y], 1)


# --- z_1 ~ N(0, 1.5^2), z_2 | z_1 ~ N(0, exp(z_1)): a scale and what it scales

MOUTH = 1.5


def _funnel(z: jax.Array) -> jax.Array:
    return _normal(z[0], MOUTH) + _normal(z[1], jnp.exp(z[0] / 2))


def _sample_funnel(rng: np.random.Generator, n: int) -> np.ndarray:
    x, y = rng.standard_normal((2, n))
    return np.stack([MOUTH * x, np.exp(MOUTH * x / 2) * y], 1)


# --- a bivariate Student-t of 3 degrees of freedom, and a Gaussian, both with correlation .9

DOF, RHO = 3.0, 0.9


def _whiten(z: jax.Array) -> jax.Array:
    return jnp.stack([z[0], (z[1] - RHO * z[0]) / math.sqrt(1.0 - RHO**2)])


def _heavy(z: jax.Array) -> jax.Array:
    fall = (DOF + 2.0) / 2.0 * jnp.log1p(jnp.sum(_whiten(z) ** 2) / DOF)
    # Gamma((dof + 2)/2) / Gamma(dof/2) = dof / 2.
    return -fall - math.log(2.0 * math.pi) - 0.5 * math.log(1.0 - RHO**2)


def _gaussian(z: jax.Array) -> jax.Array:
    return jnp.sum(_normal(_whiten(z))) - 0.5 * math.log(1.0 - RHO**2)


def _correlated(rng: np.random.Generator, n: int) -> np.ndarray:
    x, y = rng.standard_normal((2, n))
    return np.stack([x, RHO * x + math.sqrt(1.0 - RHO**2) * y], 1)


def _sample_heavy(rng: np.random.Generator, n: int) -> np.ndarray:
    return _correlated(rng, n) * np.sqrt(DOF / rng.chisquare(DOF, (n, 1)))


# Of the banana's second the variance is 1 + Var(z_1^2) / 16 = 1.5, of the funnel's second
# E exp(z_1) = exp(MOUTH^2 / 2), of a Student-t dof / (dof - 2).
SHAPES = (
    _modes("modes"),
    Shape("banana", _banana, _sample_banana, (math.sqrt(2.0), math.sqrt(1.5))),
    Shape("funnel", _funnel, _sample_funnel, (MOUTH, math.exp(MOUTH**2 / 4))),
    Shape("heavy", _heavy, _sample_heavy, (math.sqrt(DOF), math.sqrt(DOF))),
    Shape("gaussian", _gaussian, _correlated, (1.0, 1.0)),
    _modes("far"),
)


class Shapes(opvi.AbstractTarget):
    """The shape number `which`."""

    which: jax.Array
    dim: int = eqx.field(static=True, default=DIM)

    def log_density(self, z: jax.Array) -> jax.Array:
        return jax.lax.switch(self.which, [shape.log_density for shape in SHAPES], z)

    def constrain(self, z: jax.Array) -> jax.Array:
        return z

    @property
    def columns(self) -> tuple[str, ...]:
        return ("z[0]", "z[1]")

    @property
    def dims(self) -> Mapping[str, Sequence[str]]:
        return {}

    @property
    def coords(self) -> Mapping[str, Sequence[Any]]:
        return {}


def target(shape: Shape) -> Shapes:
    which = jnp.asarray([s.name for s in SHAPES].index(shape.name), jnp.int32)
    return Shapes(which=which)


# --- how far draws are from the law


def _projected(z: np.ndarray) -> np.ndarray:
    angle = np.pi * (np.arange(PROJECTIONS) + 0.5) / PROJECTIONS
    return np.sort(z @ np.stack([np.cos(angle), np.sin(angle)]), axis=0)


@cache
def _exact(shape: Shape) -> np.ndarray:
    """The law along each direction: quantiles of a hundred times as many draws."""
    many = _projected(shape.sample(np.random.default_rng(12345), 100 * DRAWS))
    return many.reshape(DRAWS, 100, PROJECTIONS).mean(1)


def sliced_w1(z: np.ndarray, shape: Shape) -> float:
    """The mean over directions of W1 along them, against the law."""
    return float(np.abs(_projected(z) - _exact(shape)).mean())


@cache
def floor(shape: Shape) -> float:
    """The same for as many exact draws: the mean of ten sets of them."""
    sets = (shape.sample(np.random.default_rng(seed), DRAWS) for seed in range(10))
    return float(np.mean([sliced_w1(z, shape) for z in sets]))
