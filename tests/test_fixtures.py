"""The helpers of the tests keep their own promises."""

import math

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import special

from tests.fixtures import KNOWN, gaussian, gaussian_tril, skewed, sliced_w1
from tests.goodness import integral, p_value

pytestmark = pytest.mark.float64

# A box that holds all but a millionth of the mass, and the midpoints a side that integrate it.
BOX = {1: (-16.0, 10.0, 4000), 2: (-14.0, 14.0, 300)}
FLAT = [name for name, make in KNOWN.items() if make().dim < 3]


@pytest.mark.parametrize("name", FLAT)
def test_densities_are_normalised(name: str) -> None:
    known = KNOWN[name]()
    assert integral(known.log_density, *BOX[known.dim][:2], known.dim, BOX[known.dim][2]) == (
        pytest.approx(1.0, abs=2e-6)
    )


@pytest.mark.parametrize("name", FLAT)
def test_draws_have_the_density(name: str) -> None:
    known = KNOWN[name]()
    draws = known.sample(jr.key(0), 50_000)
    low, high = (-6.0, 6.0)
    assert p_value(draws, known.log_density, low, high, 40 if known.dim == 1 else 24) > 1e-6


@pytest.mark.parametrize("name", FLAT)
def test_draws_of_another_density_are_noticed(name: str) -> None:
    known = KNOWN[name]()
    draws = known.sample(jr.key(0), 50_000) + 0.05
    cells = 40 if known.dim == 1 else 24
    assert p_value(draws, known.log_density, -6.0, 6.0, cells) < 1e-6


def test_entropies_in_three_dimensions() -> None:
    """E_p[log p] from draws against the closed forms, 100,000 draws."""
    log_gamma = sum(
        a + special.gammaln(a) - a * special.digamma(a) for a in (2.0, 3.0, 4.0)
    )  # the map from u to z has unit Jacobian
    log_det = math.log(float(jnp.prod(jnp.diagonal(gaussian_tril(3)))))
    normal = 1.5 * math.log(2 * math.pi * math.e) + log_det
    for known, entropy in ((skewed(3), log_gamma), (gaussian(3), normal)):
        values = jax.vmap(known.log_density)(known.sample(jr.key(0), 100_000))
        error = float(jnp.mean(values)) + entropy
        assert abs(error) < 5 * float(jnp.std(values)) / math.sqrt(100_000)


@pytest.mark.parametrize("name", KNOWN)
def test_targets_are_not_mirror_images_of_themselves(name: str) -> None:
    """All but the four shapes differ from their reflection in the origin: they can catch a sign."""
    known = KNOWN[name]()
    z = known.sample(jr.key(0), 50)
    gap = jax.vmap(lambda z: known.log_density(z) - known.log_density(-z))(z)
    symmetric = name in {"two_modes", "x_shape", "ring"}
    assert bool(jnp.max(jnp.abs(gap)) < 1e-9) == symmetric


def test_sliced_w1_of_a_shift() -> None:
    """W1(x, x + c) projected on d is |d'c|: its mean over the circle is 2 |c| / pi."""
    x = np.random.default_rng(0).normal(size=(1000, 2))
    assert sliced_w1(x, x) == 0.0
    measured = sliced_w1(x, x + np.array([3.0, 4.0]), projections=4000)
    assert measured == pytest.approx(10 / math.pi, rel=0.02)
    assert sliced_w1(x[:, :1], x[:, :1] + 2.0) == pytest.approx(2.0)
    assert sliced_w1(x, np.random.default_rng(1).permutation(x)) == pytest.approx(0.0, abs=1e-12)


def test_sliced_w1_refuses_samples_of_different_size() -> None:
    with pytest.raises(ValueError, match="one shape"):
        sliced_w1(np.zeros((3, 2)), np.zeros((4, 2)))
