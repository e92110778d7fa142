"""The default fit: stages in order, each followed by a look at whether it was enough.

    target      can this density be a posterior at all?
    starts      of several sizes -> the basins that matter, with Laplace's approximations
    regression  in each basin the Gaussian that minimises KL(q || p), in closed form
    check       fresh draws of the mixture, weighed: Pareto k-hat and effective sample size
    adapt       weighted EM on the draws, while they do not count
    correct     importance weights turned into draws; where they are too few,
    polish      Hamiltonian transitions from the draws,
    refit       and a mixture fitted to where they led, adapted and corrected in its turn
    verdict     every check that costs little, on what the draws are made of

What one stage finds decides on the next; the log says so.
"""

import time
import warnings

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from opvi._core.errors import InvalidTargetError, require, teach
from opvi._core.types import Key
from opvi.diagnostics import Finding, Importance, importance, judge
from opvi.diagnostics.improper import along_silent, at_points
from opvi.families import AbstractTractableFamily, FullRank
from opvi.families.tractable.gaussian_mixture import GaussianMixture
from opvi.posterior import PoorFitWarning, Posterior
from opvi.posterior.evaluate import Evaluator
from opvi.posterior.stages import Stage, StagedSolution, history_of
from opvi.recipes.adapt import Proposal, adapt, fitted_to
from opvi.recipes.basins import RADII, Search, search
from opvi.recipes.correct import heaviest
from opvi.recipes.gaussians import Gaussians, concatenate
from opvi.recipes.outcome import Outcome, corrected, direct, polished
from opvi.recipes.regression import fit_gaussian
from opvi.recipes.weigh import Weighed, weigh
from opvi.solver import Result
from opvi.targets import AbstractTarget

CHECK = 2048
INDISTINGUISHABLE = 0.99  # ess fraction above which weights are left alone
ENOUGH = 0.8  # above which adapting costs more than it saves
HEAVY = 5.0  # a weight so many times the mean: a tail that the proposal lacks
REFIT, REFIT_ENOUGH = 4096, 0.5  # draws of a round, and the ess fraction at which it ends
USABLE, TRUSTED = 0.05, 0.7  # ess fraction and k-hat with which weights can correct draws


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

    noted = _refuse(evaluate, rng, log)
    found = search(evaluate, rng)
    log.add("starts", _describe(found))
    q = _gaussians(evaluate, found, rng, log)
    proposal = Proposal(q, weigh(evaluate, q, rng, CHECK))
    require(
        bool(np.isfinite(proposal.draws.log_density).any()),
        InvalidTargetError,
        expected="a density that a Gaussian can be fitted to from the inside",
        got="; ".join(f.message for f in noted) or "no finite log density at draws near the mode",
        write="supports={'a': numpyro.distributions.constraints.positive}  # where a latent ends",
    )
    weighed = _importance(proposal.draws, target)
    log.add("check", _quality(proposal, weighed))
    heavy = heaviest(proposal.draws.log_weights) > HEAVY
    if weighed.ess < ENOUGH or weighed.khat > 0.6 or q.size > 1 or heavy:
        proposal, trace = adapt(evaluate, proposal, rng)
        weighed = _importance(proposal.draws, target)
        traced = ", ".join(f"{x:.2f}" for x in trace)
        log.add("adapt", f"ess fractions {traced}; {_quality(proposal, weighed)}")
    family, outcome = _outcome(evaluate, proposal, weighed, found, rng, key, log)
    verdict = judge(outcome.evidence)
    log.add("verdict", f"{verdict.status.value}, on {outcome.evidence.draws:,} draws")
    solution = StagedSolution(
        stages=tuple(log.stages),
        history=history_of(log.trace),
        result=Result.completed,
        gradient_evaluations=evaluate.evaluations,
        seconds=time.perf_counter() - log.start,
    )
    posterior = Posterior(target, family, solution, key, outcome.draws, verdict)
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


def _refuse(evaluate: Evaluator, rng: np.random.Generator, log: Log) -> tuple[Finding, ...]:
    """Raise where no fit can be right; otherwise note what was found."""
    d = evaluate.dim
    radii = np.resize(RADII, min(max(64, d + 32), 512))[:, None]
    z = radii * rng.standard_normal((len(radii), d))
    found, values, scores = at_points(evaluate, z, rng)
    usable = np.isfinite(values) & np.isfinite(scores).all(1)
    if usable.sum() > d and not any(f.fatal for f in found):
        found += along_silent(evaluate, z[usable], scores[usable])
    for finding in found:
        if finding.fatal:
            raise InvalidTargetError(_teach(finding))
    log.add("target", "; ".join(f.message for f in found) or f"finite at {len(z)} points")
    return found


def _teach(finding: Finding) -> str:
    return teach(
        "a log density that depends on every latent and is finite, with its gradient, near the start",
        finding.message,
        "opvi.diagnostics.improper(target, key)  # looks again, at points of your choice (start=...)",
    )


def _gaussians(evaluate: Evaluator, found: Search, rng: np.random.Generator, log: Log) -> Gaussians:
    """One Gaussian a basin, weighted by the elbos."""
    parts, elbos = [], []
    for basin in found.basins:
        gaussian, trace = fit_gaussian(evaluate, basin.mean, basin.tril, rng)
        parts.append(gaussian)
        finite = [x for x in trace if np.isfinite(x)]
        elbos.append(-np.mean(finite[-3:]) if finite else -np.inf)
        log.trace += trace
    elbos = np.asarray(elbos)
    best = elbos.max() if np.isfinite(elbos).any() else 0.0
    shares = np.exp(np.maximum(elbos - best, -5.0))
    log.add("regression", f"elbo {best:.2f}, {len(log.trace)} rounds")
    return concatenate(parts, shares)


def _importance(weighed: Weighed, target: AbstractTarget) -> Importance:
    return importance(weighed.log_density, weighed.log_q, weighed.z, target.columns)


def _outcome(
    evaluate: Evaluator,
    proposal: Proposal,
    weighed: Importance,
    found: Search,
    rng: np.random.Generator,
    key: Key,
    log: Log,
) -> tuple[AbstractTractableFamily, Outcome]:
    """The draws as they are, corrected, or polished: the first of these that will do."""
    family = to_family(proposal.q)
    light = heaviest(proposal.draws.log_weights) <= HEAVY
    if weighed.ess > INDISTINGUISHABLE and weighed.khat < TRUSTED and light:
        return family, direct(evaluate, proposal, weighed, found, key)
    usable = weighed.ess > USABLE and weighed.khat < TRUSTED
    tried: list[tuple[AbstractTractableFamily, Outcome]] = []
    if usable:
        outcome = corrected(evaluate, proposal, weighed, family, found, rng, key)
        _note(log, "correct", outcome)
        if judge(outcome.evidence).good:
            return family, outcome
        tried.append((family, outcome))
    for moved, pool in polished(evaluate, proposal, family, found, usable, rng, key):
        _note(log, "polish", moved)
        again = _refit(evaluate, pool, rng)
        weighed = _importance(again.draws, evaluate.target)
        log.add("refit", _quality(again, weighed))
        if weighed.ess > USABLE and weighed.khat < TRUSTED:
            mixture = to_family(again.q)
            outcome = corrected(evaluate, again, weighed, mixture, found, rng, key)
            _note(log, "correct", outcome)
            if judge(outcome.evidence).good:
                return mixture, outcome
            tried.append((mixture, outcome))
        elif judge(moved.evidence).good:
            return family, moved
        tried.append((family, moved))
    return min(tried, key=lambda pair: judge(pair[1].evidence).numbers["size"])


def _refit(evaluate: Evaluator, pool: np.ndarray, rng: np.random.Generator) -> Proposal:
    """A mixture that follows polished draws, and is then adapted by importance sampling."""
    q = fitted_to(pool, rng)
    return adapt(
        evaluate, Proposal(q, weigh(evaluate, q, rng, REFIT)), rng, draws=REFIT, enough=REFIT_ENOUGH
    )[0]


def _note(log: Log, name: str, outcome: Outcome) -> None:
    log.add(name, f"{outcome.evidence.draws:,} draws, {outcome.cost:.1f} evaluations each")


def _describe(found: Search) -> str:
    basins = f"{len(found.basins)} basin{'s' * (len(found.basins) != 1)}"
    text = f"{found.starts} starts, {basins}"
    if found.failed:
        text += f", {found.failed} starts without a finite gradient"
    if found.unbounded:
        text += ", log density without a highest point"
    return text


def _quality(proposal: Proposal, weighed: Importance) -> str:
    many = "s" * (proposal.q.size > 1)
    return f"{proposal.q.size} Gaussian{many}: ess {weighed.ess:.3f}, k-hat {weighed.khat:.2f}"
