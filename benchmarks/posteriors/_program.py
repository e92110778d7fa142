"""What a posterior of the database is here: a NumPyro model, its data, its reference draws."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Sites = Mapping[str, Any]


def _nothing_derived(sites: Sites) -> Sites:
    return {}


@dataclass(frozen=True)
class Program:
    """One Stan program written in NumPyro; several data sets may share it.

    `inputs` turns the database's data.json into the keyword arguments of `model`.
    `derived` computes reference columns that are functions of the latents.
    `transform` names the sites whose mean and sd are not reliable (heavy tails) and the map
    under which they are to be compared instead.
    """

    model: Callable[..., None]
    inputs: Callable[[Mapping[str, Any]], dict[str, Any]]
    derived: Callable[[Sites], Sites] = _nothing_derived
    transform: Mapping[str, Callable[[np.ndarray], np.ndarray]] = field(default_factory=dict)


@dataclass(frozen=True)
class Posterior:
    """A program with one data set and its reference draws.

    The sites of `model` have the names, shapes and order of the parameters of the Stan program.
    `reference` is float64 of shape (draws, columns), chain after chain, on the constrained scale.
    """

    name: str
    model: Callable[..., None]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    reference: np.ndarray
    names: tuple[str, ...]
    chains: int
    derived: Callable[[Sites], Sites]
    transform: Mapping[str, Callable[[np.ndarray], np.ndarray]]

    def columns(self, sites: Sites) -> np.ndarray:
        """Map constrained draws of the sites (leading axis: draws) to the reference columns.

        Only the latents are needed: derived columns are recomputed from them, and other sites ignored.
        """
        known = {**sites, **self.derived(sites)}
        return np.stack([_column(known, name) for name in self.names], axis=1)

    def comparable(self, columns: np.ndarray) -> np.ndarray:
        """Apply the declared transforms: the scale on which the metrics are meant to be taken."""
        out = np.array(columns, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            for j, name in enumerate(self.names):
                site, _ = _split(name)
                if site in self.transform:
                    out[:, j] = self.transform[site](out[:, j])
        return out


def _split(name: str) -> tuple[str, tuple[int, ...]]:
    match = re.fullmatch(r"(\w+)(?:\[([\d,]+)\])?", name)
    if match is None:
        raise ValueError(f"not a column name: {name!r}")
    site, index = match.groups()
    return site, tuple(int(i) - 1 for i in index.split(",")) if index else ()


def _column(sites: Sites, name: str) -> np.ndarray:
    site, index = _split(name)
    if site not in sites:
        raise KeyError(f"column {name} needs the site {site!r}; given: {sorted(sites)}")
    draws = np.asarray(sites[site], dtype=np.float64)
    if draws.ndim != 1 + len(index):
        raise ValueError(
            f"column {name}: draws of {site!r} have shape {draws.shape}, expected (draws, ...)"
        )
    return draws[(slice(None), *index)]


def floats(data: Mapping[str, Any], names: Sequence[str]) -> dict[str, np.ndarray]:
    """The named entries as float64 arrays; JAX lowers them to its own precision when they are used."""
    return {name: np.asarray(data[name], dtype=np.float64) for name in names}
