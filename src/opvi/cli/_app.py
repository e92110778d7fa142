"""The commands, and what becomes of their errors."""

import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import NoReturn

from cyclopts import App, CycloptsError
from rich.console import Console

from opvi import OpviError
from opvi.cli.cite import cite
from opvi.cli.compare import compare
from opvi.cli.compatibility import compatibility
from opvi.cli.fit import fit
from opvi.cli.study import studies, study

FINE, NOT_GOOD_ENOUGH, BAD_USAGE, INTERRUPTED = 0, 1, 2, 130


def main(tokens: Sequence[str] | None = None) -> NoReturn:
    """Run the command line (`sys.argv` when left out) and exit with its code."""
    sys.exit(run(sys.argv[1:] if tokens is None else tokens))


def run(tokens: Sequence[str]) -> int:
    """Run a command line; returns the exit code instead of exiting."""
    stderr = Console(stderr=True, highlight=False, soft_wrap=True)
    app = App(
        name="opvi",
        help="Operator variational inference on JAX.",
        version=version("opvi"),
        error_console=stderr,
        suppress_keyboard_interrupt=False,
    )
    for command in (study, studies, fit, compare, compatibility, cite):
        app.command(command)
    try:
        ok = app(list(tokens), exit_on_error=False, print_error=True, result_action="return_value")
    except CycloptsError:
        return BAD_USAGE  # the message is printed already
    except OpviError as error:
        stderr.print(f"opvi: {error}", markup=False)
        return BAD_USAGE
    except KeyboardInterrupt:
        stderr.print("opvi: interrupted")
        return INTERRUPTED
    return NOT_GOOD_ENOUGH if ok is False else FINE
