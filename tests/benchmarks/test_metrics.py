"""The numbers of the benchmark tables, against SciPy and against cases with known answers."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from benchmarks import metrics
from benchmarks.posteriors import Posterior


@pytest.mark.parametrize("sizes", [(50, 50), (40, 100), (33, 70), (70, 33), (1, 9)])
def test_wasserstein_is_scipys_for_any_sizes_and_ties(sizes):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(sizes[0], 3)), rng.gamma(2.0, size=(sizes[1], 3))
    x[:, 2], y[:, 2] = np.round(x[:, 2]), np.round(y[:, 2])
    expected = [wasserstein_distance(x[:, j], y[:, j]) for j in range(3)]
    np.testing.assert_allclose(metrics.wasserstein_1d(x, y), expected, rtol=1e-12)


def test_shift_and_scale_are_read_off_in_units_of_the_reference():
    reference = np.random.default_rng(1).normal(size=(1000, 2)) * [1e-6, 1e6]
    shifted = reference + [0.0, 3e5]
    sd = reference.std(axis=0, ddof=1)
    np.testing.assert_allclose(metrics.mean_err(shifted, reference), 3e5 / sd[1])
    np.testing.assert_allclose(metrics.w1(shifted, reference), 3e5 / sd[1] / 2)
    np.testing.assert_allclose(metrics.logsd_err(shifted, reference), 0, atol=1e-12)
    np.testing.assert_allclose(metrics.logsd_err(reference * [1.0, 0.5], reference), np.log(2))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_draws_that_are_not_finite_are_infinitely_far(bad):
    reference = np.random.default_rng(2).normal(size=(1000, 2))
    draws = reference[:100].copy()
    draws[3, 1] = bad
    for metric in (metrics.mean_err, metrics.logsd_err, metrics.w1):
        assert metric(draws, reference) == np.inf
    assert metrics.logsd_err(np.zeros((100, 2)), reference) == np.inf


def test_floor_is_what_independent_draws_score():
    rng = np.random.default_rng(3)
    reference = rng.normal(size=(5000, 4))
    floor = metrics.w1_floor(reference, chains=10, draws=2000)
    fresh = [metrics.w1(rng.normal(size=(2000, 4)), rng.normal(size=(3000, 4))) for _ in range(20)]
    np.testing.assert_allclose(floor, np.mean(fresh), rtol=0.15)


def test_floor_sets_whole_chains_against_other_chains():
    rng = np.random.default_rng(5)
    reference = np.round(rng.normal(size=(1000, 2)), 1) + np.repeat(np.arange(10), 100)[:, None]
    splits = metrics.w1_floor_splits(reference, chains=10, draws=400)
    sd = reference.std(axis=0, ddof=1)
    first = metrics.wasserstein_1d(reference[:400], reference[400:]) / sd
    last = metrics.wasserstein_1d(reference[600:], reference[:600]) / sd
    assert len(splits) == 210
    np.testing.assert_allclose(splits[[0, -1]], [first.mean(), last.mean()])
    # Chains that disagree must raise the floor; rows dealt out over both sides would hide it.
    mixed = metrics.w1_floor(rng.permutation(reference), chains=10, draws=400)
    assert metrics.w1_floor(reference, chains=10, draws=400) > 3 * mixed


@pytest.mark.parametrize(("rows", "draws"), [(1001, 400), (1000, 450), (1000, 1000), (1000, 0)])
def test_floor_refuses_parts_of_chains(rows, draws):
    with pytest.raises(ValueError, match="whole chains"):
        metrics.w1_floor(np.zeros((rows, 1)), chains=10, draws=draws)


def test_evaluate_compares_heavy_tails_by_their_logarithms():
    rng = np.random.default_rng(4)
    reference = np.exp(3 * rng.normal(size=(1000, 1)))
    posterior = Posterior(
        name="heavy",
        model=lambda: None,
        args=(),
        kwargs={},
        reference=reference,
        names=("K",),
        chains=10,
        derived=lambda sites: {},
        transform={"K": np.log},
    )
    draws = np.exp(3 * rng.normal(size=(400, 1)))
    logs, log_reference = np.log(draws), np.log(reference)
    result = metrics.evaluate(posterior, draws, floor_draws=400)
    assert result == {
        "mean_err": metrics.mean_err(logs, log_reference),
        "logsd_err": metrics.logsd_err(logs, log_reference),
        "w1": metrics.w1(logs, log_reference),
        "w1_floor": metrics.w1_floor(log_reference, 10, 400),
    }
    raw = metrics.evaluate(dataclasses.replace(posterior, transform={}), draws, floor_draws=400)
    assert raw["mean_err"] != result["mean_err"]
    underflowed = metrics.evaluate(posterior, draws * 0, floor_draws=400)
    assert underflowed["mean_err"] == np.inf
