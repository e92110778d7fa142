"""Fit every pair to every shape, and measure draws of each fit against the law."""

import equinox as eqx
import jax
import jax.random as jr
import numpy as np

import opvi
from opvi.studies._results import Row
from opvi.studies._study import Measured, Report, Settings
from opvi.studies.objectives import config, figure, shapes

COLUMNS = (
    "method",
    "objective",
    "family",
    "target",
    "start",
    "seed",
    "compares",
    "estimator",
    "w1",
    "w1_floor",
    "mode_weight",
    "sd_ratio",
    "gradient_evaluations",
    "seconds",
    "result",
)


def measure(settings: Settings, report: Report) -> Measured:
    """One row per objective, family, shape and seed. `seconds` are those of the steps: the
    compilation is shared by the shapes, and left out."""
    size = config.QUICK if settings.quick else config.FULL
    rows: list[Row] = []
    for objective, family in config.pairs(size):
        fit = _Fit(objective, family, size)
        for shape in shapes.SHAPES:
            if shape.name not in size.shapes:
                continue
            for start in config.starts(family, shape):
                for seed in settings.seeds:
                    rows.append(fit(shape, start, seed))
                    report(rows[-1])
    return Measured(tuple(rows), {"objectives.png": figure.objectives(rows)})


class _Fit:
    """One solver for all shapes and seeds: one trace."""

    def __init__(self, objective: str, family: str, size: config.Size):
        self.objective, self.family = objective, family
        self.solver, self.steps = config.solver(objective, family, size)
        self.compiled = False

    def __call__(self, shape: shapes.Shape, start: str, seed: int) -> Row:
        family_key, solver_key, draw_key = jr.split(jr.key(seed), 3)
        solver = eqx.tree_at(lambda s: s.target, self.solver, shapes.target(shape))
        q = config.start(self.family, shape, start, family_key)
        state = solver.init(q, key=solver_key)
        if not self.compiled:
            opvi.solve(solver, state, steps=self.steps, until=1)
            self.compiled = True
        solution = opvi.solve(solver, state, steps=self.steps)
        if solution.result is opvi.Result.interrupted:
            raise KeyboardInterrupt
        z = np.asarray(jax.device_get(_draws(solution.family, draw_key)), float)
        return {
            "method": f"{self.objective} + {self.family}",
            "objective": self.objective,
            "family": self.family,
            "target": shape.name,
            "start": start,
            "seed": seed,
            "compares": config.OBJECTIVES[self.objective].compares,
            "estimator": type(solver.estimator).__name__,
            "w1": shapes.sliced_w1(z, shape),
            "w1_floor": shapes.floor(shape),
            "mode_weight": float(np.mean(z[:, 0] < 0)) if shape.name in shapes.CENTRES else None,
            "sd_ratio": [float(sd) for sd in z.std(axis=0) / np.asarray(shape.sd)],
            "gradient_evaluations": solution.gradient_evaluations,
            "seconds": solution.seconds,
            "result": solution.result.name,
        }


@eqx.filter_jit
def _draws(family: opvi.AbstractFamily, key: jax.Array) -> jax.Array:
    return family.sample(key, shapes.DRAWS)
