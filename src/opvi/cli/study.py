"""`opvi study NAME` and `opvi studies`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from opvi.cli._show import as_table, one_line
from opvi.studies import Outcome, names, run, study as find


def study(
    name: str,
    /,
    *,
    out: Path | None = None,
    quick: Annotated[bool, Parameter(negative="")] = False,
    seeds: int | None = None,
    seed: int = 0,
    **options: str,
) -> bool:
    """Run an experiment, write its numbers and pictures, and compare them with what is expected.

    Exits with 1, and says which number, if one is out of tolerance.

    Parameters
    ----------
    name
        One of `opvi studies`.
    out
        Folder for results.json, summary.json and the pictures; results/NAME when left out.
    quick
        The small form, in a minute or so.
    seeds
        How many seeds.
    seed
        The first of them.
    options
        The study's own options, as `opvi studies` lists them.
    """
    chosen = find(name)
    settings = chosen.settings(quick=quick, seeds=seeds, seed=seed, options=options)
    stderr = Console(stderr=True, highlight=False)
    outcome = run(
        chosen,
        Path("results") / name if out is None else out,
        settings,
        report=lambda row: stderr.print(one_line(row, chosen.shown), style="dim", soft_wrap=True),
    )
    show(outcome, chosen.shown, f"{name}, {settings.form} form")
    return not outcome.failures


def show(outcome: Outcome, shown: tuple[str, ...], title: str) -> None:
    """The table, what is out of tolerance, and where everything is."""
    stdout = Console(highlight=False)
    stdout.print(as_table(outcome.rows, shown, title))
    for check in outcome.failures:
        stdout.print(f"out of tolerance: {check}", style="bold red", markup=False, soft_wrap=True)
    held = len(outcome.checks) - len(outcome.failures)
    stdout.print(f"{held} of {len(outcome.checks)} checks hold; {outcome.seconds:.0f} s")
    for path in outcome.files:
        stdout.print(f"written: {path}", markup=False, soft_wrap=True)


def studies() -> None:
    """List the studies and their options."""
    table = Table(
        "study", "what it shows", "seeds", "options (full, quick)", title="opvi study NAME"
    )
    for name in names():
        one = find(name)
        options = [f"--{o.name} ({o.full}, {o.quick}): {o.help}" for o in one.options]
        table.add_row(name, one.summary, f"{one.seeds}, {one.quick_seeds}", "\n".join(options))
    Console(highlight=False).print(table)
