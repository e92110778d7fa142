"""Densities that cannot be a posterior: found before a fit, named, explained.

Looked for at random points of a few scales around a start, and on lines through some of them:

- no finite value anywhere, or none over a large part of space, and which latent decides it;
- a value without a gradient (NaN), and in which coordinate;
- a latent whose derivative is zero everywhere: it does not appear in the density;
- a direction along which the density stays what it is: only a combination of latents is identified;
- a direction along which the density does not fall (faster than 1 / t): its integral is infinite.
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass

import jax.random as jr
import numpy as np

from opvi._core.types import Key, Vector
from opvi.diagnostics._arrays import generator
from opvi.diagnostics.sections import Sections, sections
from opvi.posterior.evaluate import Evaluator
from opvi.targets import AbstractTarget

RADII = (0.1, 0.5, 1.0, 2.0)
LARGE_PART = 0.1
NEAR = 1e-3  # a singular value of the scores this small: perhaps no score at all


class Flaw(enum.StrEnum):
    """What is wrong with a density."""

    nowhere_finite = "nowhere_finite"
    partly_infinite = "partly_infinite"
    no_gradient = "no_gradient"
    absent = "absent"
    flat = "flat"
    improper = "improper"


@dataclass(frozen=True)
class Finding:
    """- `columns`: the coordinates concerned, by name. - `fatal`: no fit can be right."""

    flaw: Flaw
    columns: tuple[str, ...]
    message: str
    fatal: bool


def improper(
    target: AbstractTarget, key: Key, *, start: Vector | None = None, points: int = 64
) -> tuple[Finding, ...]:
    """What is wrong with the density of `target`, the worst first; nothing found is ()."""
    evaluate = Evaluator(target)
    generate = generator(jr.fold_in(key, 0))
    centre = np.zeros(target.dim) if start is None else np.asarray(start, np.float64)
    radii = np.resize(RADII, points)[:, None]
    z = centre + radii * generate.standard_normal((points, target.dim))
    found, values, scores = at_points(evaluate, z, generate)
    usable = np.isfinite(values) & np.isfinite(scores).all(1)
    if usable.any() and not any(f.flaw is Flaw.absent for f in found):
        axes = np.eye(target.dim)
        lines = along(
            target.columns, axes, np.ones(target.dim), sections(evaluate, z[usable], axes)
        )
        known = [set(f.columns) for f in lines]
        silent = along_silent(evaluate, z[usable], scores[usable])
        found += lines + tuple(f for f in silent if not any(k <= set(f.columns) for k in known))
    order = list(Flaw)
    return tuple(sorted(found, key=lambda f: (not f.fatal, order.index(f.flaw))))


def at_points(
    evaluate: Evaluator, z: np.ndarray, generate: np.random.Generator
) -> tuple[tuple[Finding, ...], np.ndarray, np.ndarray]:
    """What log p and its gradient say at the rows of `z`; and both of them."""
    columns = evaluate.target.columns
    values, scores = evaluate(z)
    finite, smooth = np.isfinite(values), np.isfinite(scores)
    usable = finite & smooth.all(1)
    found: list[Finding] = []
    if not usable.any():
        found.append(_nowhere(columns, values, finite, smooth))
        return tuple(found), values, scores
    if 1 - finite.mean() > LARGE_PART:
        found.append(boundary(evaluate, z, finite, generate))
    rough = finite & ~smooth.all(1)
    if rough.any():
        found.append(_rough(columns, rough, smooth))
    silent = np.flatnonzero((scores[usable] == 0).all(0))
    if len(silent):
        # A zero derivative may be a plateau: move the coordinate and look again.
        there = z[usable][:16]
        moved = there.copy()
        moved[:, silent] += 10.0 * generate.standard_normal((len(there), len(silent)))
        again, slopes = evaluate(moved)
        same = np.array_equal(again, values[usable][:16]) and (slopes[:, silent] == 0).all()
        if same:
            found.append(_absent(tuple(columns[i] for i in silent)))
    return tuple(found), values, scores


def along_silent(evaluate: Evaluator, z: np.ndarray, scores: np.ndarray) -> tuple[Finding, ...]:
    """Directions without an end among those in which the scores at `z` have (nearly) no component."""
    size = np.median(np.abs(scores), axis=0)
    size = np.maximum(size, max(1e-20 * size.max(), 1e-30))
    # Each point counts the same: far from the mode scores are orders of magnitude larger.
    rows = scores / size
    units = _silent(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)) / size
    if not len(units):
        return ()
    # Far from a mode 1 / |score| is much less than an sd: a step is no shorter than 1.
    units = units * np.maximum(1.0, 1.0 / np.abs(units).max(1, keepdims=True))
    scale = 1.0 / size
    return along(evaluate.target.columns, units, scale, sections(evaluate, z, units))


def along(
    columns: Sequence[str], units: np.ndarray, scale: np.ndarray, lines: Sections
) -> tuple[Finding, ...]:
    """Directions (the rows of `units`) without an end, among the lines that were looked at."""
    found, seen = [], set()
    for k in np.flatnonzero(lines.endless):
        named = concerned(columns, units[k] / scale)
        if any(set(earlier) <= set(named) for earlier in seen):
            continue
        seen.add(named)
        found.append(_endless(named, bool(lines.flat[k])))
    return tuple(found)


def concerned(columns: Sequence[str], direction: np.ndarray) -> tuple[str, ...]:
    """The coordinates that move along a direction, each in its own units."""
    size = np.abs(direction)
    return tuple(columns[i] for i in np.flatnonzero(size > 0.3 * size.max()).tolist())


def name_directions(
    columns: Sequence[str], units: np.ndarray, scale: np.ndarray
) -> tuple[str, ...]:
    return tuple(_listed(concerned(columns, unit / scale)) for unit in units)


def boundary(
    evaluate: Evaluator, z: np.ndarray, finite: np.ndarray, generate: np.random.Generator
) -> Finding:
    """Which coordinates decide whether log p is finite: those that end it when they alone change."""
    columns = evaluate.target.columns
    inside = z[finite][:8]
    tried = min(evaluate.dim, 64)
    changed = np.repeat(inside[:, None], tried, axis=1)
    for i in range(tried):
        changed[:, i, i] = generate.choice(z[:, i], len(inside))
    values, _ = evaluate(changed.reshape(-1, evaluate.dim))
    ended = 1 - np.isfinite(values).reshape(len(inside), tried).mean(0)
    deciding = np.flatnonzero(ended > max(0.5 * ended.max(initial=0.0), 0.05))
    named = tuple(columns[i] for i in deciding) or columns
    return Finding(
        Flaw.partly_infinite,
        named,
        f"the log density is infinite or NaN at {1 - finite.mean():.0%} of the points looked at, "
        f"depending on {_listed(named)}: where the density ends abruptly no score sees the edge. "
        f"Declare the support: supports={{{named[0].split('[')[0]!r}: "
        "numpyro.distributions.constraints.positive}",
        fatal=False,
    )


def _nowhere(
    columns: tuple[str, ...], values: np.ndarray, finite: np.ndarray, smooth: np.ndarray
) -> Finding:
    if finite.any():
        bad = np.flatnonzero(~smooth[finite].all(0))
        named = tuple(columns[i] for i in bad)
        return Finding(
            Flaw.no_gradient,
            named,
            f"the log density has values but no gradient: it is NaN or infinite in {_listed(named)} "
            f"at all {len(values)} points looked at. A jnp.where whose branch not taken is NaN does "
            "that: make its argument safe before the function, as in jnp.sqrt(jnp.where(x > 0, x, 1))",
            fatal=True,
        )
    kind = "NaN" if np.isnan(values).all() else "infinite or NaN"
    return Finding(
        Flaw.nowhere_finite,
        columns,
        f"the log density is {kind} at all {len(values)} points looked at (around 0 on the "
        "unconstrained scale, at distances of 0.1 to 4 in each latent). Declare supports of latents "
        "that are not real numbers, or shift latents that live far from 0",
        fatal=True,
    )


def _rough(columns: tuple[str, ...], rough: np.ndarray, smooth: np.ndarray) -> Finding:
    named = tuple(columns[i] for i in np.flatnonzero(~smooth[rough].all(0)))
    return Finding(
        Flaw.no_gradient,
        named,
        f"the gradient in {_listed(named)} is NaN or infinite at {rough.mean():.0%} of the points "
        "looked at, where the log density itself is finite",
        fatal=False,
    )


def _absent(named: tuple[str, ...]) -> Finding:
    several = len(named) > 1
    return Finding(
        Flaw.absent,
        named,
        f"{_listed(named)} {'do' if several else 'does'} not appear in the log density: nothing "
        f"changes when {'they do' if several else 'it does'}. Give {'each' if several else 'it'} a "
        "prior, or leave it out of the latents",
        fatal=True,
    )


def _endless(named: Sequence[str], flat: bool) -> Finding:
    if flat and len(named) > 1:
        text = (
            f"{_listed(named)} are only identified together: the log density stays the same where "
            "they move against each other. Give each a prior, or fix one"
        )
    elif flat:
        text = f"the log density does not depend on {named[0]} far out: give it a prior"
    else:
        text = (
            f"the density does not fall off along {_listed(named)} (not faster than 1 / distance): "
            "its integral is infinite, it is no posterior. Give a proper prior"
        )
    return Finding(Flaw.flat if flat else Flaw.improper, tuple(named), text, fatal=True)


def _silent(scores: np.ndarray) -> np.ndarray:
    """Directions in which the scores have (nearly) no component: unit rows."""
    _, size, rows = np.linalg.svd(scores, full_matrices=len(scores) < scores.shape[1])
    size = np.append(size, np.zeros(len(rows) - len(size)))
    return rows[size < NEAR * size[0]]


def _listed(named: Sequence[str], most: int = 6) -> str:
    shown = list(named[:most]) + ([f"{len(named) - most} more"] if len(named) > most else [])
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
