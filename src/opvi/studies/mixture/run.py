"""Fit every method at every seed and measure 100,000 draws of each fit against the exact law."""

import jax
import jax.random as jr
import numpy as np

import opvi
from opvi.studies._results import Row
from opvi.studies._study import Measured, Report, Settings
from opvi.studies.mixture import config, figure, law

COLUMNS = (
    "method",
    "seed",
    "w1",
    "w1_floor",
    "mean",
    "sd",
    "mode_means",
    "mode_sds",
    "mode_weights",
    "seconds",
    "gradient_evaluations",
)


def measure(settings: Settings, report: Report) -> Measured:
    """One row per method and seed."""
    target = law.target()
    size = config.QUICK if settings.quick else config.FULL
    rows: list[Row] = []
    draws: dict[str, list[np.ndarray]] = {}
    for method in config.methods(target, size):
        # One solver for all seeds: one trace. `seconds` of the first seed has the compilation in it.
        draws[method.name] = []
        for seed in settings.seeds:
            z, solution = _fit(method, target, seed)
            row = {
                "method": method.name,
                "seed": seed,
                **_numbers(z),
                "w1_floor": law.wasserstein(law.sample(np.random.default_rng(seed), len(z))),
                "seconds": solution.seconds,
                "gradient_evaluations": solution.gradient_evaluations,
            }
            report(row)
            rows.append(row)
            draws[method.name].append(z)
    return Measured(tuple(rows), {"mixture.png": figure.mixture(rows, draws)})


def _fit(
    method: config.Method, target: opvi.AbstractTarget, seed: int
) -> tuple[np.ndarray, opvi.Solution]:
    family_key, solver_key, draw_key = jr.split(jr.key(seed), 3)
    family = method.family(target.dim, key=family_key)
    state = method.solver.init(family, key=solver_key)
    solution = opvi.solve(method.solver, state, steps=method.steps)
    if solution.result is opvi.Result.interrupted:
        raise KeyboardInterrupt
    posterior = opvi.Posterior(target, solution.family, solution, jr.key(seed))
    return np.asarray(jax.device_get(posterior.sample(draw_key, config.DRAWS)), float), solution


def _numbers(z: np.ndarray) -> dict[str, float | list[float]]:
    sides = (z[z <= 0], z[z > 0])
    return {
        "w1": law.wasserstein(z),
        "mean": float(z.mean()),
        "sd": float(z.std()),
        "mode_means": [float(side.mean()) if side.size else float("nan") for side in sides],
        "mode_sds": [float(side.std()) if side.size else float("nan") for side in sides],
        "mode_weights": [side.size / z.size for side in sides],
    }
