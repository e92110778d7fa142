"""What the laws run over. A new operator, test function or family is one row in a dict here.

Every row makes its piece from nothing (or from a key), inside the test, in the precision of the test.
Which pieces go together is not written down anywhere: `admits` asks the library's own checks.

`triples()` are all that it admits. `combinations()` are a few of them that every piece occurs in, every
operator with every F: what a law that costs a compilation a triple runs over. With OPVI_EVERY_TRIPLE=1
in the environment they are all of them.
"""

import functools
import itertools
import os
from collections.abc import Callable, Iterable

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
from tests.fixtures import Known, skewed

# --- families: name -> (key -> q), with random parameters; two latents where the family allows it


def _network(key: jax.Array, noise_dim: int, dim: int) -> eqx.nn.MLP:
    return eqx.nn.MLP(noise_dim, dim, 4, 1, jnp.tanh, key=key)


def _affine(base: opvi.AbstractReparameterisedFamily) -> opvi.AbstractReparameterisedFamily:
    return opvi.Affine(base, jnp.asarray([0.5, -1.0]), jnp.asarray([[1.5, 0.0], [-0.7, 0.8]]))


def _mixture(*components: opvi.AbstractReparameterisedFamily) -> opvi.AbstractWeightedFamily:
    return opvi.Mixture(components, [0.3, 0.7])


def _semi_implicit(key: jax.Array) -> opvi.SemiImplicitProgram:
    return opvi.SemiImplicitProgram(2, key=key, noise_dim=1, network=_network(key, 1, 2))


def _flow(make: Callable[..., opvi.FlowjaxFamily], key: jax.Array) -> opvi.FlowjaxFamily:
    return make(2, key=key, layers=1, width=4, activation=jnp.tanh)


FAMILIES: dict[str, Callable[[jax.Array], opvi.AbstractReparameterisedFamily]] = {
    "MeanField": lambda key: opvi.MeanField(2),
    "FullRank": lambda key: opvi.FullRank(2),
    "LowRank": lambda key: opvi.LowRank(2, key=key, rank=1),
    "StudentT": lambda key: opvi.StudentT(2, dof=4.0),
    "Mixture": lambda key: _mixture(opvi.FullRank(2, loc=-1.0), opvi.FullRank(2, loc=1.0)),
    "Flow": lambda key: _flow(opvi.Flow, key),
    "CouplingFlow": lambda key: _flow(opvi.CouplingFlow, key),
    "TriangularSplineFlow": lambda key: opvi.TriangularSplineFlow(2, key=key, layers=1, knots=4),
    "MLPProgram": lambda key: opvi.MLPProgram(2, key=key, noise_dim=3, activation=jnp.tanh),
    "TwoSidedProgram": lambda key: opvi.TwoSidedProgram(key=key, width=4, depth=1),
    "SemiImplicitProgram": _semi_implicit,
    "SemiImplicitProgram_switches": lambda key: opvi.SemiImplicitProgram(
        2, key=key, width=4, depth=1, switches=1, activation=jnp.tanh
    ),
    "StudentTProgram": lambda key: opvi.StudentTProgram(
        2, key=key, dof=4.0, noise_dim=1, network=_network(key, 1, 2)
    ),
    "WeightedProgram": lambda key: opvi.WeightedProgram(
        2, key=key, weights=[0.3, 0.7], width=4, depth=1, activation=jnp.tanh
    ),
    "Mixture_Programs": lambda key: _mixture(
        opvi.Program(_network(key, 2, 2), 2), opvi.FullRank(2)
    ),
    "Mixture_SemiImplicit": lambda key: _mixture(_semi_implicit(key), opvi.MeanField(2)),
    "Product": lambda key: opvi.Product([opvi.FullRank(1), opvi.StudentT(1, dof=4.0)], [[1], [0]]),
    "Product_SemiImplicit": lambda key: opvi.Product(
        [opvi.MeanField(1), opvi.SemiImplicitProgram(1, key=key, network=_network(key, 1, 1))]
    ),
    "Squashed": lambda key: opvi.Squashed(opvi.FullRank(2), opvi.Box(-4.0, 4.0)),
    "Affine_FullRank": lambda key: _affine(opvi.FullRank(2)),
    "Affine_Mixture": lambda key: _affine(_mixture(opvi.FullRank(2), opvi.FullRank(2, loc=1.0))),
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
    "none": opvi.NoTestFunction,
    "linear": LinearTestFunction,
    "neural": _neural,
    "neural_bounded": lambda: _neural(ball=BoundedNorm(1.0)),
    "sees_score": lambda: _neural(sees_score=True, score_norm=2.0),
    "score_gate_bounded": lambda: _neural(score_gate=True, ball=BoundedNorm(1.0)),
}

# --- operators: name -> O


def bent(z: jax.Array) -> jax.Array:
    """A preconditioner that depends on z, is not symmetric, and falls in the tails."""
    slant = 0.3 * jnp.outer(jnp.tanh(z), jnp.ones_like(z))
    return jnp.diag(1.0 / (1.0 + z**2)) + slant


OPERATORS: dict[str, Callable[[], opvi.AbstractOperator]] = {
    "LangevinStein_Exact": lambda: LangevinStein(Exact()),
    "LangevinStein_Hutchinson": lambda: LangevinStein(Hutchinson()),
    "LangevinStein_DivergenceFree": lambda: LangevinStein(DivergenceFree()),
    "DiffusionStein": lambda: opvi.DiffusionStein(bent),
    "KL": opvi.KL,
    "Renyi_half": lambda: opvi.Renyi(0.5),
    "Renyi_2": lambda: opvi.Renyi(2.0),
    "Chi": opvi.Chi,
    "InclusiveKL": opvi.InclusiveKL,
    "Fisher": opvi.Fisher,
}

# --- estimators of the gradient in lambda: name -> (draws -> estimator)

ESTIMATORS: dict[str, Callable[[int], opvi.AbstractEstimator]] = {
    "Reparameterised": opvi.Reparameterised,
    "FunctionalGradient": opvi.FunctionalGradient,
    "PathGradient": opvi.PathGradient,
    "ScoreFunction": opvi.ScoreFunction,
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
    return opvi.Objective(OPERATORS[operator](), TEST_FUNCTIONS[test_functions]())


def known(dim: int) -> Known:
    """The target of the laws."""
    return skewed(dim)


# --- which pieces go together, by the library's own checks; nothing is built on a device


@functools.cache
def shape_of(family: str) -> opvi.AbstractReparameterisedFamily:
    """The family with shapes for arrays: enough for its type, its dimension and every check."""
    make = FAMILIES[family]
    try:
        return eqx.filter_eval_shape(lambda: make(jr.key(0)))
    except jax.errors.ConcretizationTypeError:  # a spline of flowjax can only be made for real
        return make(jr.key(0))


def admits(operator: str, test_functions: str, family: str | None = None) -> bool:
    """Whether the library lets these work together."""
    try:
        objective = make_objective(operator, test_functions)
        if family is not None:
            objective.check(shape_of(family))
    except opvi.IncompatibleError:
        return False
    return True


@functools.cache
def triples() -> tuple[tuple[str, str, str], ...]:
    """Every (operator, test functions, family) that the library admits."""
    return tuple(
        (operator, f, family)
        for operator, f in itertools.product(OPERATORS, TEST_FUNCTIONS)
        if admits(operator, f)
        for family in FAMILIES
        if admits(operator, f, family)
    )


@functools.cache
def covering() -> tuple[tuple[str, str, str], ...]:
    """Every operator with every F; every program with a Stein operator, every density with a ratio."""
    stein = set(operators_of(opvi.AbstractSteinOperator))
    densities = set(families_of(opvi.AbstractTractableFamily))

    def parts(triple: tuple[str, str, str]) -> set:
        operator, f, family = triple
        meant = (operator in stein) != (family in densities)
        return {(operator, f), family} if meant else {(operator, f)}

    # Flows, which cost most, last; otherwise shuffled, so that ties do not all go to the first row.
    flows = set(families_of(opvi.AbstractTransportFamily))
    rest = sorted(triples(), key=lambda t: (t[2] in flows, hash_of("-".join(t))))
    missing, chosen = set().union(*map(parts, rest)), []
    while missing:
        best = max(rest, key=lambda t: len(parts(t) & missing))
        chosen.append(best)
        missing -= parts(best)
    return tuple(sorted(chosen, key=triples().index))


@functools.cache
def pieces() -> tuple[tuple[str, str, str], ...]:
    """Every operator and every F, with the first families that will do."""
    families = tuple(FAMILIES)
    first = {t[:2]: t for t in sorted(triples(), key=lambda t: -families.index(t[2]))}
    chosen, missing = [], {piece for t in first for piece in t}
    for t in sorted(first.values(), key=triples().index):
        if missing & set(t):
            chosen.append(t)
            missing -= set(t)
    return tuple(chosen)


def hash_of(text: str) -> int:
    """The same in every process, unlike `hash`."""
    return functools.reduce(lambda h, c: (h * 31 + ord(c)) % 1_000_003, text, 7)


def combinations() -> list:
    """What a law over (operator, test functions, family) runs over, as pytest parameters."""
    every = os.environ.get("OPVI_EVERY_TRIPLE", "") not in ("", "0")
    return parameters(triples() if every else covering())


def parameters(rows: Iterable[tuple[str, ...]]) -> list:
    return [pytest.param(*row, id="-".join(row)) for row in rows]


def operators_of(kind: type) -> list[str]:
    """The operators of one kind: `AbstractSteinOperator`, `AbstractDivergenceOperator`, ..."""
    return [name for name, make in OPERATORS.items() if isinstance(make(), kind)]


def families_of(kind: type) -> list[str]:
    """The families of one kind: `AbstractTractableFamily`, `AbstractSemiImplicitFamily`, ..."""
    return [name for name in FAMILIES if isinstance(shape_of(name), kind)]
