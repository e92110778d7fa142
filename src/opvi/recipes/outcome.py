"""What a proposal is turned into: its own draws, draws corrected by weights, or polished draws.

Each comes with evidence: about the draws that a user will get, and for polished ones about the chains
that the recipe of the draws was taken from.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from opvi._core.types import Key
from opvi.diagnostics import (
    Evidence,
    Finding,
    Importance,
    Modes,
    Refresh,
    importance,
    look,
    modes_of,
    refresh,
)
from opvi.diagnostics.examine import EDGE
from opvi.diagnostics.improper import boundary
from opvi.families import AbstractTractableFamily
from opvi.posterior.draws import AbstractDraws, Direct, Refreshed
from opvi.posterior.evaluate import Evaluator
from opvi.recipes.adapt import Proposal
from opvi.recipes.basins import Search
from opvi.recipes.correct import correct
from opvi.recipes.weigh import Weighed, weigh

JUDGED = 1500  # corrected draws that the checks are given
MOST_EXTRA = 12_000  # evaluations spent on making so many
CHAINS = 600
STEPS, LEAPFROGS = 10, 6  # of a leg
PAUSES = (2, 5)  # legs
STILL = 0.15  # sd that the moments of so many chains move by noise


@dataclass(frozen=True)
class Outcome:
    """`draws`: where draws come from (None: the family as it is). `cost`: evaluations of each."""

    draws: AbstractDraws | None
    evidence: Evidence
    cost: float = 0.0


def direct(
    evaluate: Evaluator, proposal: Proposal, weighed: Importance, found: Search, key: Key
) -> Outcome:
    seen = proposal.draws
    values = seen.z, seen.log_density, seen.score
    evidence = look(evaluate, *values, key, weighted=weighed, seen=_modes(found, seen.z))
    return Outcome(None, evidence)


def corrected(
    evaluate: Evaluator,
    proposal: Proposal,
    weighed: Importance,
    family: AbstractTractableFamily,
    found: Search,
    rng: np.random.Generator,
    key: Key,
) -> Outcome:
    seen = proposal.draws
    draws = correct(family, seen.log_weights)
    wanted = int(JUDGED * draws.evaluations_per_draw) - len(seen.z)
    if wanted > 0:
        seen = _both(seen, weigh(evaluate, proposal.q, rng, min(wanted, MOST_EXTRA)))
        # More draws know more about the tail of the weights.
        columns = evaluate.target.columns
        weighed = importance(seen.log_density, seen.log_q, seen.z, columns)
    copies = draws.copies(seen.log_weights, rng.random(len(seen.z)))
    z, values, score = (
        np.repeat(x, copies, axis=0) for x in (seen.z, seen.log_density, seen.score)
    )
    evidence = look(
        evaluate, z, values, score, key, weighted=weighed, corrected=True, seen=_modes(found, z)
    )
    return Outcome(draws, evidence, draws.evaluations_per_draw)


def polished(
    evaluate: Evaluator,
    proposal: Proposal,
    family: AbstractTractableFamily,
    found: Search,
    usable: bool,
    rng: np.random.Generator,
    key: Key,
) -> Iterator[tuple[Outcome, np.ndarray]]:
    """Hamiltonian transitions in legs: each tells whether those before it were enough.

    After `PAUSES` legs the outcome so far, and the draws of the last two.
    """
    base = correct(family, proposal.draws.log_weights) if usable else Direct(family=family)
    chains = max(CHAINS, 3 * evaluate.dim)
    z, steps = base.sample(evaluate.target, jr.fold_in(key, 20), chains), 0
    evaluate.evaluations += int(base.evaluations_per_draw * chains)
    findings = _edge(evaluate, proposal.draws, rng)
    for i in range(1, PAUSES[-1] + 1):
        leg = refresh(
            evaluate.target,
            z,
            jr.fold_in(key, 20 + i),
            steps=STEPS,
            leapfrogs=LEAPFROGS,
            draws=chains,
            rounds=1,
        )
        steps += leg.steps
        evaluate.evaluations += leg.gradient_evaluations
        moved = np.append(leg.natural.shift, leg.natural.log_sd_ratio)
        still = i > 1 and bool(np.abs(moved).max() < STILL)
        if still or i in PAUSES:
            draws = _refreshed(base, leg, steps)
            evidence = look(
                evaluate,
                np.asarray(leg.draws, np.float64),
                np.asarray(leg.log_density, np.float64),
                np.asarray(leg.scores, np.float64),
                jr.fold_in(key, 40 + i),
                refreshed=leg,
                findings=findings,
                seen=_modes(found, leg.draws),
            )
            pool = np.concatenate([np.asarray(z), np.asarray(leg.draws)]).astype(np.float64)
            yield Outcome(draws, evidence, draws.evaluations_per_draw), pool
        if still:
            return
        z = jnp.asarray(leg.draws)


def _refreshed(base: AbstractDraws, leg: Refresh, steps: int) -> Refreshed:
    dtype = jnp.result_type(float)
    return Refreshed(
        base,
        jnp.asarray(leg.loc, dtype),
        jnp.asarray(leg.scale, dtype),
        step_size=leg.step_size,
        steps=steps,
        leapfrogs=LEAPFROGS,
    )


def _edge(evaluate: Evaluator, seen: Weighed, rng: np.random.Generator) -> tuple[Finding, ...]:
    inside = np.isfinite(seen.log_density)
    if inside.mean() > 1 - EDGE or not inside.any():
        return ()
    return (boundary(evaluate, seen.z, inside, rng),)


def _modes(found: Search, z: np.ndarray) -> Modes:
    return modes_of(found.basins, z, growing=found.growing)


def _both(a: Weighed, b: Weighed) -> Weighed:
    return Weighed(
        np.concatenate([a.z, b.z]),
        np.concatenate([a.log_density, b.log_density]),
        np.concatenate([a.score, b.score]),
        np.concatenate([a.log_q, b.log_q]),
    )
