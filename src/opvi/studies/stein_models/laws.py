"""Densities known up to their constant, small enough that quadrature knows the constant too.

With it comes the maximum-likelihood estimate, and its standard errors from the observed information:
what the Stein-trained estimates, which never see the constant, are compared with.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

EDGE, CELLS = 8.0, {1: 4000, 2: 200}  # a box [-8, 8]^d, cut finely where there is one axis


class Law(NamedTuple):
    """log p(x; theta) without its constant, the theta that made the data, and where learning starts."""

    log_density: Callable[[jax.Array, jax.Array], jax.Array]
    dim: int
    truth: tuple[float, ...]
    start: tuple[float, ...]
    parameters: tuple[str, ...]


def _mixture(theta: jax.Array, x: jax.Array) -> jax.Array:
    """w N(m_1, 1) + (1 - w) N(m_2, 1), w = sigmoid(logit)."""
    left, right, logit = theta
    return jnp.logaddexp(logit - 0.5 * (x[0] - left) ** 2, -0.5 * (x[0] - right) ** 2)


def _quartic(theta: jax.Array, x: jax.Array) -> jax.Array:
    """exp(a x_1 + b x_2 + c x_1 x_2 - d (x_1^4 + x_2^4)): no closed form for its constant."""
    a, b, c, d = theta
    return a * x[0] + b * x[1] + c * x[0] * x[1] - d * jnp.sum(x**4)


def _boltzmann(theta: jax.Array, x: jax.Array) -> jax.Array:
    """A restricted Boltzmann machine of two Gaussian units over two hidden switches, summed out:
    -|x|^2 / 2 + sum_j softplus(w_j' x + c_j)."""
    weights, biases = theta[:4].reshape(2, 2), theta[4:]
    return -0.5 * jnp.sum(x**2) + jnp.sum(jnp.logaddexp(weights @ x + biases, 0.0))


LAWS = {
    "mixture": Law(_mixture, 1, (-1.2, 1.5, 0.4), (-0.5, 0.5, 0.0), ("m_1", "m_2", "logit w")),
    "quartic": Law(_quartic, 2, (0.5, -0.3, 0.6, 0.2), (0.0, 0.0, 0.0, 0.5), ("a", "b", "c", "d")),
    "boltzmann": Law(
        _boltzmann,
        2,
        (2.0, 0.5, -0.8, 1.8, -0.5, 0.3),
        (1.0, 0.0, 0.0, 1.0, 0.0, 0.0),
        ("w_11", "w_12", "w_21", "w_22", "c_1", "c_2"),
    ),
}


def grid(dim: int) -> np.ndarray:
    """Midpoints of the cells, (cells, dim)."""
    axis = (np.arange(CELLS[dim]) + 0.5) / CELLS[dim] * 2.0 * EDGE - EDGE
    return np.stack(np.meshgrid(*[axis] * dim, indexing="ij"), axis=-1).reshape(-1, dim)


def log_cell(dim: int) -> float:
    return dim * float(np.log(2.0 * EDGE / CELLS[dim]))


def log_constant(law: Law, theta: jax.Array) -> jax.Array:
    """log of int exp(log p) by the midpoint rule."""
    values = jax.vmap(lambda x: law.log_density(theta, x))(jnp.asarray(grid(law.dim), theta.dtype))
    return jax.nn.logsumexp(values) + log_cell(law.dim)


def sample(law: Law, n: int, rng: np.random.Generator) -> np.ndarray:
    """A cell by its mass, then a point of it: exact up to the width of a cell."""
    points = grid(law.dim)
    values = np.asarray(_on_grid(law)(jnp.asarray(law.truth), jnp.asarray(points)), np.float64)
    mass = np.exp(values - values.max())
    chosen = rng.choice(len(points), size=n, p=mass / mass.sum())
    width = 2.0 * EDGE / CELLS[law.dim]
    return (points[chosen] + width * (rng.random((n, law.dim)) - 0.5)).astype(np.float32)


def _on_grid(law: Law) -> Callable[[jax.Array, jax.Array], jax.Array]:
    return jax.jit(jax.vmap(law.log_density, (None, 0)))


class Estimate(NamedTuple):
    """The maximum-likelihood estimate and its standard errors."""

    theta: np.ndarray
    errors: np.ndarray


def maximum_likelihood(law: Law, data: np.ndarray, iterations: int = 20) -> Estimate:
    """Newton's method from the truth, steps halved while they would go up."""
    x = jnp.asarray(data)

    def loss(theta: jax.Array) -> jax.Array:
        log_p = jax.vmap(lambda x: law.log_density(theta, x))(x)
        return log_constant(law, theta) - jnp.mean(log_p)

    @jax.jit
    def improve(theta: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        gradient, hessian = jax.grad(loss)(theta), jax.hessian(loss)(theta)
        step = -jnp.linalg.solve(hessian, gradient)
        sizes = 0.5 ** jnp.arange(6)
        best = jnp.argmin(jax.vmap(lambda s: loss(theta + s * step))(sizes))
        errors = jnp.sqrt(jnp.diagonal(jnp.linalg.inv(hessian)) / len(data))
        return theta + sizes[best] * step, errors, jnp.max(jnp.abs(step) / errors)

    theta, errors, moved = jnp.asarray(law.truth), jnp.zeros(len(law.truth)), np.inf
    for _ in range(iterations):
        theta, errors, moved = improve(theta)
        if moved < 1e-3:
            break
    assert moved < 0.01, f"Newton's method did not settle: {moved} standard errors in the last step"
    return Estimate(np.asarray(theta), np.asarray(errors))
