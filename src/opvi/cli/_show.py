"""Rows of numbers as lines and tables for a terminal."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np
from rich.table import Table

Row = Mapping[str, Any]


def number(value: Any, digits: int = 4) -> str:
    """So many digits, lists entry by entry; what is not there is a dash."""
    if value is None or isinstance(value, float) and np.isnan(value):
        return "-"
    if isinstance(value, list | tuple):
        return ", ".join(number(entry, digits) for entry in value)
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:.{digits}g}" if isinstance(value, float | np.floating) else str(value)


def one_line(row: Row, shown: Sequence[str]) -> str:
    """A row as soon as it is measured."""
    columns = [*shown[:1], *(["seed"] if "seed" in row else []), *shown[1:]]
    return "  ".join(f"{name} {number(row.get(name))}" for name in dict.fromkeys(columns))


def as_table(rows: Sequence[Row], shown: Sequence[str], title: str) -> Table:
    """One line for the rows that differ in their numbers only (seeds): the median of each number."""
    words = [name for name in shown if any(isinstance(row.get(name), str) for row in rows)]
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(name) for name in words), []).append(row)
    many = any(len(group) > 1 for group in groups.values())
    table = Table(title=f"{title} (medians over seeds)" if many else title)
    for name in shown:
        side = "left" if name in words else "right"
        table.add_column(name, justify=side, no_wrap=name in words, overflow="fold")
    if many:
        table.add_column("seeds", justify="right")
    for group in groups.values():
        cells = [number(_middle([row.get(name) for row in group]), 3) for name in shown]
        table.add_row(*cells, *([str(len(group))] if many else []))
    return table


def _middle(values: Sequence[Any]) -> Any:
    if len(values) == 1 or isinstance(values[0], str):
        return values[0]
    if any(value is None for value in values):
        return None
    if isinstance(values[0], list | tuple):
        return [_middle(entry) for entry in zip(*values, strict=True)]
    return median(values)


def summary(posterior: Any, draws: int, title: str, most: int = 40) -> Table:
    """Mean, sd and quantiles of each latent under its own names and labels."""
    dataset = posterior.to_datatree(draws=draws)["posterior"].dataset
    table = Table(title=title)
    table.add_column("latent")
    for name in ("mean", "sd", "5%", "50%", "95%"):
        table.add_column(name, justify="right")
    rows = [
        (f"{name}[{', '.join(labels)}]" if labels else str(name), values)
        for name, array in dataset.data_vars.items()
        for labels, values in _entries(array)
    ]
    for name, values in rows[:most]:
        numbers = (values.mean(), values.std(), *np.quantile(values, (0.05, 0.5, 0.95)))
        table.add_row(name, *(f"{value:.3g}" for value in numbers))
    if len(rows) > most:
        table.caption = f"the first {most} of {len(rows)} numbers"
    return table


def _entries(array: Any) -> list[tuple[list[str], np.ndarray]]:
    """The draws of every entry of one latent, with its labels."""
    own = [dim for dim in array.dims if dim not in ("chain", "draw")]
    values = array.transpose(*own, "chain", "draw").to_numpy()
    shape = values.shape[: len(own)]
    return [
        (
            [str(array[dim].to_numpy()[i]) for dim, i in zip(own, index, strict=True)],
            values[index].reshape(-1).astype(float),
        )
        for index in np.ndindex(*shape)
    ]
