"""E_p[O^{p,p} f] = 0 for every Stein operator and every f, and t(E_p[O^{p,p} f]) = 0 for the others.

On exact draws of p, in standard errors of their mean. The same draws moved by a fraction of a
standard deviation must not pass: a law that nothing breaks says nothing.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import opvi
from opvi.estimators import SampleSet, estimate
from tests.fixtures import Known, gaussian, gaussian_mean, gaussian_tril, mixture, skewed
from tests.laws.catalogue import (
    OPERATORS,
    TEST_FUNCTIONS,
    admits,
    make_family,
    make_objective,
    make_test_function,
    operators_of,
)

DRAWS = 20_000
PROGRAM = "MLPProgram"  # a family of which nothing but draws is known

STEIN = operators_of(opvi.AbstractSteinOperator)
DIVERGENCES = operators_of(opvi.AbstractDivergenceOperator)


def standard_errors(operator: str, q, p: Known, z, eps=None) -> dict[str, float]:
    """Mean of O f over the draws, in standard errors, for every test function it admits."""
    target, o = p.target(), OPERATORS[operator]()
    fs = {
        name: make_test_function(name, p.dim) for name in TEST_FUNCTIONS if admits(operator, name)
    }

    @eqx.filter_jit
    def values(fs, q, z, eps, keys):
        def one(z, eps, key):
            draw = opvi.Draw(z=z, eps=eps, seen=o.see(target, z), key=key)
            return {name: o(f, draw, target=target, family=q) for name, f in fs.items()}

        return jax.vmap(one)(z, eps, keys)

    keys = jr.split(jr.key(9), z.shape[0])
    out = {}
    for name, h in values(fs, q, z, eps, keys).items():
        h = np.asarray(h, np.float64)
        out[name] = h.mean() / (h.std() / len(h) ** 0.5)
    return out


@pytest.mark.parametrize("target", [skewed(2), mixture(2)], ids=["skewed", "mixture"])
@pytest.mark.parametrize("operator", [o for o in STEIN if admits(o, "neural", PROGRAM)])
def test_identity_under_p(operator: str, target: Known) -> None:
    q = make_family(PROGRAM)
    z = target.sample(jr.key(0), DRAWS)
    here = standard_errors(operator, q, target, z)
    assert max(abs(e) for e in here.values()) < 4.0, here
    moved = standard_errors(operator, q, target, z + jnp.asarray([0.3, -0.2]))
    assert max(abs(e) for e in moved.values()) > 10.0, moved


def gaussian_program() -> opvi.SemiImplicitProgram:
    """A semi-implicit program that is `gaussian(2)`: g affine, and s^2 I taken off its covariance."""
    s, tril = 0.4, gaussian_tril(2)
    rest = jnp.linalg.cholesky(tril @ tril.T - s**2 * jnp.eye(2))
    network = eqx.nn.Linear(2, 2, key=jr.key(0))
    network = eqx.tree_at(lambda m: (m.weight, m.bias), network, (rest, gaussian_mean(2)))
    return opvi.SemiImplicitProgram(2, key=jr.key(0), noise_scale=s, network=network)


@pytest.mark.parametrize("operator", STEIN)
def test_identity_under_p_where_q_is_p(operator: str) -> None:
    """What reads grad log q(z | eps) has its identity at q = p only."""
    q, p = gaussian_program(), gaussian(2)
    eps = q.noise(jr.key(1), DRAWS)
    z = jax.vmap(q.transform)(eps)
    here = standard_errors(operator, q, p, z, eps)
    assert max(abs(e) for e in here.values()) < 4.0, here
    wide = eqx.tree_at(lambda q: q.log_scale, q, q.log_scale + 0.7)
    moved = standard_errors(operator, wide, p, jax.vmap(wide.transform)(eps), eps)
    assert max(abs(e) for e in moved.values()) > 10.0, moved


@pytest.mark.float64
@pytest.mark.parametrize("operator", DIVERGENCES)
def test_divergence_is_zero_at_p_and_positive_elsewhere(operator: str) -> None:
    p = gaussian(2)
    objective, target = make_objective(operator, "none"), p.target()

    def value(q: opvi.FullRank) -> float:
        z = q.sample(jr.key(2), 5_000)
        seen = jax.vmap(lambda z: objective.operator.see(target, z))(z)
        draws = opvi.Draw(z=z, eps=None, seen=seen, key=jr.split(jr.key(3), len(z)))
        f = objective.test_functions.init(2, key=jr.key(0))
        return float(estimate(objective, f, q, (SampleSet(draws, target),)))

    q = opvi.FullRank(2, loc=gaussian_mean(2), scale_tril=gaussian_tril(2))
    assert abs(value(q)) < 1e-10
    assert value(eqx.tree_at(lambda q: q.loc, q, q.loc + 0.3)) > 0.01
