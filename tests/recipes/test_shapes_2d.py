"""Banana, two modes, x-shape and ring: nearly as good as exact draws (FINDINGS.md, section 1).

The recommended program is semi-implicit, with a test function that sees the score and the functional
gradient; all else by default. Two shapes need more than that, for one reason: a score says nothing
about how mass is divided between places with none in between, so that what noise divides stays divided.
Much noise of the program at the start keeps a way open between two modes; more draws a step, in fewer
steps, keep the ring even.
"""

import functools
from typing import Any

import jax.random as jr
import numpy as np
import pytest

import opvi
from tests.fixtures import SHAPES_2D, sliced_w1

DRAWS = 10_000
REPEATS = 4  # one pair of samples of 10,000 is off by a third of the floor

OBJECTIVE = opvi.Objective(opvi.LangevinStein(), opvi.NeuralTestFunction(sees_score=True))

SETTINGS: dict[str, dict[str, Any]] = {
    "banana": {},
    "two_modes": {"family": functools.partial(opvi.SemiImplicitProgram, noise_scale=0.8)},
    "x_shape": {},
    "ring": {"estimator": opvi.FunctionalGradient(1024), "steps": 2000},
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES_2D)
def test_sliced_w1_is_at_most_one_and_a_half_times_the_floor(shape: str) -> None:
    p = SHAPES_2D[shape]()
    posterior = opvi.fit(
        p.target(), objective=OBJECTIVE, key=jr.key(0), progress=False, **SETTINGS[shape]
    )

    def distance(sample, seed: int) -> float:
        exact = (p.sample(jr.key(100 + k), DRAWS) for k in range(REPEATS))
        drawn = (sample(jr.key(seed + k), DRAWS) for k in range(REPEATS))
        return float(np.mean([sliced_w1(x, y) for x, y in zip(exact, drawn, strict=True)]))

    assert posterior.result is opvi.Result.completed
    assert distance(posterior.sample, 300) <= 1.5 * distance(p.sample, 200)
