"""What `fit` says of densities that are no posterior: an error or a verdict, with the latent's name."""

import warnings

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import opvi

LIKE = {"a": 0.0, "b": jnp.zeros(2)}


def told(log_density) -> str:
    """The error, or the reasons of a verdict that is not good."""
    target = opvi.from_log_density(log_density, LIKE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", opvi.PoorFitWarning)
        try:
            posterior = opvi.fit(target, key=jr.key(0))
        except opvi.InvalidTargetError as error:
            return str(error)
    assert posterior.verdict.status == "unreliable"
    return "\n".join(posterior.verdict.reasons)


def _b(latents):
    return -0.5 * jnp.sum(latents["b"] ** 2)


BAD = {
    "a latent that does not appear": (
        lambda t: -0.5 * t["a"] ** 2 - t["b"][0] ** 2,
        ["b[1]", "not appear"],
    ),
    "only a sum is identified": (
        lambda t: -0.5 * (t["a"] + t["b"][0] - 1) ** 2 - 0.5 * t["b"][1] ** 2,
        ["a and b[0]", "identified together"],
    ),
    "a direction without an end": (
        lambda t: _b(t) - 0.5 * jnp.sum((1.0 - jnp.exp(t["a"]) * t["b"]) ** 2),
        ["a", "prior"],
    ),
    "no gradient at any start": (
        lambda t: (
            -(t["a"] ** 2) + _b(t) + jnp.where(t["a"] > 99, t["a"], 0 * jnp.sqrt(t["a"] - 99))
        ),
        ["NaN"],
    ),
    "an edge": (
        lambda t: jnp.where(t["a"] > 0, -t["a"], -jnp.inf) + _b(t),
        ["infinite or NaN", "depending on a", "supports="],
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_detected_named_and_explained(name):
    log_density, words = BAD[name]
    said = told(log_density)
    for word in words:
        assert word in said


def test_starts_without_a_gradient_are_left_out_and_counted():
    """NaN on the far side of a = -1, where some of the starts are."""

    def log_density(t):
        return 3 * jnp.log(t["a"] + 1.0) - t["a"] + _b(t)

    posterior = opvi.fit(opvi.from_log_density(log_density, LIKE), key=jr.key(0))
    assert posterior.verdict.good
    assert "without a finite gradient" in posterior.stages[1].found
    a = np.asarray(posterior.sample(jr.key(1), 4000)["a"])
    assert abs(a.mean() - 3.0) < 4 * 2 / np.sqrt(4000)  # a + 1 ~ Gamma(4)
