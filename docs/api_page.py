"""Writes the reference: one entry for each public name, under the room it lives in. A hook of mkdocs.

Nothing is listed by hand: what `import opvi` gives, and what a room lists in `__all__`, is there.
"""

import importlib
import inspect
import pkgutil
from types import ModuleType
from typing import Any

import opvi

HERE = "<!-- every public name -->"

ROOMS = {
    "recipes": "Fitting",
    "posterior": "Posteriors",
    "targets": "Targets",
    "families": "Families",
    "testfunctions": "Test functions",
    "distances": "Distances",
    "operators": "Operators",
    "objective": "Objectives",
    "estimators": "Estimators",
    "solver": "Solver",
    "learning": "Learning parameters of models",
    "diagnostics": "Diagnostics",
    "plotting": "Plotting",
    "datasets": "Data sets",
    "catalogue": "What goes together",
    "_core": "Domains and errors",
}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """What mkdocs calls with the text of each page."""
    return markdown.replace(HERE, entries()) if HERE in markdown else markdown


def entries() -> str:
    """A heading for each room, and `::: where.it.is.defined` for each of its names."""
    by_room: dict[str, list[str]] = {}
    for value in public().values():
        by_room.setdefault(value.__module__.split(".")[1], []).append(identifier(value))
    unknown = sorted(set(by_room) - set(ROOMS))
    if unknown:
        raise ValueError(f"{__file__}: ROOMS has no title for {unknown}")
    lines = []
    for room, title in ROOMS.items():
        lines += [f"## {title}", ""]
        for name in sorted(
            set(by_room.get(room, [])), key=lambda name: name.split(".")[-1].lower()
        ):
            lines += [f"::: {name}", ""]
    return "\n".join(lines)


def public() -> dict[str, Any]:
    """Classes and functions of the package that it exports, by name."""
    found = {}
    for module in (opvi, *rooms()):
        for name in names(module):
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                if value.__module__.startswith("opvi."):
                    found[name] = value
    return found


def rooms() -> list[ModuleType]:
    """The packages directly under `opvi` that say in `__all__` what they export."""
    modules = [
        importlib.import_module(f"opvi.{info.name}")
        for info in pkgutil.iter_modules(opvi.__path__)
        if info.ispkg and info.name in ROOMS
    ]
    return [module for module in modules if hasattr(module, "__all__")]


def names(module: ModuleType) -> list[str]:
    listed = getattr(module, "__all__", None)
    return [n for n in vars(module) if not n.startswith("_")] if listed is None else list(listed)


def identifier(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"
