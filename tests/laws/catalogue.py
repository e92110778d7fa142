"""What the laws run over. A new operator, test function or family is one row in a dict here.

Every row makes its piece from nothing (or from a key), inside the test, in the precision of the test.
`combinations()` are the triples that the library itself accepts.
"""

from collections.abc import Callable, Iterator

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import pytest

import opvi
from opvi import (
    BoundedNorm,
    DivergenceFree,
    Exact,
    Hutchinson,
    LangevinStein,
    LinearTestFunction,
    NeuralTestFunction,
)

# --- families: name -> (key -> q), with random parameters; two latents where the family allows it


def _network(key: jax.Array, noise_dim: int, dim: int) -> eqx.nn.MLP:
    return eqx.nn.MLP(noise_dim, dim, 4, 1, jnp.tanh, key=key)


def _affine(base: opvi.AbstractReparameterisedFamily) -> opvi.AbstractReparameterisedFamily:
    return opvi.Affine(base, jnp.asarray([0.5, -1.0]), jnp.asarray([[1.5, 0.0], [-0.7, 0.8]]))


FAMILIES: dict[str, Callable[[jax.Array], opvi.AbstractReparameterisedFamily]] = {
    "MeanField": lambda key: opvi.MeanField(2),
    "FullRank": lambda key: opvi.FullRank(2),
    "LowRank": lambda key: opvi.LowRank(2, key=key, rank=1),
    "MLPProgram": lambda key: opvi.MLPProgram(2, key=key, noise_dim=3, activation=jnp.tanh),
    "TwoSidedProgram": lambda key: opvi.TwoSidedProgram(key=key, width=4, depth=1),
    "SemiImplicitProgram": lambda key: opvi.SemiImplicitProgram(
        2, key=key, noise_dim=1, network=_network(key, 1, 2)
    ),
    "Affine_FullRank": lambda key: _affine(opvi.FullRank(2)),
    "Affine_Program": lambda key: _affine(opvi.Program(_network(key, 2, 2), 2)),
    "Affine_SemiImplicitProgram": lambda key: _affine(
        opvi.SemiImplicitProgram(2, key=key, width=4, depth=1, activation=jnp.tanh)
    ),
}

# --- test functions: name -> F. Bounds are small enough that the projection is at work; networks are
# small, and of tanh, because what a law costs is the compilation of their derivatives.


def _neural(**kwargs) -> NeuralTestFunction:
    return NeuralTestFunction(width=4, depth=1, activation=jnp.tanh, **kwargs)


TEST_FUNCTIONS: dict[str, Callable[[], opvi.AbstractTestFunctionFamily]] = {
    "linear": LinearTestFunction,
    "neural": _neural,
    "neural_bounded": lambda: _neural(ball=BoundedNorm(1.0)),
    "sees_score": lambda: _neural(sees_score=True, score_norm=2.0),
    "score_gate_bounded": lambda: _neural(score_gate=True, ball=BoundedNorm(1.0)),
}

# --- operators: name -> O

STEIN_OPERATORS: dict[str, Callable[[], opvi.AbstractSteinOperator]] = {
    "LangevinStein_Exact": lambda: LangevinStein(Exact()),
    "LangevinStein_Hutchinson": lambda: LangevinStein(Hutchinson()),
    "LangevinStein_DivergenceFree": lambda: LangevinStein(DivergenceFree()),
}

DIVERGENCE_OPERATORS: dict[str, Callable[[], opvi.AbstractDivergenceOperator]] = {
    "KL": opvi.KL,
}

OPERATORS: dict[str, Callable[[], opvi.AbstractOperator]] = {
    **STEIN_OPERATORS,
    **DIVERGENCE_OPERATORS,
}

# --- estimators of the gradient in lambda: name -> (draws -> estimator)

ESTIMATORS: dict[str, Callable[[int], opvi.AbstractEstimator]] = {
    "Reparameterised": opvi.Reparameterised,
    "FunctionalGradient": opvi.FunctionalGradient,
    "PathGradient": opvi.PathGradient,
}


# --- building


def randomised(module: eqx.Module, key: jax.Array, scale: float = 0.5) -> eqx.Module:
    """The module with noise added to all its parameters: a fresh f is zero, and a law of 0 is empty."""
    parameters, static = eqx.partition(module, eqx.is_inexact_array)
    leaves, treedef = jax.tree_util.tree_flatten(parameters)
    keys = jr.split(key, max(len(leaves), 1))
    noisy = [x + scale * jr.normal(k, x.shape, x.dtype) for x, k in zip(leaves, keys, strict=False)]
    return eqx.combine(jax.tree_util.tree_unflatten(treedef, noisy), static)


def make_family(name: str, seed: int = 0) -> opvi.AbstractReparameterisedFamily:
    k_make, k_noise = jr.split(jr.key(seed))
    return randomised(FAMILIES[name](k_make), k_noise, 0.3)


def make_test_function(name: str, dim: int, seed: int = 1) -> opvi.AbstractTestFunction:
    k_make, k_noise = jr.split(jr.key(seed))
    return randomised(TEST_FUNCTIONS[name]().init(dim, key=k_make), k_noise)


def make_objective(operator: str, test_functions: str) -> opvi.Objective:
    if operator in DIVERGENCE_OPERATORS:
        return opvi.Objective(OPERATORS[operator]())
    return opvi.Objective(OPERATORS[operator](), TEST_FUNCTIONS[test_functions]())


def make_f(objective: opvi.Objective, test_functions: str, dim: int) -> opvi.AbstractTestFunction:
    """A random member of F; the only member where F has no say."""
    if test_functions in TEST_FUNCTIONS:
        return make_test_function(test_functions, dim)
    return objective.test_functions.init(dim, key=jr.key(0))


# --- which pieces go together


def accepts(operator: str, family: str) -> bool:
    """Whether the library lets the two work together; builds nothing on a device."""
    q = eqx.filter_eval_shape(lambda: FAMILIES[family](jr.key(0)))
    try:
        OPERATORS[operator]().check(q)
    except opvi.IncompatibleError:
        return False
    return True


def _triples() -> Iterator[tuple[str, str, str]]:
    for operator in OPERATORS:
        functions = list(TEST_FUNCTIONS) if operator in STEIN_OPERATORS else ["none"]
        for family in FAMILIES:
            if accepts(operator, family):
                yield from ((operator, f, family) for f in functions)


def combinations() -> list:
    """All valid (operator, test functions, family), as pytest parameters."""
    return [pytest.param(*triple, id="-".join(triple)) for triple in _triples()]


def families_of(kind: type) -> list[str]:
    """The families of one kind: `AbstractTractableFamily`, `AbstractSemiImplicitFamily`, ..."""
    return [
        name
        for name, make in FAMILIES.items()
        if isinstance(eqx.filter_eval_shape(lambda make=make: make(jr.key(0))), kind)
    ]
