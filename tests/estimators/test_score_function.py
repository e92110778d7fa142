"""The score-function gradient against exact ones: all draws of an enumerable q, with their probabilities.

An estimate from n draws is a function of (z_1, ..., z_n). Its expectation is a sum over all n-tuples of
states, weighted by their probability under q: no Monte Carlo, and no tolerance for it.
"""

import itertools
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpyro.distributions import constraints

import opvi
from opvi import (
    KL,
    BoundedNorm,
    DiscreteStein,
    GibbsStein,
    LeaveOneOut,
    Neighbours,
    NoControlVariate,
    Objective,
    Regression,
    ScoreFunction,
    SteinControlVariate,
    TableTestFunction,
)
from opvi._core.states import all_states
from opvi.estimators import SampleSet, sample_sets
from tests.discrete_models import noisy_or
from tests.laws.catalogue import randomised
from tests.laws.reference import leaves
from tests.operators.quadrature import hermite

CONTROLS = {
    "none": NoControlVariate(),
    "leave_one_out": LeaveOneOut(),
    "stein_neighbours": SteinControlVariate(Neighbours()),
    "stein_regression": SteinControlVariate(Regression()),
}


def chain(n: int) -> opvi.AbstractTarget:
    """n binary latents, each tied to the next by a factor with a table of its own."""
    tables = np.random.default_rng(0).normal(0.0, 1.5, (n, 2, 2))

    def log_factors(latents):
        z, t = latents["z"], jnp.asarray(tables, jnp.result_type(float))
        return jnp.stack([t[0, 0, z[0]], *(t[i, z[i - 1], z[i]] for i in range(1, n))])

    scopes = [["z[0]"], *([f"z[{i - 1}]", f"z[{i}]"] for i in range(1, n))]
    like, supports = {"z": jnp.zeros(n)}, {"z": constraints.boolean}
    return opvi.from_factors(log_factors, like, scopes=scopes, supports=supports)


def make_family(name: str, n: int) -> opvi.AbstractDiscreteFamily:
    if name == "mean_field":
        return randomised(opvi.CategoricalMeanField(n), jr.key(1), 0.5)
    return randomised(opvi.Autoregressive(n, key=jr.key(0), width=3), jr.key(1), 0.5)


def flat(gradient) -> jax.Array:
    return jnp.concatenate([x.ravel() for x in leaves(gradient)])


Atoms = Callable[[opvi.AbstractFamily], tuple[opvi.Draw, jax.Array]]


def states_as_atoms(objective: Objective, target: opvi.AbstractTarget) -> Atoms:
    """All the draws that a family of states can make, and their probabilities."""
    states = all_states(target.cardinalities)

    def atoms(family):
        seen = jax.vmap(lambda z: objective.operator.see(target, z))(states)
        keys = jr.split(jr.key(0), len(states))
        draws = opvi.Draw(z=states, eps=None, seen=seen, key=keys)
        return draws, jnp.exp(jax.vmap(family.log_prob)(states))

    return atoms


def exact_and_expected(objective, f, family, target, estimator, n: int, atoms: Atoms, exact=None):
    """(the gradient of the objective, the expectation of its estimate from n draws a set)."""

    @eqx.filter_jit
    def both(family):
        draws, q = atoms(family)
        tuples = np.asarray(list(itertools.product(range(len(q)), repeat=n * objective.sets)))

        def one(places):
            parts = places.reshape(objective.sets, n)
            picked = [jax.tree_util.tree_map(lambda x, p=p: x[p], draws) for p in parts]
            sets = tuple(SampleSet(p, target) for p in picked)
            return flat(estimator.gradient(objective, f, family, sets)[1])

        weights = jnp.prod(q[tuples], axis=1)
        gradients = jax.lax.map(one, jnp.asarray(tuples), batch_size=256)

        def value(family):
            draws, q = atoms(family)
            h = jax.vmap(lambda d: objective.integrand(f, d, target=target, family=family))(draws)
            return objective.outer(jnp.sum(q * h))

        return flat(eqx.filter_grad(value if exact is None else exact)(family)), weights @ gradients

    expected, got = both(family)
    assert np.linalg.norm(expected) > 1e-2
    return expected, got


def assert_unbiased(*arguments, rtol: float = 1e-9, **options) -> None:
    exact, expected = exact_and_expected(*arguments, **options)
    np.testing.assert_allclose(expected, exact, rtol=rtol, atol=rtol / 100)


# In a mean-field family a state has no descendants but itself: the blankets are others.
KL_CASES = [
    *(("autoregressive", control, blanket) for control in CONTROLS for blanket in (False, True)),
    ("mean_field", "leave_one_out", True),
    ("mean_field", "stein_neighbours", True),
]


@pytest.mark.float64
@pytest.mark.parametrize(("family", "control", "rao_blackwell"), KL_CASES)
def test_kl_gradient_is_unbiased(family: str, control: str, rao_blackwell: bool) -> None:
    """Whatever the control variate; Rao-Blackwellised by declared factors it has the same expectation."""
    n = 4 if control == "stein_regression" else 2  # the least draws a set
    d = 2 if n == 4 else 3
    target, objective = chain(d), Objective(KL())
    estimator = ScoreFunction(n, CONTROLS[control], rao_blackwell)
    f, q = objective.test_functions.init(d, key=jr.key(0)), make_family(family, d)
    estimator.check(objective, q)
    assert_unbiased(objective, f, q, target, estimator, n, states_as_atoms(objective, target))


@pytest.mark.float64
@pytest.mark.parametrize("control", CONTROLS)
def test_stein_gradient_is_unbiased(control: str) -> None:
    """2 E_q[O f] - E_q|f|^2 of the Gibbs operator, at an f that is not the best one."""
    n, d = 4 if control == "stein_regression" else 2, 2
    target, objective = chain(d), Objective(GibbsStein(), TableTestFunction((2, 2)))
    f = randomised(objective.test_functions.init(d, key=jr.key(0)), jr.key(2), 1.0)
    estimator, q = ScoreFunction(n, CONTROLS[control]), make_family("autoregressive", d)
    assert_unbiased(objective, f, q, target, estimator, n, states_as_atoms(objective, target))


@pytest.mark.float64
def test_gradient_of_the_square_of_two_sets_is_unbiased() -> None:
    """Eq. 7 as it stands: 2 E_q[O f] grad E_q[O f], the operator of appendix C, and a bounded f."""
    functions = TableTestFunction((2, 2), outputs=1, ball=BoundedNorm())
    target, objective = chain(2), Objective(DiscreteStein(), functions)
    f = randomised(functions.init(2, key=jr.key(0)), jr.key(2), 1.0)
    q, estimator = make_family("autoregressive", 2), ScoreFunction(4, LeaveOneOut())
    assert objective.sets == 2
    assert_unbiased(objective, f, q, target, estimator, 2, states_as_atoms(objective, target))


@pytest.mark.float64
@pytest.mark.parametrize("control", ["none", "leave_one_out"])
def test_a_biased_estimate_has_its_own_gradient(control: str) -> None:
    """Renyi is no mean over draws: the gradient is that of E[estimate from n draws], not of its limit."""
    n, target, objective = 3, chain(2), Objective(opvi.Renyi(0.5))
    f = objective.test_functions.init(2, key=jr.key(0))
    q, estimator = make_family("autoregressive", 2), ScoreFunction(n, CONTROLS[control])
    tuples = np.asarray(list(itertools.product(range(4), repeat=n)))
    atoms = states_as_atoms(objective, target)

    def expected_estimate(family):
        draws, p = atoms(family)
        h = jax.vmap(lambda d: objective.integrand(f, d, target=target, family=family))(draws)
        estimates = jax.vmap(lambda h: objective.outer.paired(objective.outer.pool(h)))(h[tuples])
        return jnp.prod(p[tuples], axis=1) @ estimates

    arguments = (objective, f, q, target, estimator, n, atoms)
    assert_unbiased(*arguments, exact=expected_estimate)
    limit, got = exact_and_expected(*arguments)
    assert np.linalg.norm(got - limit) > 1e-2 * np.linalg.norm(limit)


@pytest.mark.float64
@pytest.mark.parametrize("stein", [False, True], ids=["KL", "MixedStein"])
def test_gradient_of_a_mixed_family_is_unbiased(stein: bool) -> None:
    """Real numbers through R(eps, k), states through log q: eps on Gauss-Hermite nodes, k enumerated."""

    def log_density(latents):
        k = latents["k"].astype(jnp.result_type(float))
        return -0.5 * (latents["x"] - 1.5 * k) ** 2 + 0.3 * jnp.sin(latents["x"]) - 0.7 * k

    target = opvi.from_log_density(
        log_density, {"x": 0.0, "k": 0}, supports={"k": constraints.boolean}
    )
    q = randomised(opvi.ConditionalMixedFamily(1, (2,), key=jr.key(0), width=3), jr.key(1), 0.4)
    functions = opvi.StateTestFunction((2,), width=3, depth=1, activation=jnp.tanh)
    objective = Objective(opvi.MixedStein(), functions) if stein else Objective(KL())
    f = randomised(objective.test_functions.init(2, key=jr.key(0)), jr.key(2))
    objective.check(q)
    nodes, weights = hermite(20)
    eps = (jnp.tile(nodes, (2, 1)), jnp.repeat(jnp.asarray([[0.0], [1.0]]), 20, axis=0))

    def atoms(family):
        z = jax.vmap(family.transform)(eps)
        seen = jax.vmap(lambda z: objective.operator.see(target, z))(z)
        draws = opvi.Draw(z=z, eps=eps, seen=seen, key=jr.split(jr.key(0), 40))
        q_k = jnp.exp(jax.vmap(family.discrete.log_prob)(eps[1]))
        return draws, q_k * jnp.tile(weights, 2) / 20

    assert_unbiased(objective, f, q, target, ScoreFunction(2), 2, atoms, rtol=1e-6)


def test_control_variates_take_the_variance_away() -> None:
    """On the noisy-OR posterior; `benchmarks/score_function.py` has more of the numbers."""
    target, objective = noisy_or(), Objective(KL())
    q = opvi.BernoulliMeanField(target.cardinalities, logits=-0.5)
    f = objective.test_functions.init(8, key=jr.key(0))

    def variance(control: str, rao_blackwell: bool = False) -> float:
        estimator = ScoreFunction(64, CONTROLS[control], rao_blackwell)

        @eqx.filter_jit
        def gradients(keys):
            def one(key):
                sets = sample_sets(key, 64, objective, q, target)
                return estimator.gradient(objective, f, q, sets)[1].logits

            return jax.lax.map(one, keys, batch_size=50)

        return float(np.asarray(gradients(jr.split(jr.key(0), 400))).var(axis=0).sum())

    plain = variance("none")
    assert variance("none", rao_blackwell=True) < plain / 4
    assert variance("leave_one_out") < plain / 10
    assert variance("stein_regression") < plain / 20
    assert variance("stein_neighbours") < plain / 100


@pytest.mark.float64
def test_no_gradient_noise_at_the_posterior() -> None:
    """log q - log p is the same at every state: leave-one-out gives zero, draw by draw."""
    target = chain(3)
    states = all_states((2, 2, 2))
    joint = np.exp(jax.vmap(target.log_density)(states)).reshape(2, 2, 2)
    joint = joint / joint.sum()
    q = opvi.Autoregressive(3, key=jr.key(0), depth=0)
    # A chain is a logistic regression of each z_i on z_{i-1}.
    bias, weight = np.zeros(6), np.zeros((6, 3))
    pairs = [joint.sum((1, 2)), joint.sum(2), joint.sum(0)]
    bias[:2] = np.log(pairs[0])
    for i in (1, 2):
        bias[2 * i : 2 * i + 2] = np.log(pairs[i][0])
        weight[2 * i : 2 * i + 2, i - 1] = np.log(pairs[i][1]) - np.log(pairs[i][0])
    q = eqx.tree_at(lambda q: (q.skip.bias, q.skip.weight), q, (jnp.array(bias), jnp.array(weight)))
    objective = Objective(KL())
    f = objective.test_functions.init(3, key=jr.key(0))
    sets = sample_sets(jr.key(0), 8, objective, q, target)
    value, gradient = ScoreFunction(8).gradient(objective, f, q, sets)
    np.testing.assert_allclose(flat(gradient), 0.0, atol=1e-14)
    log_evidence = jax.nn.logsumexp(jax.vmap(target.log_density)(states))
    np.testing.assert_allclose(value, -log_evidence, rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda q: (Objective(KL()), ScoreFunction(1)), "at least 2 draws"),
        (lambda q: (Objective(KL()), ScoreFunction(2, CONTROLS["stein_regression"])), "at least 4"),
        (lambda q: (Objective(GibbsStein()), ScoreFunction(4, rao_blackwell=True)), "KL and"),
        (
            lambda q: (Objective(opvi.Renyi(0.5)), ScoreFunction(8, CONTROLS["stein_neighbours"])),
            "no mean over draws",
        ),
        (lambda q: (Objective(KL()), opvi.Reparameterised(4)), "a reparameterised family"),
    ],
)
def test_what_does_not_go_together_is_refused(make, says: str) -> None:
    q = opvi.BernoulliMeanField(2)
    objective, estimator = make(q)
    with pytest.raises(opvi.OpviError, match=says):
        estimator.check(objective, q)


def test_a_program_has_no_score_function() -> None:
    with pytest.raises(opvi.IncompatibleError, match="grad_lambda log q"):
        ScoreFunction(4).check(
            Objective(opvi.LangevinStein()), opvi.SemiImplicitProgram(2, key=jr.key(0))
        )
