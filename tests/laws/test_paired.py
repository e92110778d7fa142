"""t of a mean over draws is biased; its paired form is not, in value and in gradient.

On a noise set that is enumerated, so that the bias is a number and not a guess: with eps uniform on m
atoms and one draw a set, E[a b] = (E h)^2 and E[a^2] = (E h)^2 + Var(h).
"""

import itertools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import opvi
from opvi.estimators import SampleSet
from tests.laws.catalogue import (
    admits,
    known,
    make_family,
    make_objective,
    make_test_function,
    operators_of,
)
from tests.laws.reference import leaves

pytestmark = pytest.mark.float64

ATOMS = 4
BOUNDED = "neural_bounded"
FAMILY = "SemiImplicitProgram"
STEIN = [o for o in operators_of(opvi.AbstractSteinOperator) if admits(o, BOUNDED, FAMILY)]


@pytest.mark.parametrize("operator", STEIN)
def test_paired_square_is_unbiased_and_the_unpaired_one_is_not(operator: str) -> None:
    q, objective = make_family(FAMILY), make_objective(operator, BOUNDED)
    assert isinstance(objective.outer, opvi.Square)
    target, f = known(q.dim).target(), make_test_function(BOUNDED, q.dim)
    eps, keys = q.noise(jr.key(2), ATOMS), jr.split(jr.key(3), ATOMS)
    z = jax.vmap(q.transform)(eps)
    seen = jax.vmap(lambda z: objective.operator.see(target, z))(z)
    draws = opvi.Draw(z=z, eps=eps, seen=seen, key=keys)
    estimator = opvi.Reparameterised(2)

    def of(i: jax.Array) -> SampleSet:
        return SampleSet(jax.tree_util.tree_map(lambda x: x[i][None], draws), target)

    def pair(i: jax.Array, j: jax.Array):
        value, gradient = estimator.gradient(objective, f, q, (of(i), of(j)))
        return value, jnp.concatenate([x.ravel() for x in leaves(gradient)])

    pairs = np.asarray(list(itertools.product(range(ATOMS), repeat=2)))
    values, gradients = jax.vmap(pair)(*jnp.asarray(pairs.T))
    same = pairs[:, 0] == pairs[:, 1]
    # On the diagonal both sets are one draw: a a = h^2, with gradient 2 h grad h.
    h = jnp.sqrt(values[same])
    paired, unpaired = np.mean(values), np.mean(values[same])
    signed = h * jnp.where(values.reshape(ATOMS, ATOMS)[0] < 0, -1.0, 1.0)
    np.testing.assert_allclose(paired, np.mean(signed) ** 2, rtol=1e-12)
    np.testing.assert_allclose(unpaired - paired, np.var(signed), rtol=1e-9)
    assert unpaired > 1.2 * paired
    # The gradient of the unpaired one is off by the gradient of the variance.
    gap = np.linalg.norm(np.mean(gradients[same], axis=0) - np.mean(gradients, axis=0))
    assert gap > 0.1 * np.linalg.norm(np.mean(gradients, axis=0))


@pytest.mark.parametrize(
    "distance", [opvi.Identity(), opvi.Square()], ids=lambda t: type(t).__name__
)
def test_paired_form_of_every_distance_has_t_of_the_mean(distance: opvi.AbstractDistance) -> None:
    """E over all tuples of atoms of paired(.) = t(E h), for random values h and weights."""
    h = jr.normal(jr.key(0), (5,)) + 0.3
    weights = jr.uniform(jr.key(1), (5,)) + 0.5
    exact = distance(jnp.mean(weights * h))
    tuples = itertools.product(range(5), repeat=distance.sets)
    pooled = [distance.pool(h[i][None], weights[i][None]) for i in range(5)]
    paired = [distance.paired(*(pooled[i] for i in indices)) for indices in tuples]
    np.testing.assert_allclose(np.mean(paired), exact, rtol=1e-12)
