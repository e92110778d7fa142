"""The learning study: one start for every E-step, and a ruler that is checked by enumeration."""

from itertools import product

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import opvi
from opvi.studies.learning import figure, run
from opvi.studies.learning.e_steps import WIDTH, e_steps
from opvi.studies.lfa import law, model

PIXELS = 12


def images(n: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    z = rng.standard_normal((n, 2))
    logits = z @ rng.normal(0.0, 2.0, (2, PIXELS))
    return (rng.random((n, PIXELS)) < 1.0 / (1.0 + np.exp(-logits))).astype(np.uint8)


@pytest.mark.parametrize("e_step", e_steps(), ids=lambda e: e.name)
def test_every_q_starts_at_the_mean_field_it_goes_on_from(e_step) -> None:
    start = opvi.AmortisedMeanField(PIXELS, law.LATENTS, key=jr.key(0), width=WIDTH)
    image = jnp.asarray(images(1)[0])
    q = start(image)
    z = e_step.widen(start, jr.key(1))(image).sample(jr.key(2), 20_000)
    np.testing.assert_allclose(z.mean(axis=0), q.loc, atol=0.05)
    # Covariance too: no correlation yet.
    expected = jnp.diag(jnp.exp(2.0 * q.log_scale))
    np.testing.assert_allclose(jnp.cov(z, rowvar=False), expected, atol=0.06)


def test_the_ruler_sums_to_one_over_all_images() -> None:
    """exp of the bound, over every image of six pixels: the evidence itself, which is a law."""
    rng = np.random.default_rng(1)
    parameters = law.Parameters(
        jnp.asarray(rng.normal(0.0, 1.5, (6, 2)), jnp.float32), jnp.asarray(rng.normal(size=6))
    )
    every = np.array(list(product([0, 1], repeat=6)), np.uint8)
    bounds = run.test_log_likelihoods(parameters, every, jr.key(0), 2000)
    assert np.exp(bounds).sum() == pytest.approx(1.0, abs=0.01)


def test_the_program_improves_the_model_that_it_starts_from() -> None:
    pictures = images(300)
    common = model.learn(pictures, steps=150, key=jr.key(0))
    (program,) = (e_step for e_step in e_steps() if e_step.name == "program_ls")
    learned = run.learn(program, common, pictures, 100, jr.key(0))
    before, after = (
        run.test_log_likelihoods(p, pictures, jr.key(1), 200).mean()
        for p in (common.parameters, learned.parameters)
    )
    assert learned.skipped == 0
    assert after > before + 0.02


def test_the_picture_has_a_line_for_each_e_step() -> None:
    names = [e_step.name for e_step in e_steps()]
    rows = [
        {"method": name, "difference_to_mean_field_kl": 0.1 * k, "paired_difference_se": 0.05}
        for k, name in enumerate(names)
    ]
    histories = {name: np.linspace(-200.0, -150.0, 50) for name in names}
    picture = figure.learning(rows, histories, {e.name: e.label for e in e_steps()})
    assert len(picture.axes[0].lines) == 3
    assert len(picture.axes[1].get_yticklabels()) == 3


def test_rows_are_differences_to_the_first() -> None:
    found, first = np.array([-1.0, -2.0, -3.0]), np.array([-1.5, -2.0, -4.0])
    row = run._numbers(found, first)
    assert row["difference_to_mean_field_kl"] == pytest.approx(0.5)
    assert row["paired_difference_se"] == pytest.approx(0.5 / np.sqrt(3.0))
    assert jax.tree_util.tree_all(jax.tree.map(np.isfinite, dict(row)))
