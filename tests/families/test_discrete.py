"""Families of states against their own enumeration, and mixed families against a change of variables."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import opvi
from opvi._core.states import all_states
from tests.laws.catalogue import randomised

DRAWS = 20_000
FAMILIES = {
    "BernoulliMeanField": lambda key: opvi.BernoulliMeanField(3),
    "CategoricalMeanField": lambda key: opvi.CategoricalMeanField((3, 2, 4)),
    "Autoregressive": lambda key: opvi.Autoregressive((3, 2, 4), key=key, width=6, depth=2),
    "LogisticAutoregressive": lambda key: opvi.LogisticAutoregressive((3, 2, 4), key=key),
}


@dataclass(frozen=True)
class Everything:
    """What a family says at every state, on the grid of the states, and draws of it."""

    family: opvi.AbstractDiscreteFamily
    states: np.ndarray
    log_q: np.ndarray
    tables: np.ndarray
    conditionals: np.ndarray
    draws: np.ndarray


@pytest.fixture(scope="module", params=FAMILIES)
def known(request: pytest.FixtureRequest) -> Everything:
    family = randomised(FAMILIES[request.param](jr.key(0)), jr.key(1), 0.7)
    states = all_states(family.cardinalities)

    @eqx.filter_jit
    def evaluate(family):
        at = (family.log_prob, family.log_table, family.log_full_conditionals)
        return *(jax.vmap(fn)(states) for fn in at), family.sample(jr.key(2), DRAWS)

    out = [np.asarray(x, np.float64) for x in evaluate(family)]
    return Everything(family, np.asarray(states, int), *out)


def test_masses_sum_to_one(known: Everything) -> None:
    np.testing.assert_allclose(np.exp(known.log_q).sum(), 1.0, rtol=1e-5)
    assert np.ptp(known.log_q) > 0.5  # not the uniform one


def test_draws_have_the_masses(known: Everything) -> None:
    places = np.ravel_multi_index(tuple(known.draws.astype(int).T), known.family.cardinalities)
    q, counts = np.exp(known.log_q), np.bincount(places, minlength=len(known.log_q))
    z = (counts - DRAWS * q) / np.sqrt(DRAWS * q * (1 - q))
    assert np.max(np.abs(z)) < 4.5


def test_the_chain_rule_looks_back_only(known: Everything) -> None:
    """log_table[i] is a law of z_i, and no later coordinate moves it; descendants say what does."""
    i = np.arange(known.family.dim)
    chosen = np.take_along_axis(known.tables, known.states[:, :, None], axis=2)[:, :, 0]
    np.testing.assert_allclose(chosen.sum(axis=1), known.log_q, rtol=1e-5)
    np.testing.assert_allclose(np.exp(known.tables).sum(axis=2), 1.0, rtol=1e-5)
    masses = np.exp(known.tables).reshape(*known.family.cardinalities, known.family.dim, -1)
    moves = np.stack(
        [np.ptp(masses, axis=j).max(axis=(0, 1, 3)) for j in i]
    )  # [i, j]: z_i, table j
    below = ~np.asarray(known.family.descendants) | np.eye(len(i), dtype=bool)
    np.testing.assert_allclose(moves[below], 0.0, atol=1e-6)
    assert np.all(moves[~below] > 1e-3)


def test_full_conditionals_are_those_of_the_joint(known: Everything) -> None:
    joint = np.exp(known.log_q).reshape(known.family.cardinalities)
    for i, c in enumerate(known.family.cardinalities):
        expected = np.moveaxis(joint / joint.sum(axis=i, keepdims=True), i, -1)
        expected = np.repeat(np.expand_dims(expected, i), c, axis=i).reshape(-1, c)
        np.testing.assert_allclose(np.exp(known.conditionals[:, i, :c]), expected, rtol=1e-4)
        np.testing.assert_array_equal(known.conditionals[:, i, c:], -np.inf)


@pytest.mark.parametrize("name", ["CategoricalMeanField", "Autoregressive"])
def test_a_start_is_uniform(name: str) -> None:
    q = FAMILIES[name](jr.key(3))
    log_q = eqx.filter_jit(lambda q: q.log_prob(jnp.zeros(3)))(q)
    np.testing.assert_allclose(log_q, -np.log(24), rtol=1e-5)


# --- real numbers and states

MIXED = {
    "MixedFamily": lambda key: opvi.MixedFamily(
        opvi.FullRank(2), opvi.Autoregressive((3, 2), key=key, width=4)
    ),
    "ConditionalMixedFamily": lambda key: opvi.ConditionalMixedFamily(2, (3, 2), key=key, width=4),
}


@pytest.mark.float64
@pytest.mark.parametrize("name", MIXED)
def test_mixed_density_is_that_of_its_draws(name: str) -> None:
    """log q(R(eps, k), k) = log N(eps) - log |det dR/deps| + log q(k); the states come out as they are.

    In the conditional family, and only there, the real numbers move with the states.
    """
    q = randomised(MIXED[name](jr.key(0)), jr.key(1))

    @eqx.filter_jit
    def both(eps):
        normal, k = eps
        z = q.transform(eps)
        jacobian = jax.jacfwd(lambda e: q.transform((e, k))[:2])(normal)
        log_normal = jnp.sum(jax.scipy.stats.norm.logpdf(normal))
        expected = log_normal - jnp.linalg.slogdet(jacobian)[1] + q.discrete.log_prob(k)
        moved = q.transform((normal, 1.0 - k / 2)) - z
        return z, q.log_prob(z), expected, moved[:2]

    eps = q.noise(jr.key(2), 30)
    z, log_q, expected, moved = (np.asarray(x) for x in jax.vmap(both)(eps))
    np.testing.assert_array_equal(z[:, 2:], eps[1])
    np.testing.assert_allclose(log_q, expected, rtol=1e-12)
    assert np.ptp(z[:, 2]) == 2
    assert (np.abs(moved).max() > 1e-2) == (name == "ConditionalMixedFamily")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: opvi.CategoricalMeanField((3, 1)), "number of states of each coordinate"),
        (lambda: opvi.Autoregressive((), key=jr.key(0)), "number of states of each coordinate"),
        (lambda: opvi.BernoulliMeanField((2, 3)), r"CategoricalMeanField\(\(2, 3\)\)"),
        (lambda: opvi.Autoregressive(2, key=jr.key(0), depth=-1), "depth of at least 0"),
        (
            lambda: opvi.MixedFamily(
                opvi.SemiImplicitProgram(2, key=jr.key(0)), opvi.BernoulliMeanField(2)
            ),
            "MixedProgram",
        ),
        (
            lambda: opvi.MixedFamily(opvi.BernoulliMeanField(2), opvi.BernoulliMeanField(2)),
            "reparameterised block",
        ),
        (lambda: opvi.MixedProgram(opvi.FullRank(2), opvi.FullRank(2)), "discrete block"),
    ],
)
def test_wrong_pieces_are_refused(make, says: str) -> None:
    with pytest.raises(opvi.OpviError, match=says):
        make()
