"""The gradients of both sides of the min-max against exact ones, on a noise set that is enumerated.

Let eps be uniform on m atoms. E_q[O f] is then a mean over the m atoms, L(lambda, theta) = t(E_q[O f])
an ordinary function, and its gradients exact. An estimator that needs several independent sets has
to have the gradient of L as the mean of its own over *all* tuples of one-atom sets (paper, eq. 7 and
8); one that needs a single set is L itself on the set of all atoms.
"""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import pytest

import opvi
from opvi.estimators import SampleSet, test_function_gradient as theta_gradient
from tests.fixtures import Known
from tests.laws.catalogue import (
    combinations,
    known,
    make_family,
    make_objective,
    make_test_function,
)
from tests.laws.reference import (
    DIVERGENCES,
    INTEGRANDS,
    derivative,
    directions,
    dot,
    leaves,
    size,
)

pytestmark = pytest.mark.float64

ATOMS = 3
DIRECTIONS = 3


def atoms(
    objective: opvi.Objective, q: opvi.AbstractReparameterisedFamily, target: opvi.AbstractTarget
) -> opvi.Draw:
    weighted = isinstance(q, opvi.AbstractWeightedFamily)
    eps = (q.strata if weighted else q.noise)(jr.key(2), ATOMS)
    z = jax.vmap(q.transform)(eps)
    seen = jax.vmap(lambda z: objective.operator.see(target, z))(z)
    weight = jax.vmap(q.weight)(eps) if weighted else None
    return opvi.Draw(z=z, eps=eps, seen=seen, key=jr.split(jr.key(3), ATOMS), weight=weight)


def mean_gradient(sets: int, draws: opvi.Draw, target: opvi.AbstractTarget, gradient):
    """The mean of `gradient(sample sets)` over all tuples of one-atom sets."""
    if sets == 1:
        return gradient((SampleSet(draws, target),))
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
        weight = q.weight(eps) if draws.weight is not None else jnp.ones(())
        if isinstance(objective.test_functions.ball, opvi.L2Ball):
            of = 2.0 * of - jnp.sum(f(z, jax.grad(known.log_density)(z)) ** 2)
        return of, weight

    values, weights = jax.vmap(one)(draws.eps, draws.key)

    def mean(h: jax.Array) -> jax.Array:
        return jnp.mean(weights * h)

    if operator in DIVERGENCES:
        return DIVERGENCES[operator](values, mean)
    return mean(values) ** 2 if isinstance(objective.outer, opvi.Square) else mean(values)


# Each program here runs once: what it costs is its compilation, and this is the cheapest there is.
ONCE = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


@pytest.mark.parametrize(("operator", "test_functions", "family"), combinations())
def test_both_gradients(operator: str, test_functions: str, family: str) -> None:
    q = make_family(family)
    p = known(q.dim)
    target, objective = p.target(), make_objective(operator, test_functions)
    f = make_test_function(test_functions, q.dim)
    sets = objective.outer.sets
    estimator = opvi.Reparameterised(sets)
    arrays, static = eqx.partition((q, f), eqx.is_array)

    def everything(arrays, along):
        q, f = eqx.combine(arrays, static)
        draws = atoms(objective, q, target)

        def gradients(s):
            value_q, along_lambda = estimator.gradient(objective, f, q, s)
            value_f, along_theta = theta_gradient(objective, f, q, s)
            return (value_q, value_f), (along_lambda, along_theta)

        values, gradient = mean_gradient(sets, draws, target, gradients)
        value, slopes, _ = derivative(
            lambda both: exact_objective(operator, objective, both[1], both[0], draws, p),
            (q, f),
            along,
        )
        measured = jax.vmap(lambda v: dot(gradient, v))(along)
        return values, value, measured, slopes, [size(g) for g in gradient]

    along = directions((q, f), jr.key(4), DIRECTIONS)
    run = jax.jit(everything, compiler_options=ONCE)
    values, value, measured, slopes, (of_lambda, of_theta) = run(arrays, along)
    for estimate in values:
        assert abs(estimate - value) < 1e-10 * (1 + abs(value))
    assert jnp.max(jnp.abs(measured - slopes)) < 1e-6 * (1 + of_lambda + of_theta)
    # Of zeros everything would be true.
    assert of_lambda > 1e-3
    assert of_theta > 1e-3 or not leaves(f)
