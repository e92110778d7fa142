"""W and b by variational EM with KL (paper, section 4.2), with one encoder for all images."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

import opvi
from opvi.studies.lfa.law import LATENTS, Parameters, Pixels, posterior


def start(images: np.ndarray, key: jax.Array, latents: int = LATENTS) -> Parameters:
    """Small random W; b so that at z = 0 each pixel is as often on as in the data."""
    often = np.clip(images.mean(axis=0), 0.01, 0.99)
    weights = 0.1 * jr.normal(key, (images.shape[1], latents))
    return Parameters(weights, jnp.asarray(np.log(often / (1.0 - often)), weights.dtype))


def model(parameters: Parameters, image: jax.Array) -> opvi.AbstractTarget:
    return posterior(Pixels(image.astype(jnp.float32), parameters))


def learn(images: np.ndarray, *, steps: int, key: jax.Array) -> opvi.Learned:
    """Mean-field Gaussians by one network of 64 units, the path gradient of KL, Adam at 3e-3."""
    start_key, encoder_key, learn_key = jr.split(key, 3)
    return opvi.learn(
        model,
        images,
        start(images, start_key),
        opvi.AmortisedMeanField(images.shape[1], LATENTS, key=encoder_key, width=64),
        opvi.Objective(opvi.KL()),
        key=learn_key,
        steps=steps,
        batch_size=200,
        learning_rate=3e-3,
    )
