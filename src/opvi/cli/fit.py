"""`opvi fit FILE.py:target`."""

from pathlib import Path
from typing import Any

import jax.random as jr
from rich.console import Console

import opvi
from opvi.cli._load import load_target
from opvi.cli._show import summary
from opvi.studies import save_figure, writable


def fit(
    target: str, /, *, out: Path = Path("results/fit"), key: int = 0, draws: int = 2000
) -> bool:
    """Fit a target of your own with the default pipeline; print a summary and the verdict.

    Exits with 1 if the run diverged or the verdict is "unreliable".

    Parameters
    ----------
    target
        FILE.py:NAME of a target, or of a function that makes one.
    out
        Folder for posterior.nc and the pictures.
    key
        Seed of the random key.
    draws
        How many draws to keep.
    """
    found = load_target(target, "fit")
    writable(out, f"opvi fit {target} --out results/fit")
    posterior = opvi.fit(found, key=jr.key(key))
    stdout = Console(highlight=False)
    stdout.print(summary(posterior, draws, target))
    stdout.print(str(posterior), markup=False, soft_wrap=True)
    posterior.to_datatree(draws=draws).to_netcdf(out / "posterior.nc")
    from opvi.plotting import history, marginals

    save_figure(marginals(posterior), out / "marginals.png")
    save_figure(history(posterior), out / "history.png")
    for name in ("posterior.nc", "marginals.png", "history.png"):
        stdout.print(f"written: {out / name}", markup=False, soft_wrap=True)
    return good(posterior)


def good(posterior: Any) -> bool:
    """Whether anything can be read off the fit."""
    verdict = getattr(posterior, "verdict", None)
    unreliable = getattr(verdict, "status", None) == "unreliable"
    return posterior.result is not opvi.Result.diverged and not unreliable
