"""Operators for real numbers on states, and back: refused before the first step, with what to write."""

import jax
import jax.numpy as jnp
import jax.random as jr
import pytest

import opvi
from opvi import GibbsStein, LangevinStein, MixedStein, Objective
from tests.catalogue.targets import target_of
from tests.discrete_models import random_target
from tests.fixtures import skewed

REAL, STATES = skewed(2).target(), random_target((2, 2))


def mixed() -> opvi.AbstractTarget:
    return target_of(opvi.MixedFamily(opvi.FullRank(2), opvi.BernoulliMeanField(2)))


def fit(target, family=None, objective=None, **kwargs):
    return opvi.fit(target, family, objective, key=jr.key(0), steps=2, progress=False, **kwargs)


CASES = {
    "a continuous operator on states": (
        lambda: fit(STATES, None, Objective(LangevinStein())),
        "states have no score",
        "GibbsStein",
    ),
    "Fisher on states": (
        lambda: fit(STATES, None, Objective(opvi.Fisher())),
        "without gradients in z",
        r"Objective\(KL\(\)\)",
    ),
    "a discrete operator on real numbers": (
        lambda: fit(REAL, opvi.FullRank, Objective(GibbsStein())),
        "no successor of a real number",
        "LangevinStein",
    ),
    "a continuous operator on real numbers and states": (
        lambda: fit(mixed(), None, Objective(LangevinStein())),
        "sees both the real numbers and the states",
        "MixedStein",
    ),
    "a mixed operator on real numbers": (
        lambda: fit(REAL, opvi.FullRank, Objective(MixedStein())),
        "a family over real numbers and states",
        "MixedFamily",
    ),
    "a Gaussian for states": (
        lambda: fit(STATES, opvi.FullRank(2)),
        r"a family over states with \(2, 2\) states",
        "Autoregressive",
    ),
    "a Gaussian class for states": (
        lambda: fit(STATES, opvi.FullRank),
        "the kind of latents that the target has",
        "Autoregressive",
    ),
    "states for real numbers": (
        lambda: fit(REAL, opvi.Autoregressive((2, 2), key=jr.key(0))),
        "a family over real numbers",
        "FullRank",
    ),
    "another number of states": (
        lambda: fit(STATES, opvi.CategoricalMeanField((2, 3))),
        r"with \(2, 2\) states",
        "cardinalities",
    ),
    "test functions of two numbers for the operator of appendix C": (
        lambda: fit(STATES, None, Objective(opvi.DiscreteStein(), opvi.StateTestFunction((2, 2)))),
        r"from R\^2 to R\^1",
        r"StateTestFunction\(\(2, 2\), outputs=1\)",
    ),
    "test functions of one number for the Gibbs operator": (
        lambda: fit(
            STATES, None, Objective(GibbsStein(), opvi.TableTestFunction((2, 2), outputs=1))
        ),
        r"from R\^2 to R\^2",
        "same shape as z",
    ),
    "test functions of other states": (
        lambda: fit(STATES, None, Objective(GibbsStein(), opvi.StateTestFunction((3, 2)))),
        "a family of states for StateTestFunction",
        r"StateTestFunction\(\(2, 2\)\)",
    ),
    "test functions of states for real numbers": (
        lambda: fit(
            REAL, opvi.FullRank, Objective(LangevinStein(), opvi.StateTestFunction((2, 2)))
        ),
        "a family of states for StateTestFunction",
        "NeuralTestFunction",
    ),
    "a table of more states than fit": (
        lambda: opvi.TableTestFunction((2,) * 20),
        "65,536 states",
        "StateTestFunction",
    ),
    "a logarithm of something that may be negative": (
        lambda: Objective(GibbsStein(), opvi.StateTestFunction((2, 2)), opvi.Logarithm(1.0)),
        "either sign",
        "Square",
    ),
    "the divergence-free form beside states": (
        lambda: fit(
            mixed(),
            None,
            Objective(MixedStein(LangevinStein(opvi.DivergenceFree()))),
        ),
        "a divergence that does not ask for the density",
        "Exact",
    ),
    "alpha = 1": (
        lambda: Objective(opvi.Renyi(1.0)),
        "an alpha other than 1",
        r"Objective\(KL\(\)\)",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_refused(name: str) -> None:
    make, expected, write = CASES[name]
    with pytest.raises(
        opvi.OpviError, match=rf"{expected}[\s\S]*got[\s\S]*Write instead: .*{write}"
    ):
        make()


def test_a_user_s_test_functions_are_held_to_the_shape() -> None:
    class OneNumber(opvi.AbstractTestFunction):
        weight: jax.Array

        def __call__(self, z, score):
            return jnp.sum(self.weight * z)[None]

    class OneNumbers(opvi.AbstractTestFunctionFamily):
        ball: opvi.AbstractBall = opvi.L2Ball()

        def init(self, dim, *, key):
            return OneNumber(jnp.zeros(dim))

    with pytest.raises(
        opvi.IncompatibleError, match=r"R\^2 to R\^2[\s\S]*shape \(1,\) from OneNumbers"
    ):
        Objective(LangevinStein(), OneNumbers()).check(opvi.FullRank(2))
    # The operator of appendix C takes just these.
    Objective(opvi.DiscreteStein(), OneNumbers()).check(opvi.BernoulliMeanField(2))
