"""Three ways to E_q[div f]: exact, Hutchinson and divergence-free have one expectation, for every q."""

import equinox as eqx
import jax
import jax.random as jr
import numpy as np
import pytest

import opvi
from opvi import DivergenceFree, Exact, Hutchinson
from tests.laws.catalogue import (
    FAMILIES,
    TEST_FUNCTIONS,
    admits,
    known,
    make_family,
    make_test_function,
    parameters,
)

DRAWS = 100_000
FREE = "LangevinStein_DivergenceFree"
F = [name for name in TEST_FUNCTIONS if admits(FREE, name)]
FAMILIES_OF_FREE = [name for name in FAMILIES if admits(FREE, F[0], name)]
# Each family with the next of the test functions.
PAIRS = [(F[i % len(F)], family) for i, family in enumerate(FAMILIES_OF_FREE)]


@pytest.mark.parametrize(("test_functions", "family"), parameters(PAIRS))
def test_three_forms_of_the_divergence_agree(test_functions: str, family: str) -> None:
    q = make_family(family)
    target, f = known(q.dim).target(), make_test_function(test_functions, q.dim)

    @eqx.filter_jit
    def forms(q, f, eps, keys):
        def one(eps, key):
            z = q.transform(eps)
            draw = opvi.Draw(z=z, eps=eps, seen=target.score(z), key=key)
            return [
                form(f, draw, target=target, family=q)
                for form in (Exact(), Hutchinson(), DivergenceFree())
            ]

        return jax.vmap(one)(eps, keys)

    draws = forms(q, f, q.noise(jr.key(0), DRAWS), jr.split(jr.key(1), DRAWS))
    exact, hutchinson, free = (np.asarray(h, np.float64) for h in draws)
    for other in (hutchinson, free):
        gap = other - exact
        assert abs(gap.mean()) < 4.0 * gap.std() / DRAWS**0.5 + 1e-6
    assert abs(exact.mean()) > 8.0 * (free - exact).std() / DRAWS**0.5  # of zeros all is true
