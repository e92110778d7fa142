"""Logistic factor analysis, and what is known of its posterior without any fit.

    z ~ Normal(0, I_K),   x_k | z ~ Bernoulli(sigmoid(w_k' z + b_k))           (paper, section 4.2)

A row of the study's data is what was seen of one image: the pixels, and the rows of W and b that
belong to them. The log posterior is concave in z, so it has one mode and Newton finds it.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import opvi

LATENTS = 10


class Parameters(NamedTuple):
    """W and b, one row and one entry a pixel."""

    weights: Float[Array | np.ndarray, "*n pixels latents"]
    biases: Float[Array | np.ndarray, "*n pixels"]


class Pixels(NamedTuple):
    """Some pixels of an image, and the parameters of these pixels."""

    values: Float[Array | np.ndarray, "*n pixels"]
    parameters: Parameters


class Row(NamedTuple):
    """One fit of the study: what is seen, and the coordinates z = loc + scale y it is fitted in."""

    seen: Pixels
    loc: Float[Array | np.ndarray, "*n latents"]
    scale: Float[Array | np.ndarray, "*n latents latents"]


@jax.custom_jvp
def _softplus(x: jax.Array) -> jax.Array:
    return jnp.logaddexp(x, 0.0)


@_softplus.defjvp
def _(primals, tangents):  # pyright: ignore[reportUnusedFunction]
    # The derivative is known: one sigmoid a pixel instead of an exponential and a logarithm each way.
    ((x,), (dx,)) = primals, tangents
    return _softplus(x), jax.nn.sigmoid(x) * dx


def log_likelihood(pixels: Pixels, z: jax.Array) -> jax.Array:
    """log p(these pixels | z)."""
    logits = pixels.parameters.weights @ z + pixels.parameters.biases
    return jnp.sum(pixels.values * logits - _softplus(logits))


def log_joint(pixels: Pixels, z: jax.Array) -> jax.Array:
    """log p(these pixels, z), normalised: the other pixels are summed out."""
    prior = -0.5 * jnp.sum(z**2) - 0.5 * z.shape[0] * math.log(2.0 * math.pi)
    return log_likelihood(pixels, z) + prior


def posterior(pixels: Pixels) -> opvi.AbstractTarget:
    latents = pixels.parameters.weights.shape[-1]
    return opvi.from_log_density(lambda z: log_joint(pixels, z), jnp.zeros(latents))


def target(row: Row) -> opvi.AbstractTarget:
    """The posterior of one image in the coordinates of its row."""
    return opvi.WhitenedTarget(posterior(row.seen), jnp.asarray(row.loc), jnp.asarray(row.scale))


NEWTON = 12  # iterations; each a gradient and a Hessian


def laplace(pixels: Pixels) -> tuple[jax.Array, jax.Array]:
    """The mode, and the precision there: Newton's method with halved steps where a step goes down."""
    weights, biases = pixels.parameters
    latents = weights.shape[-1]

    def precision(z: jax.Array) -> jax.Array:
        p = jax.nn.sigmoid(weights @ z + biases)
        return jnp.eye(latents) + (weights * (p * (1.0 - p))[:, None]).T @ weights

    def iterate(_, z: jax.Array) -> jax.Array:
        step = jnp.linalg.solve(precision(z), jax.grad(log_joint, 1)(pixels, z))
        sizes = 0.5 ** jnp.arange(5)
        values = jax.vmap(lambda s: log_joint(pixels, z + s * step))(sizes)
        return z + sizes[jnp.argmax(values)] * step

    mode = jax.lax.fori_loop(0, NEWTON, iterate, jnp.zeros(latents))
    return mode, precision(mode)


NEWTON_EVALUATIONS = NEWTON * (1 + LATENTS + 5)  # a Hessian counts as a gradient a latent


def rows(seen: Pixels, coordinates: str) -> Row:
    """Rows for `fit_many`, in one of three coordinates.

    - `plain`: z itself.
    - `diagonal`: the mode, and the conditional sd of each latent; a mean field stays a mean field.
    - `full`: the mode and a Cholesky factor of the Laplace covariance.
    """
    count, latents = len(seen.values), seen.parameters.weights.shape[-1]
    eye = np.broadcast_to(np.eye(latents, dtype=np.float32), (count, latents, latents))
    if coordinates == "plain":
        return Row(seen, np.zeros((count, latents), np.float32), eye)
    modes, precisions = _laplace_of_all(seen)
    if coordinates == "diagonal":
        sds = np.diagonal(precisions, axis1=1, axis2=2) ** -0.5
        return Row(seen, modes, eye * sds[:, None, :])
    assert coordinates == "full", coordinates
    return Row(seen, modes, np.linalg.cholesky(np.linalg.inv(precisions)).astype(np.float32))


def _laplace_of_all(seen: Pixels) -> tuple[np.ndarray, np.ndarray]:
    modes, precisions = jax.jit(lambda seen: jax.lax.map(laplace, seen, batch_size=64))(seen)
    return np.asarray(modes), np.asarray(precisions)


def hide_half(
    images: np.ndarray, parameters: Parameters, rng: np.random.Generator
) -> tuple[Pixels, Pixels, np.ndarray]:
    """(seen, hidden, order): half of the pixels of each image at random; which pixels in `order`,
    the seen ones first."""
    pixels = images.shape[1]
    order = np.argsort(rng.random(images.shape), axis=1)

    def part(index: np.ndarray) -> Pixels:
        values = np.take_along_axis(images, index, axis=1).astype(np.float32)
        weights, biases = np.asarray(parameters.weights), np.asarray(parameters.biases)
        return Pixels(values, Parameters(weights[index], biases[index]))

    return part(order[:, : pixels // 2]), part(order[:, pixels // 2 :]), order
