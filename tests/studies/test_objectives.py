"""The shapes are what they say, the pairs are those the library admits, and the blindness is a law."""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import opvi
from opvi.estimators import sample_sets
from opvi.studies.objectives import config, figure, shapes
from opvi.studies.objectives.run import COLUMNS
from tests.goodness import p_value

BY_NAME = {shape.name: shape for shape in shapes.SHAPES}


@pytest.mark.parametrize("shape", shapes.SHAPES, ids=lambda shape: shape.name)
def test_draws_have_the_density_and_the_sds(shape: shapes.Shape) -> None:
    draws = shape.sample(np.random.default_rng(0), 100_000)
    target = shapes.target(shape)
    cells = p_value(
        jnp.asarray(draws), lambda z: target.log_density(z), -5.0, 5.0, cells=10, fine=24
    )
    assert cells > 1e-3
    tolerance = 0.15 if shape.name == "heavy" else 0.03  # of 3 degrees: no fourth moment
    np.testing.assert_allclose(draws.std(axis=0), shape.sd, rtol=tolerance)


def test_w1_is_small_for_exact_draws_and_knows_a_shift() -> None:
    shape = BY_NAME["gaussian"]
    exact = shape.sample(np.random.default_rng(1), shapes.DRAWS)
    assert shapes.sliced_w1(exact, shape) < 0.03
    # Along a direction at angle a, a shift of 3 is one of 3 |cos a|: on average 6 / pi.
    moved = shapes.sliced_w1(exact + np.asarray([3.0, 0.0]), shape)
    assert moved == pytest.approx(6 / np.pi, abs=0.05)


def test_the_pairs_are_those_that_the_library_admits() -> None:
    pairs = set(config.pairs(config.FULL))
    with_density = {f for f in config.FAMILIES if config._has_density(f)}
    assert with_density == {"mean_field", "full_rank", "student_t", "mixture", "flow"}
    for objective, row in config.OBJECTIVES.items():
        families = {family for o, family in pairs if o == objective}
        stein = isinstance(row.objective().operator, opvi.AbstractSteinOperator)
        if row.annealed:
            assert families == set(config.FAMILIES) - with_density
        else:
            assert families == (set(config.FAMILIES) if stein else with_density), objective
    assert set(config.pairs(config.QUICK)) <= pairs


@pytest.mark.float64
@pytest.mark.parametrize(("objective", "sees"), [("kl", True), ("fisher", False)])
def test_scores_are_blind_to_the_weights_of_separated_modes(objective: str, sees: bool) -> None:
    """At p but for its weights, moving along them changes KL to first order, and Fisher hardly."""
    far = BY_NAME["far"]
    target = shapes.target(far)
    made = config.OBJECTIVES[objective].objective()
    q = config.start("mixture", far, config.AT_THE_MODES, jr.key(0))
    f = made.test_functions.init(2, key=jr.key(1))
    estimator = opvi.Reparameterised(20_000)

    @eqx.filter_jit
    def slope(q):
        sets = sample_sets(jr.key(2), estimator.draws, made, q, target)
        return estimator.gradient(made, f, q, sets)[1].logits

    # dKL/dl_1 = w_1 w_2 (log w_1/.3 - log w_2/.7), at equal weights.
    exact = 0.25 * (np.log(0.5 / 0.3) - np.log(0.5 / 0.7))
    measured = float(slope(q)[0])
    if sees:
        assert measured == pytest.approx(exact, rel=0.02)
    else:
        assert abs(measured) < 1e-3 * exact


def test_the_picture_has_a_panel_for_each_shape_and_two_for_the_weights() -> None:
    def row(objective: str, family: str, target: str, start: str) -> dict:
        values = {"objective": objective, "family": family, "target": target, "start": start}
        return dict.fromkeys(COLUMNS) | values | {"w1": 0.1, "w1_floor": 0.05, "mode_weight": 0.4}

    rows = [
        row(objective, family, shape.name, start)
        for objective, family in config.pairs(config.QUICK)
        for shape in shapes.SHAPES
        for start in config.starts(family, shape)
    ]
    picture = figure.objectives(rows)
    titles = [axes.get_title(loc="left") for axes in picture.axes]
    assert len([t for t in titles if t.endswith("W1 / floor")]) == 5
    assert len([t for t in titles if "weight" in t or t.startswith("...")]) == 3
    # KL with a program is refused: nothing is written there.
    assert len(picture.axes[0].texts) == len(config.pairs(config.QUICK))
