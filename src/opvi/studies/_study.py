"""What a study is made of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

from opvi.studies._results import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Report = Callable[[Row], None]
"""Called with each row as soon as it is measured."""


@dataclass(frozen=True)
class Measured:
    """What a study measured: one row per method and seed, and its pictures by file name."""

    rows: tuple[Row, ...]
    figures: Mapping[str, "Figure"] = field(default_factory=dict)


@dataclass(frozen=True)
class Study:
    """An experiment with a full and a quick form.

    - `measure(quick, seeds, report)` fits and measures; it writes and prints nothing.
    - `expected`: `{"full": [...], "quick": [...]}`, what `_results.compare` checks the rows against.
    - `seeds`, `quick_seeds`: how many seeds when nobody says; they are 0, 1, 2, ...
    - `columns`: the keys of a row, in order; `shown`: those a table on a terminal has room for.
    """

    name: str
    summary: str
    measure: Callable[[bool, int, Report], Measured]
    expected: Traversable
    columns: tuple[str, ...]
    shown: tuple[str, ...]
    seeds: int
    quick_seeds: int

    def default_seeds(self, quick: bool) -> int:
        return self.quick_seeds if quick else self.seeds

    def describe(self) -> dict[str, Any]:
        """For a list of studies."""
        return {"name": self.name, "summary": self.summary, "seeds": self.seeds}
