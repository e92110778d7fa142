"""The variance of score-function gradients, control variate by control variate, on models with states.

    python -m benchmarks.score_function --out results/score_function.json

The trace of the covariance of the gradient of KL in all parameters of q, from 64 draws, over `--repeats`
independent gradients; at the start of a fit and after 100 steps of it. `times lower` is against the plain
score function. All of them are unbiased (tests/estimators), so that this is all there is to choose by,
with the log densities that one gradient costs.
"""

import argparse
import json
import pathlib

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

import opvi
from benchmarks._table import markdown
from tests.discrete_models import ising, noisy_or, poisson

DRAWS = 64
MODELS = {"noisy-OR, 8 latents": noisy_or, "Ising 3 x 3": ising, "Poisson, {0..30}": poisson}
CONTROLS = {
    "plain": opvi.NoControlVariate(),
    "leave one out": opvi.LeaveOneOut(),
    "Stein, regression": opvi.SteinControlVariate(opvi.Regression()),
    "Stein, neighbours": opvi.SteinControlVariate(opvi.Neighbours()),
}


def families(target: opvi.AbstractDiscreteTarget) -> dict[str, opvi.AbstractDiscreteFamily]:
    return {
        "mean-field": opvi.CategoricalMeanField(target.cardinalities),
        "autoregressive": opvi.Autoregressive(target.cardinalities, key=jr.key(0)),
    }


def variance(target, family, estimator: opvi.ScoreFunction, repeats: int) -> float:
    """The trace of the covariance of the gradient."""
    objective = opvi.Objective(opvi.KL())
    f = objective.test_functions.init(target.dim, key=jr.key(0))

    @eqx.filter_jit
    def gradients(family, keys):
        def one(key):
            sets = opvi.estimators.sample_sets(key, DRAWS, objective, family, target)
            gradient = estimator.gradient(objective, f, family, sets)[1]
            parameters = eqx.filter(gradient, eqx.is_inexact_array)
            return jnp.concatenate([x.ravel() for x in jax.tree_util.tree_leaves(parameters)])

        return jax.lax.map(one, keys)

    drawn = np.asarray(gradients(family, jr.split(jr.key(7), repeats)), np.float64)
    return float(drawn.var(axis=0, ddof=1).sum())


def measure(repeats: int, steps: int) -> list[dict]:
    rows = []
    for model, make in MODELS.items():
        target = make()
        for family, start in families(target).items():
            posterior = opvi.fit(
                target, start, key=jr.key(1), steps=steps, learning_rate=3e-2, progress=False
            )
            for when, q in (("start", start), (f"step {steps}", posterior.family)):
                plain = None
                for control, way in CONTROLS.items():
                    for blanket in (False, True):
                        estimator = opvi.ScoreFunction(DRAWS, way, blanket)
                        found = variance(target, q, estimator, repeats)
                        plain = found if plain is None else plain
                        beside = estimator.evaluations_beside(target)
                        rows.append(
                            {
                                "model": model,
                                "family": family,
                                "at": when,
                                "control variate": control + (", Rao-Blackwell" * blanket),
                                "variance": found,
                                "times lower": plain / found,
                                "log densities": DRAWS + beside,
                            }
                        )
    return rows


def side_by_side(rows: list[dict]) -> list[dict]:
    """`times lower`, a line for each control variate and a column for each model, family and moment."""
    lines: dict[str, dict] = {}
    for row in rows:
        line = lines.setdefault(row["control variate"], {"": row["control variate"]})
        line[f"{row['model']}, {row['family']}, {row['at']}"] = row["times lower"]
    return list(lines.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--steps", type=int, default=100)
    arguments = parser.parse_args()
    rows = measure(arguments.repeats, arguments.steps)
    print(markdown(side_by_side(rows)))
    if arguments.out is not None:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
