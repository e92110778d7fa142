"""jit, vmap and precision change nothing: both gradients in float32, jitted over a stack of members,
are those of a member alone, in float64. (Draws and densities of every family: tests/families.)
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import opvi
from opvi.estimators import sample_sets, test_function_gradient as theta_gradient
from tests.laws.catalogue import (
    known,
    make_family,
    make_objective,
    make_test_function,
    parameters,
    pieces,
)
from tests.laws.reference import leaves

MEMBERS = 2
DRAWS = 6


def cast(tree, dtype):
    return jax.tree_util.tree_map(lambda x: x.astype(dtype) if eqx.is_inexact_array(x) else x, tree)


@pytest.mark.parametrize(("operator", "test_functions", "family"), parameters(pieces()))
def test_jit_vmap_and_precision(operator: str, test_functions: str, family: str) -> None:
    objective = make_objective(operator, test_functions)
    estimator = opvi.Reparameterised(DRAWS)
    members = [make_family(family, seed) for seed in range(MEMBERS)]
    dim = members[0].dim
    fs = [make_test_function(test_functions, dim, seed) for seed in range(MEMBERS)]
    target = known(dim).target()

    def gradients(q, f, sets):
        value, along_lambda = estimator.gradient(objective, f, q, sets)
        return value, along_lambda, theta_gradient(objective, f, q, sets)[1]

    sets = [sample_sets(jr.key(5), DRAWS, objective, q, target) for q in members]
    stacked = jax.tree_util.tree_map(
        lambda *x: jnp.stack(x) if eqx.is_array(x[0]) else x[0],
        *zip(members, fs, sets, strict=True),
    )
    together = eqx.filter_jit(eqx.filter_vmap(gradients))(*stacked)
    for x in leaves(together):
        assert x.dtype == jnp.float32
    for i in (MEMBERS - 1,):
        q, f, drawn = members[i], fs[i], sets[i]
        with jax.enable_x64(True), jax.numpy_dtype_promotion("strict"):
            alone = gradients(*cast((q, f, drawn), jnp.float64))
            assert all(x.dtype == jnp.float64 for x in leaves(alone))
        # The gradient of a module has the shape of the module.
        for part, module in zip(alone[1:], (q, f), strict=True):
            shapes = [x.shape for x in leaves(part)]
            assert shapes == [x.shape for x in leaves(module)]
        for side in range(3):
            a = np.concatenate([np.ravel(x) for x in leaves(alone[side])] or [np.zeros(1)])
            b = np.concatenate([np.ravel(x[i]) for x in leaves(together[side])] or [np.zeros(1)])
            assert np.linalg.norm(a - b) < 1e-3 * (1.0 + np.linalg.norm(a))
