"""t(0) = 0 and t >= 0, seen where it can be seen: on a grid from 1e-3 to 1e3, both signs."""

from collections.abc import Callable
from typing import Any

import numpy as np

from opvi._core.errors import OpviError, require


def check_distance(t: Callable[[Any], Any], write: str) -> None:
    sizes = np.geomspace(1e-3, 1e3, 61)
    grid = np.concatenate([-sizes[::-1], [0.0], sizes])
    values = np.asarray([float(t(a)) for a in grid])
    bad = ~(values >= 0.0) | ((grid == 0.0) & (values != 0.0))
    worst = int(np.argmax(bad))
    require(
        not bool(bad.any()),
        OpviError,
        expected="a distance: t(0) = 0 and t(a) >= 0 for every a",
        got=f"t({grid[worst]:.3g}) = {values[worst]:.3g}",
        write=write,
    )
