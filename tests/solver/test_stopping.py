"""The stopping rule on iterates whose law is known: it stops soon after it may, and not before."""

import numpy as np
import pytest
from scipy.signal import lfilter

from opvi.solver import StoppingRule

LENGTH, EVERY = 3000, 50
RULE = StoppingRule()


def iterates(rho, mean, seed, k=5):
    """`k` autocorrelated parameters of sd 1 around 0; the first is on its way there."""
    rng = np.random.default_rng(seed)
    noise = np.sqrt(1 - rho**2) * rng.standard_normal((LENGTH, k))
    noise[0] = rng.standard_normal(k)
    x = lfilter([1.0], [1.0, -rho], noise, axis=0)
    x[:, 0] += mean
    return x


def stop(x):
    """(length at the stop, start of the window), or None."""
    for n in range(2 * EVERY, len(x) + 1, EVERY):
        found = RULE(x[:n])
        if found.stop:
            return n, found.start
    return None


T = np.arange(LENGTH, dtype=float)
EASY = {"independent": (0.0, 0 * T), "transient": (0.5, 8 * np.exp(-T / 20))}
SLOW = {
    "long transient": (0.5, 8 * np.exp(-T / 400)),
    "steady drift": (0.5, 4e-3 * (LENGTH - T)),
}


@pytest.mark.parametrize("name", EASY)
def test_easy_runs_are_stopped_soon_with_a_mean_that_is_known(name):
    rho, mean = EASY[name]
    for seed in range(4):
        n, start = stop(iterates(rho, mean, seed))
        assert n <= 1200
        average = iterates(rho, mean, seed)[start:n].mean(0)
        assert np.abs(average).max() < 4 / np.sqrt(RULE.ess)


@pytest.mark.parametrize("name", SLOW)
def test_a_mean_on_its_way_is_not_taken_for_the_end(name):
    rho, mean = SLOW[name]
    for seed in range(4):
        found = stop(iterates(rho, mean, seed))
        assert found is None or abs(mean[found[1] : found[0]].mean()) < 0.5


def test_noise_that_forgets_slowly_is_averaged_for_longer():
    """The effective sample size of the window counts, not its length."""
    quick, slow = (stop(iterates(rho, 0 * T, seed=1)) for rho in (0.3, 0.9))
    assert slow is None or slow[0] > 3 * quick[0]


def test_parameters_that_do_not_move_and_iterates_that_are_not_finite():
    assert not RULE(np.ones((100, 3))).stop
    assert not RULE(np.full((100, 3), np.nan)).stop
    assert not RULE(np.random.default_rng(0).standard_normal((20, 2))).stop
