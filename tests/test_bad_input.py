"""Input that cannot work: an error at construction with what was expected, what came, what to write."""

import inspect
import re

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest
from numpyro.distributions import constraints

import opvi
from tests.fixtures import skewed

KEY = jr.key(0)
TARGET = skewed(2).target()
PROGRAM = opvi.SemiImplicitProgram(2, key=KEY, width=4)


def normal(z: jax.Array) -> jax.Array:
    return -0.5 * jnp.sum(z**2)


def fit(*args, **kwargs):
    return opvi.fit(*args, key=KEY, progress=False, **kwargs)


def nan_everywhere():
    return opvi.from_log_density(lambda z: jnp.sum(jnp.sqrt(-1.0 - z**2)), jnp.zeros(2))


def solver(objective: opvi.Objective, estimator: opvi.AbstractEstimator, **kwargs) -> opvi.MinMax:
    return opvi.MinMax(TARGET, objective, estimator, optax.adam(1e-2), optax.adam(1e-2), **kwargs)


class _Unknown(type(constraints.positive)):
    """A support that has no bijection."""


class _First(opvi.AbstractTestFunction):
    def __call__(self, z: jax.Array, score: jax.Array) -> jax.Array:
        return z[:1]


class WrongShape(opvi.AbstractTestFunctionFamily):
    ball: opvi.AbstractBall = opvi.L2Ball()

    def init(self, dim: int, *, key: jax.Array) -> opvi.AbstractTestFunction:
        return _First()


LS = opvi.Objective(opvi.LangevinStein())
BOUNDED = opvi.Objective(opvi.LangevinStein(), opvi.NeuralTestFunction(ball=opvi.BoundedNorm()))
KL = opvi.Objective(opvi.KL())

# name -> (what is written, its error, what the message says was expected, came, and to write)
CASES = {
    "a log density that returns a vector": (
        lambda: opvi.from_log_density(lambda z: -0.5 * z**2, jnp.zeros(2)),
        opvi.InvalidTargetError,
        "one real number",
        r"shape \(2,\)",
        "jnp.sum",
    ),
    "a log density that returns a vector of one": (
        lambda: opvi.from_log_density(lambda z: -0.5 * z**2, jnp.zeros(1)),
        opvi.InvalidTargetError,
        "one real number",
        r"shape \(1,\)",
        "jnp.sum",
    ),
    "a log density that returns an integer": (
        lambda: opvi.from_log_density(lambda z: jnp.argmax(z), jnp.zeros(2)),
        opvi.InvalidTargetError,
        "one real number",
        r"shape \(\)",
        "jnp.sum",
    ),
    "a log density that returns None": (
        lambda: opvi.from_log_density(lambda z: None, jnp.zeros(2)),
        opvi.InvalidTargetError,
        "one real number",
        "NoneType",
        "jnp.sum",
    ),
    "a log density that cannot be traced": (
        lambda: opvi.from_log_density(lambda z: float(z[0]), jnp.zeros(2)),
        opvi.InvalidTargetError,
        "traced by JAX",
        "ConcretizationTypeError",
        "jnp.sum",
    ),
    "no latents": (
        lambda: opvi.from_log_density(lambda z: jnp.zeros(()), {}),
        opvi.InvalidTargetError,
        "at least one latent",
        "{}",
        "like=",
    ),
    "NaN at every start": (
        lambda: fit(nan_everywhere(), opvi.MeanField, steps=5),
        opvi.InvalidTargetError,
        "finite",
        "NaN or infinity at all",
        "supports=",
    ),
    "NaN at every start of the default fit": (
        lambda: fit(nan_everywhere()),
        opvi.InvalidTargetError,
        "finite",
        "",
        "",
    ),
    "a support that is no constraint": (
        lambda: opvi.from_log_density(normal, jnp.zeros(2), supports={"z": "positive"}),
        opvi.InvalidTargetError,
        "constraint",
        "'positive'",
        "constraints.positive",
    ),
    "a support without a bijection": (
        lambda: opvi.from_log_density(normal, jnp.zeros(2), supports={"z": _Unknown()}),
        opvi.InvalidTargetError,
        "known bijection",
        "Unknown",
        "biject_to",
    ),
    "a support of a latent that is not there": (
        lambda: opvi.from_log_density(
            lambda p: normal(p["mu"]), {"mu": jnp.zeros(2)}, supports={"tau": constraints.positive}
        ),
        opvi.InvalidTargetError,
        "mu",
        "tau",
        "supports=",
    ),
    "a shape that the support does not allow": (
        lambda: opvi.from_log_density(
            lambda p: normal(p["x"]), {"x": jnp.zeros(())}, supports={"x": constraints.simplex}
        ),
        opvi.InvalidTargetError,
        "shape of latent 'x'",
        r"shape \(\)",
        "like=",
    ),
    "dims of another number than the axes": (
        lambda: opvi.from_log_density(
            lambda p: normal(p["x"]), {"x": jnp.zeros(3)}, dims={"x": ["a", "b"]}
        ),
        opvi.InvalidTargetError,
        "one dim for each of the 1 axes",
        "'a', 'b'",
        "dims=",
    ),
    "a family of another dimension": (
        lambda: fit(TARGET, opvi.MeanField(3), steps=5),
        opvi.IncompatibleError,
        "the 2 unconstrained latents",
        "dim=3",
        r"MeanField\(2",
    ),
    "a function instead of a target": (
        # Past the type checks that only tests have.
        lambda: inspect.unwrap(opvi.fit)(normal, key=KEY),
        opvi.InvalidTargetError,
        "a target",
        "function",
        "from_log_density",
    ),
    "a maker that makes no family": (
        lambda: fit(TARGET, lambda dim, key: "gaussian", steps=5),
        opvi.IncompatibleError,
        "a family",
        "str",
        "family=opvi.FullRank",
    ),
    "KL with a program": (
        lambda: fit(TARGET, PROGRAM, KL, steps=5),
        opvi.IncompatibleError,
        "a family with a density",
        "SemiImplicitProgram",
        "LangevinStein",
    ),
    "a ratio with a program": (
        lambda: fit(TARGET, PROGRAM, opvi.Objective(opvi.Renyi(0.5)), steps=5),
        opvi.IncompatibleError,
        "a family with a density",
        "SemiImplicitProgram",
        "LangevinStein",
    ),
    "the Fisher operator with a program": (
        lambda: fit(TARGET, PROGRAM, opvi.Objective(opvi.Fisher()), steps=5),
        opvi.IncompatibleError,
        "a family with a density",
        "SemiImplicitProgram",
        "LangevinStein",
    ),
    "the divergence-free form with a plain program": (
        lambda: fit(
            TARGET,
            opvi.MLPProgram(2, key=KEY),
            opvi.Objective(opvi.LangevinStein(opvi.DivergenceFree())),
            steps=5,
        ),
        opvi.IncompatibleError,
        "semi-implicit or tractable",
        "Program",
        "Exact",
    ),
    "identity where the expectation can be negative": (
        lambda: opvi.Objective(
            opvi.LangevinStein(), opvi.NeuralTestFunction(), distance=opvi.Identity()
        ),
        opvi.IncompatibleError,
        "can be negative",
        "Identity",
        r"Square\(\)",
    ),
    "identity with a bounded norm": (
        lambda: opvi.Objective(
            opvi.LangevinStein(),
            opvi.NeuralTestFunction(ball=opvi.BoundedNorm()),
            opvi.Identity(),
        ),
        opvi.IncompatibleError,
        "can be negative",
        "Identity",
        r"Square\(\)",
    ),
    "the square of KL": (
        lambda: opvi.Objective(opvi.KL(), distance=opvi.Square()),
        opvi.IncompatibleError,
        "the identity distance",
        "Square",
        r"Objective\(KL\(\)\)",
    ),
    "another distance for a ratio": (
        lambda: opvi.Objective(opvi.Chi(), distance=opvi.Identity()),
        opvi.IncompatibleError,
        "the distance Logarithm",
        "Identity",
        r"Objective\(Chi",
    ),
    "test functions for KL": (
        lambda: opvi.Objective(opvi.KL(), opvi.NeuralTestFunction()),
        opvi.IncompatibleError,
        "no test functions",
        "NeuralTestFunction",
        r"Objective\(KL\(\)\)",
    ),
    "no test functions for Langevin-Stein": (
        lambda: opvi.Objective(opvi.LangevinStein(), opvi.NoTestFunction()),
        opvi.IncompatibleError,
        "a family of test functions",
        "NoTestFunction",
        "NeuralTestFunction",
    ),
    "linear test functions that no ball holds": (
        lambda: opvi.Objective(
            opvi.LangevinStein(), opvi.LinearTestFunction(ball=opvi.BoundedNorm())
        ),
        opvi.OpviError,
        "L2Ball",
        "BoundedNorm",
        r"LinearTestFunction\(\)",
    ),
    "test functions of the wrong shape": (
        lambda: fit(TARGET, PROGRAM, opvi.Objective(opvi.LangevinStein(), WrongShape()), steps=5),
        opvi.IncompatibleError,
        r"R\^2 to R\^2",
        r"shape \(1,\) from",
        "same shape as z",
    ),
    "a preconditioner of the wrong shape": (
        lambda: fit(TARGET, PROGRAM, opvi.Objective(opvi.DiffusionStein(jnp.eye(3))), steps=5),
        opvi.IncompatibleError,
        r"shape \(2, 2\)",
        r"shape \(3, 3\)",
        r"jnp.eye\(2\)",
    ),
    "zero steps": (
        lambda: fit(TARGET, opvi.MeanField, steps=0),
        opvi.OpviError,
        "at least one step",
        "steps=0",
        "steps=5000",
    ),
    "fewer steps than the state has taken": (
        lambda: opvi.solve(solver(KL, opvi.PathGradient()), _state(10), steps=10),
        opvi.OpviError,
        "beyond the 10 already taken",
        "steps=10",
        "steps=1010",
    ),
    "zero critic steps": (
        lambda: fit(TARGET, PROGRAM, LS, steps=5, critic_steps=0),
        opvi.OpviError,
        "at least one critic step",
        "critic_steps=0",
        "critic_steps=5",
    ),
    "zero draws": (
        lambda: fit(TARGET, opvi.MeanField, KL, steps=5, estimator=opvi.PathGradient(0)),
        opvi.IncompatibleError,
        "draws",
        "draws=0",
        "draws=1",
    ),
    "draws that do not make two sets": (
        lambda: fit(TARGET, PROGRAM, BOUNDED, steps=5, estimator=opvi.Reparameterised(7)),
        opvi.IncompatibleError,
        "2 independent sets",
        "draws=7",
        "draws=6",
    ),
    "the path gradient of Langevin-Stein": (
        lambda: fit(TARGET, PROGRAM, LS, steps=5, estimator=opvi.PathGradient()),
        opvi.IncompatibleError,
        "the KL operator",
        "LangevinStein",
        r"Reparameterised\(\)",
    ),
    "the functional gradient of a bounded norm": (
        lambda: fit(TARGET, PROGRAM, BOUNDED, steps=5, estimator=opvi.FunctionalGradient()),
        opvi.IncompatibleError,
        "over an L2 ball",
        "BoundedNorm",
        "L2Ball",
    ),
    "a two-sided program of two latents": (
        lambda: opvi.TwoSidedProgram(2, key=KEY),
        opvi.OpviError,
        "one latent",
        "dim=2",
        "SemiImplicitProgram",
    ),
    "a network of the wrong shape": (
        lambda: opvi.Program(lambda eps: eps[0], 3),
        opvi.OpviError,
        "a network from",
        r"shape \(\)",
        "Program",
    ),
    "zero draws of the posterior": (
        lambda: fit(TARGET, opvi.MeanField, steps=1).sample(KEY, 0),
        opvi.OpviError,
        "at least one draw",
        "draws=0",
        "posterior.sample",
    ),
}


def _state(step: int) -> opvi.State:
    import equinox as eqx

    state = solver(KL, opvi.PathGradient()).init(opvi.MeanField(2), key=KEY)
    return eqx.tree_at(lambda s: s.step, state, jnp.asarray(step, jnp.int32))


@pytest.mark.parametrize("name", CASES)
def test_the_error_teaches(name: str) -> None:
    write, error, expected, got, instead = CASES[name]
    with pytest.raises(error) as caught:
        write()
    message = str(caught.value)
    parts = re.fullmatch(r"expected (.*); got (.*)\.\n  Write instead: (.*)", message, re.DOTALL)
    assert parts is not None, message
    for part, wanted in zip(parts.groups(), (expected, got, instead), strict=True):
        assert re.search(wanted, part), message


def test_a_fit_that_diverges_says_so_and_has_finite_draws() -> None:
    target = opvi.from_log_density(lambda z: -0.25 * jnp.sum(z**4), jnp.zeros(2))
    posterior = fit(target, opvi.MeanField(2, loc=2.0), optimiser=optax.sgd(1e3), steps=3000)
    assert posterior.result is opvi.Result.diverged
    assert "Diverged" in repr(posterior)
    assert np.all(np.isfinite(posterior.sample(jr.key(1), 500)))
