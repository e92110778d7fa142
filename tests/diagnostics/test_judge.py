"""The verdict: what is wrong is said in words that name the latent, the direction and the size."""

import jax.random as jr
import numpy as np
import pytest

import opvi
from opvi.diagnostics import Evidence, Finding, Flaw, examine, judge
from tests.fixtures import gaussian, skewed

KNOWN = gaussian(3)
TARGET = KNOWN.target()
Z = np.asarray(KNOWN.sample(jr.key(0), 2000), np.float64)


def verdict(z, **kwargs):
    return judge(examine(TARGET, z, jr.key(1), refreshed=False, **kwargs))


def test_exact_draws_are_good_and_nothing_is_said():
    good = verdict(Z)
    assert good.good
    assert good.reasons == ()
    assert good.numbers["size"] < 1


@pytest.mark.parametrize(("factor", "word"), [(0.7, "underestimated"), (1.4, "overestimated")])
def test_a_wrong_sd_leaves_the_means(factor, word):
    z = Z.mean(0) + factor * (Z - Z.mean(0))
    found = verdict(z)
    assert found.status == "means_only"
    assert any(word in reason and "sd of z[" in reason for reason in found.reasons)


@pytest.mark.parametrize(("shift", "word"), [(0.5, "high"), (-0.5, "low")])
def test_a_wrong_mean_is_unreliable(shift, word):
    z = Z + shift * Z.std(0) * np.array([0.0, 0.0, 1.0])
    found = verdict(z)
    assert found.status == "unreliable"
    assert any(f"the mean of z[2] is too {word}" in reason for reason in found.reasons)


def test_skewness_that_a_gaussian_has_lost_is_seen():
    known = skewed(2)
    exact = np.asarray(known.sample(jr.key(0), 4000), np.float64)
    z = (
        exact.mean(0)
        + np.random.default_rng(0).standard_normal((2000, 2))
        @ np.linalg.cholesky(np.cov(exact.T)).T
    )
    found = judge(examine(known.target(), z, jr.key(1), refreshed=False))
    assert not found.good


def test_converged_and_good_are_two_answers():
    for converged in (True, False, None):
        found = verdict(Z, converged=converged)
        assert found.good
        assert found.converged is converged
        assert ("converged" in repr(found)) == (converged is not None)


def test_a_run_that_diverged_is_no_posterior():
    found = verdict(Z, result=opvi.Result.diverged)
    assert found.status == "unreliable"
    assert found.reasons[0] == "the run diverged"


def test_findings_come_first_and_few_draws_are_not_trusted():
    flaw = Finding(Flaw.flat, ("a",), "a is not identified", fatal=True)
    assert judge(Evidence(findings=(flaw,))).reasons == ("a is not identified",)
    assert not verdict(Z[:150]).good
    assert "only 150 draws" in verdict(Z[:150]).reasons[0]


def test_the_verdict_survives_a_file():
    found = verdict(1.3 * Z)
    again = opvi.Verdict.from_dict(found.as_dict())
    assert again.as_dict() == found.as_dict()
    assert repr(again) == repr(found)
