"""What is no posterior is found, named and explained; what is one, however strange, is let alone."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import numpyro.distributions as dist
import pytest

import opvi
from opvi.diagnostics import Flaw, improper, sections
from opvi.posterior.evaluate import Evaluator
from tests.fixtures import KNOWN

LIKE = {"a": 0.0, "b": jnp.zeros(2)}


def _b(latents):
    return -0.5 * jnp.sum(latents["b"] ** 2)


def _safe(x, otherwise):
    return jnp.where(x > 0, 0.0, otherwise * jnp.sqrt(jnp.minimum(x, 0.0)))


FLAWED = {
    "absent": (lambda t: -0.5 * t["a"] ** 2 - t["b"][0] ** 2, Flaw.absent, ("b[1]",)),
    "only the sum is identified": (
        lambda t: -0.5 * (t["a"] + t["b"][0] - 1) ** 2 - 0.5 * t["b"][1] ** 2,
        Flaw.flat,
        ("a", "b[0]"),
    ),
    "separable data without a prior": (
        lambda t: -jax.nn.softplus(-t["a"]) + _b(t),
        Flaw.improper,
        ("a",),
    ),
    "scale of effects under a prior 1 / scale": (
        lambda t: _b(t) - 0.5 * jnp.sum((1.0 - jnp.exp(t["a"]) * t["b"]) ** 2),
        Flaw.improper,
        ("a",),
    ),
    "infinite below 0": (
        lambda t: jnp.where(t["a"] > 0, -t["a"], -jnp.inf) + _b(t),
        Flaw.partly_infinite,
        ("a",),
    ),
    "NaN below 0": (lambda t: jnp.log(t["a"]) - t["a"] + _b(t), Flaw.partly_infinite, ("a",)),
    "no gradient anywhere": (
        lambda t: -(t["a"] ** 2) + _b(t) + _safe(t["a"], 0.0),
        Flaw.no_gradient,
        "a",
    ),
    "nowhere finite": (lambda t: jnp.log(-1 - t["a"] ** 2) + _b(t), Flaw.nowhere_finite, None),
}


@pytest.mark.parametrize("name", FLAWED)
def test_each_flaw_is_named(name):
    log_density, flaw, columns = FLAWED[name]
    found = improper(opvi.from_log_density(log_density, LIKE), jr.key(0))
    assert [f.flaw for f in found] == [flaw]
    assert found[0].columns == (tuple(columns) if columns else ("a", "b[0]", "b[1]"))
    assert all(column in found[0].message for column in found[0].columns if columns)
    assert found[0].fatal == (flaw is not Flaw.partly_infinite)


def _cauchy(z):
    return -jnp.sum(jnp.log1p(z**2))


def _funnel(z):
    return -0.5 * (z[0] / 3) ** 2 - 0.5 * jnp.sum(z[1:] ** 2) * jnp.exp(-z[0]) - 2 * z[0]


def _centred(z):
    """Effects around 0 with their own scale exp(z_0): on one point of each line it has no end."""
    tau, effects, data = jnp.exp(z[0]), z[1:], jnp.array([3.0, -1.0, 0.5, 2.0])
    prior = dist.HalfCauchy(5.0).log_prob(tau) + z[0]
    return prior + jnp.sum(dist.Normal(0.0, tau).log_prob(effects)) - jnp.sum((data - effects) ** 2)


def _scales(z):
    scale = jnp.array([1e-6, 1.0, 1e6])
    return -0.5 * jnp.sum((z / scale - 3) ** 2) - 1e3 * (z[0] / scale[0] - z[1]) ** 2


STRANGE = {"cauchy": _cauchy, "funnel": _funnel, "centred": _centred, "scales": _scales}
PROPER = {name: (fn, 5 if name in ("funnel", "centred") else 3) for name, fn in STRANGE.items()} | {
    name: (make().log_density, make().dim) for name, make in KNOWN.items()
}


@pytest.mark.parametrize("name", PROPER)
def test_a_posterior_is_not_accused(name):
    log_density, dim = PROPER[name]
    assert improper(opvi.from_log_density(log_density, jnp.zeros(dim)), jr.key(0)) == ()


def test_the_share_beyond_is_the_mass_out_there():
    """Two normals 20 sd apart with shares .9 and .1: on a line through both a tenth lies beyond."""

    def log_density(z):
        one, two = -0.5 * z[0] ** 2, -0.5 * ((z[0] - 15.0) / 2) ** 2 - jnp.log(2.0)
        return jnp.logaddexp(jnp.log(0.9) + one, jnp.log(0.1) + two) - 0.5 * z[1] ** 2

    evaluate = Evaluator(opvi.from_log_density(log_density, jnp.zeros(2)))
    found = sections(evaluate, np.zeros((1, 2)), np.eye(2))
    assert 0.03 < found.outside[0] < 0.3  # a rule of nine points
    assert found.outside[1] < 1e-6
    assert not found.endless.any()
    assert found.gradient_evaluations == evaluate.evaluations
