"""What is measured of draws, image by image.

The completed data log-likelihood of the paper is not defined there in full. Of an image with seen
pixels x_s and hidden pixels x_h, and q fitted to p(z | x_s), it is here

    log E_q[p(x_h | z)]                         (the column `completed_log_likelihood`)

the log probability that the fitted posterior predictive gives to what was hidden: under the exact
posterior it is log p(x_h | x_s), which no q can beat on average over the model's own images. Beside it
stand the average of logs, E_q[log p(x_h | z)], and both readings for the whole image
x = (x_s, x_h). Those of the whole image are no predictive scores: x_s is seen a second time.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from opvi.studies.lfa.law import Pixels, log_likelihood


class Readings(NamedTuple):
    """One number an image; a mean over images is a row's number."""

    hidden_log_mean: np.ndarray
    hidden_mean_log: np.ndarray
    whole_log_mean: np.ndarray
    whole_mean_log: np.ndarray


def readings(seen: Pixels, hidden: Pixels, z: np.ndarray) -> Readings:
    """Of draws z (images, draws, latents)."""
    return Readings(*(np.asarray(x, np.float64) for x in _readings(seen, hidden, jnp.asarray(z))))


@jax.jit
def _readings(seen: Pixels, hidden: Pixels, z: jax.Array) -> tuple[jax.Array, ...]:
    def of_one(inputs):
        seen, hidden, z = inputs
        of_seen = jax.vmap(lambda z: log_likelihood(seen, z))(z)
        of_hidden = jax.vmap(lambda z: log_likelihood(hidden, z))(z)
        whole = of_seen + of_hidden
        log_mean = lambda x: jax.nn.logsumexp(x) - jnp.log(x.shape[0])
        return log_mean(of_hidden), jnp.mean(of_hidden), log_mean(whole), jnp.mean(whole)

    return jax.lax.map(of_one, (seen, hidden, z))


class Errors(NamedTuple):
    """Against draws of the truth, in units of its sd: one number an image, mean over latents."""

    mean_err: np.ndarray  # |mean - mean of truth| / sd of truth
    logsd_err: np.ndarray  # |log(sd / sd of truth)|
    logsd_bias: np.ndarray  # log(sd / sd of truth): below zero where q is too narrow
    w1: np.ndarray  # Wasserstein distance of each marginal / sd of truth


def errors(z: np.ndarray, truth: np.ndarray) -> Errors:
    """Of as many draws as there are of the truth: (images, draws, latents) both."""
    assert z.shape == truth.shape, (z.shape, truth.shape)
    sd = truth.std(axis=1)
    ratio = np.log(np.maximum(z.std(axis=1), 1e-12) / sd)
    gaps = np.abs(np.sort(z, axis=1) - np.sort(truth, axis=1)).mean(axis=1)
    return Errors(
        (np.abs(z.mean(axis=1) - truth.mean(axis=1)) / sd).mean(axis=1),
        np.abs(ratio).mean(axis=1),
        ratio.mean(axis=1),
        (gaps / sd).mean(axis=1),
    )


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """Mean over images and its standard error (NaN for one image)."""
    error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return float(values.mean()), float(error)
