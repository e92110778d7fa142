"""Discrete and mixed targets: one flat vector in, integers under the model's names out."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.distributions import constraints

import opvi
from opvi._core.states import all_states, index, is_last, replace_each, successor
from opvi.targets import SubsampledDiscreteTarget, temper
from tests.discrete_models import enumerate_states, ising, noisy_or, poisson, random_target


def _mixed() -> opvi.AbstractTarget:
    def log_density(latents):
        count, on = (latents[k].astype(jnp.result_type(float)) for k in ("b", "d"))
        return -jnp.sum(latents["a"] ** 2) - 3 * count.sum() + latents["c"] * on

    return opvi.from_log_density(
        log_density,
        {"a": jnp.zeros(2), "b": jnp.zeros(2), "c": 0.0, "d": 0},
        supports={
            "b": constraints.integer_interval(2, 4),
            "c": constraints.positive,
            "d": constraints.boolean,
        },
    )


@pytest.mark.parametrize("cardinalities", [(2,), (7,), (2, 2, 2), (3, 2, 4)])
def test_states_are_counted_in_order(cardinalities) -> None:
    states = all_states(cardinalities)
    assert states.shape == (math.prod(cardinalities), len(cardinalities))
    places = jax.vmap(lambda z: index(z, cardinalities))(states)
    np.testing.assert_array_equal(places, np.arange(len(states)))
    following = jax.vmap(lambda z: successor(z, cardinalities))(states)
    np.testing.assert_array_equal(following, np.roll(states, -1, axis=0))
    last = jax.vmap(lambda z: is_last(z, cardinalities))(states)
    np.testing.assert_array_equal(last, np.arange(len(states)) == len(states) - 1)


def test_the_successor_needs_no_index() -> None:
    # 2^100 states: no integer holds their number.
    z = jnp.concatenate([jnp.zeros(40), jnp.ones(60)])
    np.testing.assert_array_equal(
        successor(z, (2,) * 100), jnp.concatenate([jnp.zeros(39), jnp.ones(1), jnp.zeros(60)])
    )


def test_replace_each_moves_one_coordinate() -> None:
    z = jnp.array([1.0, 2.0, 0.0])
    out = replace_each(z, (2, 3, 2))
    assert out.shape == (3, 3, 3)
    for i, size in enumerate((2, 3, 2)):
        for s in range(3):
            np.testing.assert_array_equal(out[i, s], z.at[i].set(min(s, size - 1)))


@pytest.mark.parametrize(
    ("make", "cardinalities"),
    [
        (noisy_or, (2,) * 8),
        (ising, (2,) * 9),
        (poisson, (31,)),
        (lambda: random_target((3, 2)), (3, 2)),
    ],
)
def test_the_type_says_how_many_states(make, cardinalities) -> None:
    target = make()
    assert isinstance(target, opvi.AbstractDiscreteTarget)
    assert target.cardinalities == cardinalities
    assert target.dim == len(cardinalities) == len(target.columns)


@pytest.mark.float64
def test_log_densities_in_closed_form() -> None:
    exact = enumerate_states(poisson(c=30, rate=2.0))
    expected = 2.0 ** exact.states[:, 0] / np.array([float(math.factorial(k)) for k in range(31)])
    np.testing.assert_allclose(exact.p, expected / expected.sum(), rtol=1e-12)
    target = ising(side=2, coupling=0.7)
    aligned, one_off = jnp.ones(4), jnp.array([0.0, 1.0, 1.0, 1.0])
    # Two of four edges turn from +J to -J and the field -0.3 of the corner changes sign.
    np.testing.assert_allclose(
        target.log_density(one_off) - target.log_density(aligned), -4 * 0.7 + 0.6, rtol=1e-12
    )


@pytest.mark.parametrize(
    "marks", [pytest.param("float32"), pytest.param("64", marks=pytest.mark.float64)]
)
def test_constrain_gives_integers_from_the_lower_end(marks) -> None:
    target = opvi.from_log_density(
        lambda t: jnp.zeros(()),
        {"k": jnp.zeros((2, 2)), "on": 0},
        supports={"k": constraints.integer_interval(-3, 3), "on": constraints.boolean},
        dims={"k": ["row", "column"]},
    )
    z = jnp.array([0.0, 6.0, 3.0, 1.0, 1.0])
    out = eqx.filter_jit(target.constrain)(z)
    assert out["k"].dtype == jnp.result_type(int) == out["on"].dtype
    np.testing.assert_array_equal(out["k"], [[-3, 3], [0, -2]])
    assert out["on"] == 1
    assert target.columns == ("k[0,0]", "k[0,1]", "k[1,0]", "k[1,1]", "on")
    assert target.dims == {"k": ("row", "column")}
    batch = jax.vmap(target.constrain)(jnp.stack([z, z, z]))
    assert batch["k"].shape == (3, 2, 2)


def test_a_float_that_missed_an_integer_is_rounded() -> None:
    target = poisson()
    np.testing.assert_array_equal(target.constrain(jnp.array([2.9999998]))["count"], 3)


def test_a_mixed_target_puts_the_real_numbers_first() -> None:
    target = _mixed()
    assert isinstance(target, opvi.AbstractMixedTarget)
    assert (target.continuous, target.cardinalities, target.dim) == (3, (3, 3, 2), 6)
    assert target.columns == ("a[0]", "a[1]", "c", "b[0]", "b[1]", "d")
    z = jnp.array([0.5, -1.0, math.log(2.0), 0.0, 2.0, 1.0])
    out = target.constrain(z)
    np.testing.assert_allclose(out["a"], [0.5, -1.0])
    np.testing.assert_array_equal(out["b"], [2, 4])
    np.testing.assert_allclose(out["c"], 2.0, rtol=1e-6)
    assert out["d"] == 1
    # c = exp(log 2): log Jacobian log 2.
    expected = -1.25 - 3 * 6 + 2.0 + math.log(2.0)
    np.testing.assert_allclose(target.log_density(z), expected, rtol=1e-6)
    gradient = jax.grad(target.log_density)(z)
    np.testing.assert_allclose(gradient, [-1.0, 2.0, 2.0 + 1.0, 0, 0, 0], rtol=1e-6)


@pytest.mark.parametrize("make", [noisy_or, ising, _mixed])
@pytest.mark.float64
def test_tempering_keeps_the_kind(make) -> None:
    target = make()
    cold = temper(target, jnp.asarray(0.3))
    kind = opvi.AbstractMixedTarget if make is _mixed else opvi.AbstractDiscreteTarget
    assert isinstance(cold, kind)
    assert isinstance(cold, opvi.AbstractFactorisedTarget) == (make is noisy_or)
    assert cold.columns == target.columns
    z = jnp.concatenate([jnp.linspace(-1, 1, target.dim - 3), jnp.ones(3)])
    z = z if make is _mixed else jnp.round(jnp.abs(z))
    np.testing.assert_allclose(cold.log_density(z), 0.3 * target.log_density(z), rtol=1e-12)
    assert jax.tree_util.tree_structure(cold.constrain(z)) == jax.tree_util.tree_structure(
        target.constrain(z)
    )


@pytest.mark.float64
def test_minibatches_of_a_discrete_target_have_the_right_mean() -> None:
    x = jnp.array([0.2, 1.0, -0.5, 2.0])
    target = opvi.from_likelihood(
        lambda t: jnp.log(0.3) * t["k"].astype(float),
        lambda t, row: -((row - t["k"].astype(float)) ** 2),
        x,
        {"k": 0},
        batch_size=2,
        supports={"k": constraints.integer_interval(0, 3)},
    )
    assert isinstance(target, SubsampledDiscreteTarget)
    z = jnp.array([2.0])
    inner = target.target
    pairs = [(i, j) for i in range(4) for j in range(i)]
    mean = np.mean([inner.rows(jnp.array(pair)).log_density(z) for pair in pairs])
    np.testing.assert_allclose(mean, target.log_density(z), rtol=1e-12)
    batch = target.minibatch(jax.random.key(0))
    assert isinstance(batch, opvi.DiscreteTarget)
    assert batch.cardinalities == (4,)


@pytest.mark.float64
@pytest.mark.parametrize("support", [None, constraints.integer_interval(0, 3)], ids=str)
def test_a_cold_target_is_seen_through_the_same_minibatches(support) -> None:
    """Annealing does not fall back to all of the data."""
    x = jnp.array([0.2, 1.0, -0.5, 2.0])
    target = opvi.from_likelihood(
        lambda t: jnp.zeros(()),
        lambda t, row: -((row - t["k"].astype(float)) ** 2),
        x,
        {"k": 0.0, "x": 0.0},
        batch_size=2,
        supports={} if support is None else {"k": support},
    )
    z, key, beta = jnp.array([0.3, 2.0]), jax.random.key(1), jnp.asarray(0.3)
    here = target.minibatch(key).log_density(z)
    cold = temper(target, beta).minibatch(key).log_density(z)
    np.testing.assert_allclose(cold, 0.3 * here, rtol=1e-12)
    assert abs(here - target.log_density(z)) > 1e-3


@pytest.mark.float64
def test_factors_sum_to_the_log_density() -> None:
    target = noisy_or()
    assert isinstance(target, opvi.AbstractFactorisedTarget)
    exact = enumerate_states(target)
    factors = jax.vmap(target.log_factors)(exact.states)
    np.testing.assert_allclose(factors.sum(1), exact.log_density, rtol=1e-12)
    # The Markov blanket: the other factors drop out of log p(z_i | z_-i).
    for i in range(target.dim):
        flipped = exact.states.at[:, i].set(1 - exact.states[:, i])
        change = jax.vmap(target.log_factors)(flipped) - factors
        blanket = np.array([i in scope for scope in target.scopes])
        np.testing.assert_array_equal(change[:, ~blanket], 0.0)
        assert np.all(np.any(np.asarray(change[:, blanket]) != 0, axis=0))


def _factors(scopes, fn=lambda t: jnp.stack([t["z"][0], t["z"][1]]).astype(float)):
    return opvi.from_factors(
        fn, {"z": jnp.zeros(2)}, scopes=scopes, supports={"z": constraints.boolean}
    )


def test_whole_latents_can_be_named_in_scopes() -> None:
    assert _factors([["z"], ["z[1]"]]).scopes == ((0, 1), (1,))


@pytest.mark.parametrize(
    ("scopes", "says"),
    [
        ([["z[0]"], ["z[0]"]], "outside their scopes"),
        ([["z[0]"]], "vector of 1 log factors"),
        ([["z[0]"], ["y"]], "scopes made of the names"),
        (["z[0]", "z[1]"], "scopes made of the names"),
    ],
)
def test_wrong_scopes_are_refused(scopes, says) -> None:
    with pytest.raises(opvi.InvalidTargetError, match=says):
        _factors(scopes)


def test_factors_of_real_numbers_are_refused() -> None:
    with pytest.raises(opvi.InvalidTargetError, match="discrete support for every latent"):
        opvi.from_factors(lambda t: t["z"][None], {"z": 0.0}, scopes=[["z"]], supports={})


@pytest.mark.parametrize(
    "support",
    [
        constraints.nonnegative_integer,
        constraints.positive_integer,
        constraints.integer_interval(2, 2),
    ],
)
def test_endless_or_single_states_are_refused(support) -> None:
    with pytest.raises(opvi.InvalidTargetError, match="an end to them"):
        opvi.from_log_density(lambda t: jnp.zeros(()), {"k": 0}, supports={"k": support})
