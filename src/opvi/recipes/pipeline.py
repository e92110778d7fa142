"""The default fit: stages in order, each followed by a look at whether it was enough.

    search      starts of several sizes -> the basins that matter, with Laplace's approximations
    regression  in each basin the Gaussian that minimises KL(q || p), in closed form
    check       fresh draws of the mixture, weighed: Pareto k-hat and effective sample size
    adapt       weighted EM on the draws, while they do not count
    correct     importance weights turned into draws

What one stage finds decides on the next; the log says so.
"""

import time
import warnings

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from opvi._core.types import Key
from opvi.diagnostics import (
    Evidence,
    Importance,
    importance,
    judge,
    ksd_test,
    score_identities,
)
from opvi.families import AbstractTractableFamily, FullRank
from opvi.families.tractable.gaussian_mixture import GaussianMixture
from opvi.posterior import PoorFitWarning, Posterior
from opvi.posterior.draws import AbstractDraws
from opvi.posterior.evaluate import Evaluator
from opvi.posterior.stages import Stage, StagedSolution, history_of
from opvi.recipes.adapt import Proposal, adapt
from opvi.recipes.basins import Search, search
from opvi.recipes.correct import correct
from opvi.recipes.gaussians import Gaussians, concatenate
from opvi.recipes.regression import fit_gaussian
from opvi.recipes.weigh import Weighed, weigh
from opvi.solver import Result
from opvi.targets import AbstractTarget

CHECK = 2048
INDISTINGUISHABLE = 0.99  # ess fraction above which weights are left alone
ENOUGH = 0.8  # above which adapting costs more than it saves
USABLE = 0.1  # below which weights correct nothing


class Log:
    """What was tried, with its cost."""

    def __init__(self, evaluate: Evaluator):
        self.evaluate, self.stages = evaluate, []
        self.start = self.last = time.perf_counter()
        self.spent = evaluate.evaluations
        self.trace: list[float] = []

    def add(self, name: str, found: str) -> None:
        now = time.perf_counter()
        spent = self.evaluate.evaluations
        self.stages.append(Stage(name, found, spent - self.spent, now - self.last))
        self.last, self.spent = now, spent


def default_fit(target: AbstractTarget, key: Key) -> Posterior:
    evaluate = Evaluator(target)
    rng = np.random.default_rng(np.asarray(jr.key_data(key)))
    log = Log(evaluate)

    found = search(evaluate, rng)
    log.add("starts", _describe(found))
    q = _gaussians(evaluate, found, rng, log)
    proposal = Proposal(q, weigh(evaluate, q, rng, CHECK))
    weighed = _importance(proposal.draws, target)
    log.add("check", _quality(proposal, weighed))
    if weighed.ess < ENOUGH or weighed.khat > 0.6 or q.size > 1:
        proposal, trace = adapt(evaluate, proposal, rng)
        weighed = _importance(proposal.draws, target)
        log.add("adapt", f"ess fractions {', '.join(f'{x:.2f}' for x in trace)}")
    family = to_family(proposal.q)
    draws, evidence = _finish(proposal, weighed, family, target, key)
    verdict = judge(evidence)
    solution = StagedSolution(
        stages=tuple(log.stages),
        history=history_of(log.trace),
        result=Result.completed,
        gradient_evaluations=evaluate.evaluations,
        seconds=time.perf_counter() - log.start,
    )
    posterior = Posterior(target, family, solution, key, draws, verdict)
    if not verdict.good:
        warnings.warn(repr(verdict), PoorFitWarning, stacklevel=3)
    return posterior


def to_family(q: Gaussians) -> AbstractTractableFamily:
    dtype = jnp.result_type(float)
    if q.size == 1:
        return FullRank(
            q.dim, loc=jnp.asarray(q.means[0], dtype), scale_tril=jnp.asarray(q.trils[0], dtype)
        )
    return GaussianMixture(
        jnp.asarray(q.weights, dtype), jnp.asarray(q.means, dtype), jnp.asarray(q.trils, dtype)
    )


def _gaussians(evaluate: Evaluator, found: Search, rng: np.random.Generator, log: Log) -> Gaussians:
    """One Gaussian a basin, weighted by the elbos."""
    parts, elbos = [], []
    for basin in found.basins:
        gaussian, trace = fit_gaussian(evaluate, basin.mean, basin.tril, rng)
        parts.append(gaussian)
        elbos.append(-np.mean(trace[-3:]))
        log.trace += trace
    elbos = np.asarray(elbos)
    shares = np.exp(np.maximum(elbos - elbos.max(), -5.0))
    log.add("regression", f"elbo {elbos.max():.2f}, {len(log.trace)} rounds")
    return concatenate(parts, shares)


def _importance(weighed: Weighed, target: AbstractTarget) -> Importance:
    return importance(weighed.log_density, weighed.log_q, weighed.z, target.columns)


def _finish(
    proposal: Proposal,
    weighed: Importance,
    family: AbstractTractableFamily,
    target: AbstractTarget,
    key: Key,
) -> tuple[AbstractDraws | None, Evidence]:
    seen = proposal.draws
    if weighed.ess > INDISTINGUISHABLE and weighed.khat < 0.7:
        return None, _look(seen.z, seen.score, weighed, target, key)
    draws, relative = correct(family, seen.log_weights)
    copies = draws.copies(relative + draws.log_bound, np.random.default_rng(0).random(len(seen.z)))
    z, score = np.repeat(seen.z, copies, axis=0), np.repeat(seen.score, copies, axis=0)
    return draws, _look(z, score, weighed, target, key)


def _look(z, score, weighed, target, key) -> Evidence:
    return Evidence(
        identities=score_identities(z, score, target.columns),
        ksd=ksd_test(z, score, jr.fold_in(key, 11)),
        importance=weighed,
    )


def _describe(found: Search) -> str:
    basins = f"{len(found.basins)} basin{'s' * (len(found.basins) != 1)}"
    text = f"{found.starts} starts, {basins}"
    if found.unbounded:
        text += ", log density without a highest point"
    return text


def _quality(proposal: Proposal, weighed: Importance) -> str:
    many = "s" * (proposal.q.size > 1)
    return f"{proposal.q.size} Gaussian{many}: ess {weighed.ess:.3f}, k-hat {weighed.khat:.2f}"
