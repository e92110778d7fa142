"""Learn W and b, hide half of the pixels, and hold every method's posteriors against HMC's."""

import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import jax
import jax.random as jr
import numpy as np

import opvi
from opvi.datasets import binarized_mnist
from opvi.studies._results import Row
from opvi.studies._study import Measured, Report, Settings
from opvi.studies.lfa import config, figure, law, model, numbers, truth

COLUMNS = (
    "method",
    "seed",
    "images",
    "completed_log_likelihood",
    "standard_error",
    "gap_to_hmc",
    "paired_gap_se",
    "gap_to_mean_field_kl",
    "paired_gap_to_mean_field_kl_se",
    "mean_err",
    "logsd_err",
    "logsd_bias",
    "w1",
    "hidden_mean_log",
    "whole_log_mean",
    "whole_mean_log",
    "diverged",
    "r_hat",
    "seconds",
    "gradient_evaluations",
)

CHUNK = 100  # images side by side
KEPT = 8  # images whose draws the pictures show


class Problem(NamedTuple):
    """Test images with half of their pixels hidden, under the learned parameters."""

    images: np.ndarray
    seen: law.Pixels
    hidden: law.Pixels
    order: np.ndarray  # which pixels: the seen ones first
    parameters: law.Parameters


class Measurement(NamedTuple):
    """A method's numbers, one an image, and some of its draws."""

    label: str
    readings: numbers.Readings
    of_reference: numbers.Readings
    errors: numbers.Errors
    draws: np.ndarray
    cost: Mapping[str, float | int]


def measure(settings: Settings, report: Report) -> Measured:
    """One row per method and seed; the pictures show the first seed."""
    size = config.sized(settings.quick, settings["steps"], settings["methods"])
    rows: list[Row] = []
    figures = {}
    for seed in settings.seeds:
        problem = make_problem(size, settings["images"], seed)
        found: dict[str, Measurement] = {}
        for name, measurement in measurements(problem, size, jr.key(seed)):
            found[name] = measurement
            row = {"method": name, "seed": seed, **_row(measurement, found.get("mean_field_kl"))}
            report(row)
            rows.append(row)
        if not figures:
            figures = {
                "reconstructions.png": figure.reconstructions(problem, found),
                "posteriors.png": figure.posteriors(found),
                "table.png": figure.table([row for row in rows if row["seed"] == seed], found),
            }
    return Measured(tuple(rows), figures)


def make_problem(size: config.Size, images: int, seed: int) -> Problem:
    """W and b from training images by KL-EM; test images and hidden pixels at random."""
    data = binarized_mnist()
    train = data.train_images[: size.train_images]
    learned = model.learn(train, steps=size.learning_steps, key=jr.fold_in(jr.key(seed), 0))
    parameters = law.Parameters(*(np.asarray(x) for x in learned.parameters))
    rng = np.random.default_rng(seed)
    chosen = data.test_images[rng.permutation(len(data.test_images))[:images]]
    return Problem(chosen, *law.hide_half(chosen, parameters, rng), parameters)


def measurements(
    problem: Problem, size: config.Size, key: jax.Array
) -> Iterator[tuple[str, Measurement]]:
    """The truth first: half of its chains are what all others are measured against, and the other
    half stands in the table as a row of its own, which shows what noise alone makes of the numbers."""
    start = time.perf_counter()
    chains = truth.hmc(
        problem.seen, jr.fold_in(key, 1), chains=size.chains, draws=size.hmc_draws, chunk=CHUNK
    )
    reference = chains.half(0)
    of_reference = numbers.readings(problem.seen, problem.hidden, reference)

    def measured(label: str, z: np.ndarray, cost: Mapping[str, float | int]) -> Measurement:
        return Measurement(
            label,
            numbers.readings(problem.seen, problem.hidden, z),
            of_reference,
            numbers.errors(z, reference),
            z[:KEPT].copy(),
            cost,
        )

    costs = {
        "seconds": time.perf_counter() - start,
        "gradient_evaluations": chains.gradient_evaluations + law.NEWTON_EVALUATIONS,
        "diverged": 0,
        "r_hat": chains.r_hat,
    }
    yield "hmc", measured("HMC", chains.half(1), costs)
    for method in config.methods(size):
        posteriors = fit(method, problem.seen, jr.fold_in(key, 2))
        z = posteriors.sample(jr.fold_in(key, 3), reference.shape[1])
        newton = 0 if method.coordinates == "plain" else law.NEWTON_EVALUATIONS
        costs = {
            "seconds": posteriors.seconds,
            "gradient_evaluations": posteriors.gradient_evaluations + newton,
            "diverged": len(posteriors.diverged),
        }
        yield method.name, measured(method.label, z, costs)


def fit(method: config.Method, seen: law.Pixels, key: jax.Array) -> opvi.Posteriors:
    """All images side by side."""
    return opvi.fit_many(
        law.target,
        law.rows(seen, method.coordinates),
        method.family,
        method.objective,
        key=key,
        steps=method.steps,
        estimator=method.estimator,
        optimiser=method.optimiser,
        test_function_optimiser=method.test_function_optimiser,
        critic_steps=method.critic_steps,
        share_draws=method.share_draws,
        chunk=CHUNK,
    )


def _row(own: Measurement, kl: Measurement | None) -> Row:
    log_likelihood = own.readings.hidden_log_mean
    mean, error = numbers.mean_and_error(log_likelihood)
    gap, gap_error = numbers.mean_and_error(log_likelihood - own.of_reference.hidden_log_mean)
    row: dict = {
        "images": len(log_likelihood),
        "completed_log_likelihood": mean,
        "standard_error": error,
        "gap_to_hmc": gap,
        "paired_gap_se": gap_error,
        **{name: float(x.mean()) for name, x in own.errors._asdict().items()},
        **{name: float(x.mean()) for name, x in own.readings._asdict().items()},
        **own.cost,
    }
    if kl is not None:
        difference = log_likelihood - kl.readings.hidden_log_mean
        row["gap_to_mean_field_kl"], row["paired_gap_to_mean_field_kl_se"] = numbers.mean_and_error(
            difference
        )
    return row
