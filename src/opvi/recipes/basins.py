"""Starts of several sizes, where they end, and which of them ended in the same place."""

from dataclasses import dataclass

import numpy as np

from opvi._core.errors import InvalidTargetError, require
from opvi._core.linear import factor_of_inverse
from opvi.diagnostics.modes import Basin, group
from opvi.posterior.evaluate import Evaluator
from opvi.recipes.gaussians import Gaussians
from opvi.recipes.newton import Ascent, ascend

RADII = (0.1, 0.5, 1.0, 1.0, 2.0, 2.0, 3.0, 4.0)
FAR = (6.0, 10.0, 6.0, 10.0, 6.0, 10.0, 15.0, 20.0)
FAR_IN_SD = (4.0, 8.0, 4.0, 8.0, 12.0, 12.0)
SMALL = 40  # dimensions up to which a start costs little
IRRELEVANT = 12.0  # nats of evidence below the best: e^-12 of the mass
MOST_STARTS = 96
MOST_BASINS = 24


@dataclass(frozen=True)
class Search:
    """- `basins`: those that matter, the heaviest first.
    - `unbounded`: log p rose without end along some start; its best Gaussian is a basin.
    - `growing`: the last starts still found something new, or more than `MOST_BASINS` matter.
    """

    basins: tuple[Basin, ...]
    starts: int
    failed: int
    unbounded: bool
    growing: bool


def search(evaluate: Evaluator, rng: np.random.Generator) -> Search:
    """Climb from near and from far, and from more as long as they keep ending in new places."""
    d = evaluate.dim
    radii = np.array(RADII if d <= SMALL else RADII[1:6])
    ascents = ascend(evaluate, rng.standard_normal((len(radii), d)) * radii[:, None])
    require(
        bool(ascents),
        InvalidTargetError,
        expected="a log density that is finite, with a finite gradient, somewhere near the start",
        got=f"none at {len(radii)} starts on the unconstrained scale",
        write="opvi.diagnostics.improper(target, key)  # says what is wrong, and where",
    )
    started, growing = len(radii), False
    basins = _group(evaluate, ascents)
    while started < MOST_STARTS:
        before = len(_relevant(basins))
        starts = _further(rng, basins, d) if before > 1 else _far(rng, basins, d)
        ascents += ascend(evaluate, starts)
        started += len(starts)
        basins = _group(evaluate, ascents)
        growing = len(_relevant(basins)) > before
        if not growing:
            break
    best = max((b.log_density for b in basins), default=-np.inf)
    runaway = [a for a in ascents if not a.converged and a.log_density > best + 0.5 and a.path]
    found = _relevant(basins)
    relevant = found[:MOST_BASINS]
    if runaway or not relevant:
        climbed = runaway or [a for a in ascents if a.path]
        relevant = (_along_path(evaluate, rng, climbed, relevant),)
    growing = growing or len(found) > MOST_BASINS
    return Search(relevant, started, started - len(ascents), bool(runaway), growing)


def _group(evaluate: Evaluator, ascents: list[Ascent]) -> list[Basin]:
    ended = [(a.z, a.log_density, a.hessian) for a in ascents if a.converged]
    ends = [(z, value, hessian) for z, value, hessian in ended if hessian is not None]
    if not ends:
        return []
    z, values, hessians = (np.stack(x) for x in zip(*ends, strict=True))
    return group(evaluate, z, values, hessians)


def _relevant(basins: list[Basin]) -> tuple[Basin, ...]:
    ordered = sorted(basins, key=lambda b: -b.log_evidence)
    return tuple(b for b in ordered if b.log_evidence > ordered[0].log_evidence - IRRELEVANT)


def _further(rng: np.random.Generator, basins: list[Basin], d: int, n: int = 16) -> np.ndarray:
    """Starts spread over twice the region that the modes so far take up, and a little beyond."""
    centres = np.stack([b.mean for b in basins])
    spread = 2.0 * centres.std(0) + np.mean([np.linalg.norm(b.tril, axis=1) for b in basins], 0)
    return centres.mean(0) + spread * rng.standard_normal((n, d))


def _far(rng: np.random.Generator, basins: list[Basin], d: int) -> np.ndarray:
    """Starts far from 0, and far from the one mode in its own units."""
    radii = np.array(FAR if d <= SMALL else FAR[:2])[:, None]
    starts = radii * rng.standard_normal((len(radii), d))
    if basins:
        sds = np.array(FAR_IN_SD if d <= SMALL else FAR_IN_SD[:2])[:, None]
        unit = np.linalg.norm(basins[0].tril, axis=1)
        near = basins[0].mean + sds * unit * rng.standard_normal((len(sds), d))
        starts = np.concatenate([starts, near])
    return starts


def _along_path(
    evaluate: Evaluator,
    rng: np.random.Generator,
    runaway: list[Ascent],
    others: tuple[Basin, ...],
    draws: int = 8,
) -> Basin:
    """The Gaussian of least KL(q || p) among those met on the way up, as in Pathfinder.

    Where log p has no highest point there may still be a place with most of the mass.
    """
    steps = [step for a in runaway for step in a.path]
    steps = steps[:: -(-len(steps) // 64)]
    places = [Basin(z, factor_of_inverse(hessian, g), 0.0, 1) for z, hessian, g in steps] + list(
        others
    )
    gaussians = [Gaussians.single(p.mean, p.tril) for p in places]
    z = np.concatenate([g.sample(rng, draws) for g in gaussians])
    values, _ = evaluate(z)
    values = np.where(np.isfinite(values), values, -1e30).reshape(len(places), draws)
    entropy = np.array([np.sum(np.log(np.diagonal(p.tril))) for p in places])
    best = int(np.argmax(values.mean(1) + entropy))
    return Basin(places[best].mean, places[best].tril, float(values[best].max()), len(runaway))
