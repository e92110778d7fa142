"""Starts of several sizes, where they end, and which of them ended in the same place."""

from dataclasses import dataclass

import numpy as np

from opvi.posterior.evaluate import Evaluator
from opvi.recipes.gaussians import Gaussians, safe_cholesky
from opvi.recipes.newton import Ascent, ascend, scaled

RADII = (0.1, 0.5, 1.0, 1.0, 2.0, 2.0, 3.0, 4.0)
IRRELEVANT = 12.0  # nats of evidence below the best: e^-12 of the mass
MOST_STARTS = 96


@dataclass(frozen=True)
class Basin:
    """A mode with Laplace's approximation there, and how many starts ended in it."""

    mean: np.ndarray
    tril: np.ndarray
    log_density: float
    starts: int

    @property
    def log_evidence(self) -> float:
        """log of the integral of exp(quadratic approximation)."""
        d = len(self.mean)
        return float(
            self.log_density + 0.5 * d * np.log(2 * np.pi) + np.sum(np.log(np.diagonal(self.tril)))
        )


@dataclass(frozen=True)
class Search:
    """- `basins`: those that matter, the heaviest first.
    - `unbounded`: log p rose without end along some start; its best Gaussian is a basin.
    - `growing`: the last starts still found something new.
    """

    basins: tuple[Basin, ...]
    starts: int
    failed: int
    unbounded: bool
    growing: bool


def search(evaluate: Evaluator, rng: np.random.Generator) -> Search:
    """Climb from a few starts; from more, further out, as long as they keep ending in new places."""
    d = evaluate.dim
    radii = np.array(RADII if d <= 40 else RADII[1:6])
    ascents = ascend(evaluate, rng.standard_normal((len(radii), d)) * radii[:, None])
    started, growing = len(radii), False
    basins = _group(evaluate, ascents)
    while len(_relevant(basins)) > 1 and started < MOST_STARTS:
        before = len(_relevant(basins))
        ascents += ascend(evaluate, _further(rng, basins, 16))
        started += 16
        basins = _group(evaluate, ascents)
        growing = len(_relevant(basins)) > before
        if not growing:
            break
    best = max((b.log_density for b in basins), default=-np.inf)
    runaway = [a for a in ascents if not a.converged and a.log_density > best + 0.5 and a.path]
    relevant = _relevant(basins)
    if runaway:
        relevant = (_along_path(evaluate, rng, runaway, relevant),)
    return Search(
        tuple(relevant),
        started,
        started - len(ascents),
        bool(runaway),
        growing,
    )


def _relevant(basins: list[Basin]) -> tuple[Basin, ...]:
    ordered = sorted(basins, key=lambda b: -b.log_evidence)
    return tuple(b for b in ordered if b.log_evidence > ordered[0].log_evidence - IRRELEVANT)[:24]


def _further(rng: np.random.Generator, basins: list[Basin], n: int) -> np.ndarray:
    """Starts spread over twice the region that the modes so far take up, and a little beyond."""
    centres = np.stack([b.mean for b in basins])
    spread = 2.0 * centres.std(0) + np.mean([np.linalg.norm(b.tril, axis=1) for b in basins], 0)
    return centres.mean(0) + spread * rng.standard_normal((n, centres.shape[1]))


def laplace(mean: np.ndarray, hessian: np.ndarray) -> np.ndarray:
    """Factor of the covariance (-H)^-1; negative curvature counts by its size, none by little."""
    unit, values, vectors = scaled(hessian, np.zeros(len(mean)))
    values = np.maximum(np.abs(values), 1e-8 * np.abs(values).max())
    root = unit[:, None] * vectors / np.sqrt(values)
    return safe_cholesky(root @ root.T)


def _group(evaluate: Evaluator, ascents: list[Ascent]) -> list[Basin]:
    """End points joined by a path on which log p does not sink belong to one basin."""
    ended = sorted((a for a in ascents if a.converged), key=lambda a: -a.log_density)
    groups: list[tuple[Ascent, np.ndarray, int]] = []
    for ascent in ended:
        assert ascent.hessian is not None
        for i, (centre, tril, count) in enumerate(groups):
            gap = ascent.z - centre.z
            distance = np.linalg.norm(np.linalg.solve(tril, gap))
            if distance < 0.5 or (distance < 20 and _joined(evaluate, ascent, centre)):
                groups[i] = (centre, tril, count + 1)
                break
        else:
            groups.append((ascent, laplace(ascent.z, ascent.hessian), 1))
    return [Basin(a.z, tril, a.log_density, count) for a, tril, count in groups]


def _joined(evaluate: Evaluator, a: Ascent, b: Ascent) -> bool:
    between = np.array([0.15, 0.3, 0.5, 0.7, 0.85])[:, None]
    values, _ = evaluate((1 - between) * a.z + between * b.z)
    return bool(np.nanmin(values) > min(a.log_density, b.log_density) - 0.3)


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
    places = [Basin(z, laplace(z, hessian), 0.0, 1) for z, hessian in steps] + list(others)
    gaussians = [Gaussians.single(p.mean, p.tril) for p in places]
    z = np.concatenate([g.sample(rng, draws) for g in gaussians])
    values, _ = evaluate(z)
    values = np.where(np.isfinite(values), values, -1e30).reshape(len(places), draws)
    entropy = np.array([np.sum(np.log(np.diagonal(p.tril))) for p in places])
    best = int(np.argmax(values.mean(1) + entropy))
    return Basin(places[best].mean, places[best].tril, float(values[best].max()), len(runaway))
