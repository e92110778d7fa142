"""What a study is made of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

from opvi import OpviError
from opvi.studies._results import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Report = Callable[[Row], None]
"""Called with each row as soon as it is measured."""

Value = int | float | str


@dataclass(frozen=True)
class Option:
    """A number (or a word) of one study: `Option("images", "test images", full=100, quick=6)` is
    `--images N` on the command line and `settings["images"]` in `measure`. Its type is `full`'s."""

    name: str
    help: str
    full: Value
    quick: Value

    def parse(self, text: Value, study: str) -> Value:
        kind = type(self.full)
        try:
            return kind(text)
        except ValueError as error:
            raise OpviError(
                f"expected --{self.name} to be {_KINDS[kind]} ({self.help}); got {text!r}.\n"
                f"  Write instead: opvi study {study} --{self.name} {self.full}"
            ) from error


_KINDS = {int: "a whole number", float: "a number", str: "a word"}


@dataclass(frozen=True)
class Settings:
    """What was asked for: the form, the seeds, and the study's own options as `settings[name]`."""

    quick: bool
    seeds: tuple[int, ...]
    options: Mapping[str, Value] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.options[name]

    @property
    def form(self) -> str:
        return "quick" if self.quick else "full"


@dataclass(frozen=True)
class Measured:
    """What a study measured: its rows in the order they are to be read, and its pictures by file
    name."""

    rows: tuple[Row, ...]
    figures: Mapping[str, "Figure"] = field(default_factory=dict)


@dataclass(frozen=True)
class Study:
    """An experiment with a full and a quick form.

    - `measure(settings, report)` fits and measures; it writes and prints nothing. A row needs a
        `method`; `seed` and everything else is the study's own.
    - `expected`: `{"full": [...], "quick": [...]}`, what `_results.compare` checks the rows against.
    - `seeds`, `quick_seeds`: how many seeds when nobody says; they are 0, 1, 2, ...
    - `columns`: the keys of a row, in order; `shown`: those a table on a terminal has room for.
    - `options`: further numbers that one may ask for.
    """

    name: str
    summary: str
    measure: Callable[[Settings, Report], Measured]
    expected: Traversable
    columns: tuple[str, ...]
    shown: tuple[str, ...]
    seeds: int = 1
    quick_seeds: int = 1
    options: tuple[Option, ...] = ()

    def settings(
        self,
        *,
        quick: bool = False,
        seeds: int | None = None,
        seed: int = 0,
        options: Mapping[str, Value] | None = None,
    ) -> Settings:
        """The settings of a run: `seeds` seeds from `seed` on, and the options that were given."""
        if seeds is None:
            seeds = self.quick_seeds if quick else self.seeds
        if seeds < 1 or seed < 0:
            raise OpviError(
                f"expected at least one seed, and none below 0; got seeds={seeds}, seed={seed}.\n"
                f"  Write instead: opvi study {self.name} --seeds {self.seeds} --seed 0"
            )
        given, known = dict(options or {}), {option.name: option for option in self.options}
        unknown = [name for name in given if name not in known]
        if unknown:
            own = ", ".join(f"--{name}" for name in known) or "no option of its own"
            raise OpviError(
                f"expected an option of the study {self.name} ({own}); got --{unknown[0]}.\n"
                f"  Write instead: opvi study {self.name}"
                + "".join(f" --{option.name} {option.full}" for option in self.options)
            )
        defaults = {name: option.quick if quick else option.full for name, option in known.items()}
        parsed = {name: known[name].parse(value, self.name) for name, value in given.items()}
        return Settings(quick, tuple(range(seed, seed + seeds)), {**defaults, **parsed})
