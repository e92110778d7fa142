"""The gradients of both sides of the min-max against exact ones, on a noise set that is enumerated.

Let eps be uniform on m atoms. E_q[O f] is then a mean over the m atoms, L(lambda, theta) = t(E_q[O f])
an ordinary function, and its gradients exact. The estimator sees as many independent sets as the
distance asks for: the mean of its gradient over *all* tuples of atoms has to be the gradient of L
(paper, eq. 7 and 8), for every operator, test function and family.
"""

import itertools
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import pytest

import opvi
from opvi.estimators import SampleSet, test_function_gradient as theta_gradient
from tests.fixtures import Known, skewed
from tests.laws.catalogue import combinations, make_f, make_family, make_objective
from tests.laws.reference import INTEGRANDS, derivative, directions, dot, leaves, size

pytestmark = pytest.mark.float64

ATOMS = 3
DIRECTIONS = 3


def atoms(
    objective: opvi.Objective, q: opvi.AbstractReparameterisedFamily, target: opvi.AbstractTarget
) -> opvi.Draw:
    eps = q.noise(jr.key(2), ATOMS)
    z = jax.vmap(q.transform)(eps)
    seen = jax.vmap(lambda z: objective.operator.see(target, z))(z)
    return opvi.Draw(z=z, eps=eps, seen=seen, key=jr.split(jr.key(3), ATOMS))


def mean_over_tuples(sets: int, draws: opvi.Draw, target: opvi.AbstractTarget, gradient):
    """The mean of `gradient(sample sets)` over all tuples of one-draw sets."""
    tuples = jnp.asarray(list(itertools.product(range(ATOMS), repeat=sets)))

    def one(indices: jax.Array):
        picked = (jax.tree_util.tree_map(lambda x, i=i: x[i][None], draws) for i in indices)
        return gradient(tuple(SampleSet(p, target) for p in picked))

    return jax.tree_util.tree_map(lambda x: jnp.mean(x, axis=0), jax.vmap(one)(tuples))


def exact_objective(operator, objective, f, q, draws: opvi.Draw, known: Known) -> jax.Array:
    """t(mean over atoms of O f), or mean of 2 O f - |f|^2: the paper's eq. 2 at this f."""

    def one(eps, key):
        z = q.transform(eps)
        of = INTEGRANDS[operator](f, q, z, eps, key, known)
        if isinstance(objective.test_functions.ball, opvi.L2Ball):
            return 2.0 * of - jnp.sum(f(z, jax.grad(known.log_density)(z)) ** 2)
        return of

    mean = jnp.mean(jax.vmap(one)(draws.eps, draws.key))
    return mean**2 if isinstance(objective.outer, opvi.Square) else mean


@pytest.mark.parametrize(("operator", "test_functions", "family"), combinations())
def test_both_gradients(operator: str, test_functions: str, family: str) -> None:
    q = make_family(family)
    known = skewed(q.dim)
    target, objective = known.target(), make_objective(operator, test_functions)
    f = make_f(objective, test_functions, q.dim)
    draws, sets = atoms(objective, q, target), objective.outer.sets

    @eqx.filter_jit
    def estimated(q, f):
        estimator = opvi.Reparameterised(sets)
        gradients = (
            lambda s: estimator.gradient(objective, f, q, s),
            lambda s: theta_gradient(objective, f, q, s),
        )
        return tuple(mean_over_tuples(sets, draws, target, g) for g in gradients)

    @eqx.filter_jit
    def exact(q, f):
        along_q, along_f = (
            directions(q, jr.key(4), DIRECTIONS),
            directions(f, jr.key(5), DIRECTIONS),
        )
        value = partial(exact_objective, operator, objective, draws=draws, known=known)
        slopes_q = jax.vmap(lambda v: derivative(lambda q: value(f, q), q, v))(along_q)
        slopes_f = jax.vmap(
            lambda v: derivative(lambda f: value(f, q), f, v), axis_size=DIRECTIONS
        )(along_f)
        return value(f, q), (along_q, slopes_q), (along_f, slopes_f)

    value, *slopes = exact(q, f)
    for (estimate, gradient), (along, slope) in zip(estimated(q, f), slopes, strict=True):
        assert abs(estimate - value) < 1e-10 * (1 + abs(value))
        measured = jax.vmap(lambda v, g=gradient: dot(g, v))(along)
        assert jnp.max(jnp.abs(measured - slope)) < 1e-7 * (1 + size(gradient))
        # Of zeros everything would be true.
        assert size(gradient) > 1e-3 or not leaves(gradient)
