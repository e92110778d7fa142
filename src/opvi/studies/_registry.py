"""Which studies there are. A study's code is imported when it is asked for, not before."""

from importlib import import_module

from opvi import OpviError
from opvi.studies._study import Study

# name -> module with an attribute `study`. A new study is a folder and one line.
_MODULES = {
    "mixture": "opvi.studies.mixture",
    "lfa": "opvi.studies.lfa",
    "objectives": "opvi.studies.objectives",
    "learning": "opvi.studies.learning",
    "stein_models": "opvi.studies.stein_models",
}


def names() -> tuple[str, ...]:
    """The names that `opvi study` takes."""
    return tuple(_MODULES)


def study(name: str) -> Study:
    """The study called `name`."""
    if name not in _MODULES:
        known = ", ".join(_MODULES)
        raise OpviError(
            f"expected the name of a study ({known}); got {name!r}.\n"
            f"  Write instead: opvi study {next(iter(_MODULES))} --out results"
        )
    return import_module(_MODULES[name]).study
