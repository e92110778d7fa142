"""Fit every law by every Stein discrepancy; say how far each ends from maximum likelihood."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

import opvi
from opvi.studies._results import Row
from opvi.studies._study import Measured, Report, Settings
from opvi.studies.stein_models import figure, laws

COLUMNS = (
    "method",
    "law",
    "seed",
    "rows",
    "worst_z",
    "rms_z",
    "kl",
    "parameters",
    "maximum_likelihood",
    "standard_errors",
    "truth",
    "skipped",
    "seconds",
)


@dataclass(frozen=True)
class Method:
    """A discrepancy, and how it is minimised. `batch`: rows a step, all of them where it is None."""

    name: str
    label: str
    objective: Callable[[], opvi.Objective | opvi.ScoreMatching]
    batch: int | None
    learning_rate: float
    steps: int
    critic_steps: int = 5


def methods(quick: bool) -> tuple[Method, ...]:
    share = 0.4 if quick else 1.0
    scaled = lambda steps: int(share * steps)
    return (
        Method("score_matching", "score matching", opvi.ScoreMatching, None, 3e-2, scaled(2000)),
        Method("kernel", "kernel ball", _kernel, 300, 2e-2, scaled(4000)),
        Method("neural", "neural, L2 ball", _neural, 1000, 1e-2, scaled(3000)),
    )


def _kernel() -> opvi.Objective:
    return opvi.Objective(opvi.LangevinStein(), opvi.KernelBall())


def _neural() -> opvi.Objective:
    return opvi.Objective(opvi.LangevinStein(), opvi.NeuralTestFunction(width=16, depth=2))


def measure(settings: Settings, report: Report) -> Measured:
    """One row per law, method and seed: the data are new with each seed."""
    rows: list[Row] = []
    for seed in settings.seeds:
        for name, law in laws.LAWS.items():
            data = laws.sample(law, settings["rows"], np.random.default_rng(seed))
            best = laws.maximum_likelihood(law, data)
            for method in methods(settings.quick):
                learned = learn(method, law, data, jr.key(seed))
                row = {"law": name, "seed": seed, **numbers(law, learned, best)}
                row |= {"method": method.name, "rows": len(data)}
                report(row)
                rows.append(row)
    return Measured(tuple(rows), {"stein_models.png": figure.estimates(rows)})


def learn(method: Method, law: laws.Law, data: np.ndarray, key: jax.Array) -> opvi.SteinLearned:
    return opvi.learn_by_stein(
        law.log_density,
        data,
        jnp.asarray(law.start),
        method.objective(),
        key=key,
        steps=method.steps,
        batch_size=len(data) if method.batch is None else method.batch,
        learning_rate=method.learning_rate,
        critic_steps=method.critic_steps,
    )


def numbers(law: laws.Law, learned: opvi.SteinLearned, best: laws.Estimate) -> Row:
    """`worst_z`, `rms_z`: from maximum likelihood, in its standard errors. `kl`: from the truth."""
    theta = np.asarray(learned.parameters)
    z = (theta - best.theta) / best.errors
    return {
        "worst_z": float(np.max(np.abs(z))),
        "rms_z": float(np.sqrt(np.mean(z**2))),
        "kl": _kl(law, learned.parameters),
        "parameters": theta.tolist(),
        "maximum_likelihood": best.theta.tolist(),
        "standard_errors": best.errors.tolist(),
        "truth": list(law.truth),
        "skipped": learned.skipped,
        "seconds": learned.seconds,
    }


def _kl(law: laws.Law, theta: jax.Array) -> float:
    """KL(p_truth || p_theta) by quadrature."""
    truth = jnp.asarray(law.truth, theta.dtype)
    points = jnp.asarray(laws.grid(law.dim), theta.dtype)

    def log_p(theta: jax.Array) -> jax.Array:
        values = jax.vmap(lambda x: law.log_density(theta, x))(points)
        return values - jax.nn.logsumexp(values)

    of_truth = log_p(truth)
    return float(jnp.sum(jnp.exp(of_truth) * (of_truth - log_p(theta))))
