"""The exact law that the study measures against, and its picture."""

import jax
import numpy as np
import pytest

import opvi
from opvi.studies.mixture import config, figure, law

Z = np.linspace(-12.0, 12.0, 24_001)
STEP = Z[1] - Z[0]


def test_density_distribution_and_log_density_are_of_one_law() -> None:
    density = law.density(Z)
    assert density.sum() * STEP == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_allclose(np.cumsum(density) * STEP, law.distribution(Z), atol=2e-4)
    log_density = jax.vmap(law.log_density)(Z[::1000])
    np.testing.assert_allclose(log_density, np.log(density[::1000]), rtol=1e-4)


def test_moments_of_the_whole_and_of_a_side() -> None:
    density = law.density(Z)
    assert np.sqrt((density * Z**2).sum() * STEP) == pytest.approx(law.SD, abs=1e-6)
    side = np.where(Z > 0, density, 0.0)
    side /= side.sum()
    mean = (side * Z).sum()
    assert mean == pytest.approx(law.MODE_MEAN, abs=1e-4)
    assert np.sqrt((side * (Z - mean) ** 2).sum()) == pytest.approx(law.MODE_SD, abs=1e-3)


def test_w1_of_exact_draws_is_small_and_of_a_shift_is_the_shift() -> None:
    draws = law.sample(np.random.default_rng(0), 50_000)
    assert law.wasserstein(draws) < 0.03
    assert law.wasserstein(law.quantiles(1000) + 0.7) == pytest.approx(0.7, abs=1e-6)
    # All mass on one side: half of the mass is moved by 6.
    assert law.wasserstein(np.abs(draws)) == pytest.approx(3.0, abs=0.05)


def test_the_exact_law_minimises_kl_and_the_methods_fit_together() -> None:
    target = law.target()
    for size in (config.FULL, config.QUICK):
        for method in config.methods(target, size):
            family = method.family(1, key=jax.random.key(0))
            assert isinstance(method.solver.init(family, key=jax.random.key(1)), opvi.State)


@pytest.mark.parametrize("literal", [True, False])
def test_the_picture_has_a_panel_for_each_method(literal: bool) -> None:
    draws = law.sample(np.random.default_rng(0), 1000)
    methods = ["kl_gaussian", "ls_gaussian", "ls_gaussian_functional", "ls_program"]
    methods += ["ls_program_literal"] if literal else []
    rows = [{"method": name, "mean": 0.0, "sd": 1.0, "w1": 0.01} for name in methods]
    picture = figure.mixture(rows, {name: [draws] for name in methods})
    assert len(picture.axes) == 3 + literal
    assert all(axes.get_title(loc="left") for axes in picture.axes)
