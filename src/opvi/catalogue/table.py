"""The table that `compatibility` returns, and how it is printed."""

import functools
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """An objective with a family: the estimators that work, or the condition that fails.

    - `family`: None where the objective itself is refused, whatever the family.
    - `ways`: for each estimator, in the order of preference, None where it works, what it misses where
        it does not.
    - `condition`: what fails: for the objective, for the family, or else for the first estimator where
        none works; None where one does.
    """

    operator: str
    test_functions: str
    distance: str
    family: str | None = None
    ways: tuple[tuple[str, str | None], ...] = ()
    condition: str | None = None

    @property
    def admitted(self) -> bool:
        return self.condition is None

    @property
    def estimators(self) -> tuple[str, ...]:
        """Those that work; take the first."""
        return tuple(name for name, missing in self.ways if missing is None)

    def __str__(self) -> str:
        text = f"{self.operator}, {self.test_functions}, {self.distance}"
        if self.family is not None:
            text += f" with {self.family}"
        return f"{text} by {self.estimators[0]}" if self.estimators else text


@dataclass(frozen=True)
class Compatibility:
    """All rows. `find` narrows them down; printed, a table of operators by families and the conditions."""

    rows: tuple[Row, ...]

    @functools.cached_property
    def admitted(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.admitted)

    @functools.cached_property
    def refused(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if not row.admitted)

    def find(self, **pieces: str) -> "Compatibility":
        """The rows with these pieces: `table.find(operator="KL", family="Program")`."""
        return Compatibility(
            tuple(
                row
                for row in self.rows
                if all(getattr(row, name) in (piece, None) for name, piece in pieces.items())
            )
        )

    def instead(self, row: Row) -> Row:
        """The admitted row with most of these pieces: the same family before the same operator."""
        weights = {"family": 8, "operator": 6, "test_functions": 3, "distance": 1}
        wanted = [(name, weight, getattr(row, name)) for name, weight in weights.items()]
        return max(
            self.admitted,
            key=lambda other: sum(w for name, w, piece in wanted if getattr(other, name) == piece),
        )

    def __str__(self) -> str:
        return self.to_markdown()

    def to_markdown(self) -> str:
        """Operators by families, operators by test functions, and the conditions they refer to."""
        notes = _Notes()
        letters = _letters(name for row in self.rows for name, _ in row.ways)
        operators = _unique(row.operator for row in self.rows)
        by_family = [
            [f"`{q}`", *(self._ways(o, q, letters, notes) for o in operators)]
            for q in _unique(row.family for row in self.rows if row.family)
        ]
        by_functions = [
            [f"`{f}`", *(self._distances(o, f, notes) for o in operators)]
            for f in _unique(row.test_functions for row in self.rows)
        ]
        head = [f"`{o}`" for o in operators]
        key = ", ".join(f"{letter} = `{name}`" for name, letter in letters.items())
        return "\n".join(
            [
                "**Which gradient there is for a family.** The first letter is the one to take: "
                f"{key}. A number is the condition that fails.",
                "",
                *_table(["family", *head], by_family),
                "",
                "**Which distance goes with which test functions.** A number is the condition that "
                "fails, for every distance and family.",
                "",
                *_table(["test functions", *head], by_functions),
                "",
                "**The conditions**, each with the nearest pieces that have what it asks for.",
                "",
                *(
                    f"{i}. {condition[0].upper()}{condition[1:]}. Works: `{self.instead(row)}`."
                    for i, (condition, row) in enumerate(notes.first.items(), 1)
                ),
            ]
        )

    def _ways(self, operator: str, family: str, letters: dict[str, str], notes: "_Notes") -> str:
        """The estimators that work with some test functions and distance, or why there are none."""
        rows = self.find(operator=operator, family=family).rows
        works = [e for e in letters if any(e in row.estimators for row in rows)]
        if works:
            return " ".join(letters[e] for e in works)
        # What fails with the test functions and the distance that this operator has elsewhere.
        elsewhere = {(r.test_functions, r.distance) for r in self.find(operator=operator).admitted}
        good = [row for row in rows if (row.test_functions, row.distance) in elsewhere]
        return notes.number((good or rows)[0])

    def _distances(self, operator: str, test_functions: str, notes: "_Notes") -> str:
        """The distances that work with some family, or why there is none."""
        rows = self.find(operator=operator, test_functions=test_functions).rows
        works = _unique(row.distance for row in rows if row.admitted)
        if works:
            return ", ".join(works)
        elsewhere = self.find(operator=operator).admitted
        families = {row.family for row in elsewhere} | {None}
        distances = {row.distance for row in elsewhere}
        good = [row for row in rows if row.family in families and row.distance in distances]
        return notes.number((good or list(rows))[0])


class _Notes:
    """Conditions, numbered as they come up, with the row that brought each up."""

    def __init__(self) -> None:
        self.first: dict[str, Row] = {}

    def number(self, row: Row) -> str:
        assert row.condition is not None
        self.first.setdefault(row.condition, row)
        return str(list(self.first).index(row.condition) + 1)


def _letters(names: Iterable[str]) -> dict[str, str]:
    """Initials: a capital for a class, two letters where it comes with an option."""
    out: dict[str, str] = {}
    for name in _unique(names):
        letter = name[0]
        if "(" in name:
            letter += name.split("(")[1][0]
        while letter in out.values():
            letter += "'"
        out[name] = letter
    return out


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]]
