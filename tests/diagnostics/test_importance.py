"""Importance weights: the shape of their tail, and what they correct."""

import numpy as np
import pytest
from scipy import stats

from opvi.diagnostics import importance

N = 4000


def weighed(p, q, seed=0):
    z = q.rvs(N, random_state=seed)
    return importance(p.logpdf(z) + 2.5, q.logpdf(z), z[:, None])


@pytest.mark.parametrize("sd", [1.2, 1.5, 2.0])
def test_khat_is_the_shape_of_the_tail(sd):
    """p = N(0, sd^2), q = N(0, 1): w = exp((1 - sd^-2) z^2 / 2) has the tail index 1 - sd^-2."""
    khats = [weighed(stats.norm(0, sd), stats.norm(), seed).khat for seed in range(5)]
    assert abs(np.mean(khats) - (1 - sd**-2)) < 0.15


def test_weights_with_a_bound_have_no_tail():
    assert weighed(stats.norm(), stats.norm(0, 1.5)).khat < 0.2
    same = weighed(stats.norm(), stats.norm())
    assert same.khat == -np.inf
    assert same.ess == pytest.approx(1.0)


def test_the_corrected_moments_and_the_evidence_are_those_of_p():
    found = weighed(stats.norm(0.5, 0.8), stats.norm())
    # In sd of p, the draws minus the posterior.
    assert found.shift[0] == pytest.approx(-0.5 / 0.8, abs=4 * found.shift_error[0])
    assert found.log_sd_ratio[0] == pytest.approx(-np.log(0.8), abs=4 * found.log_sd_ratio_error[0])
    assert found.shift_error[0] < 0.05
    assert found.log_evidence == pytest.approx(2.5, abs=4 * found.log_evidence_error)


def test_draws_outside_of_the_support_have_no_weight():
    z = stats.norm().rvs(N, random_state=1)
    log_p = np.where(z > 0, stats.norm().logpdf(z) + np.log(2), -np.inf)
    found = importance(log_p, stats.norm().logpdf(z), z[:, None])
    assert found.invalid == pytest.approx(0.5, abs=0.05)
    assert found.ess == pytest.approx(0.5, abs=0.05)
    assert found.khat == -np.inf
    mean_p, sd_p = np.sqrt(2 / np.pi), np.sqrt(1 - 2 / np.pi)
    assert np.exp(found.log_weights[z <= 0]).sum() < 1e-6
    assert abs(np.exp(found.log_weights) @ z - mean_p) < 4 * sd_p / np.sqrt(N / 2)
