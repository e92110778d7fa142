"""Experiments that anyone with the package can run again: `opvi study NAME --out DIR`.

A new study is a folder here and one line in `_registry.py`:

    mystudy/__init__.py      study = Study(name="mystudy", measure=measure, columns=..., ...)
    mystudy/run.py           def measure(settings: Settings, report: Report) -> Measured
    mystudy/expected.json    {"full": [...], "quick": [...]}: what must hold (`_results.py`)

It uses public names of `opvi` only. `mixture` is the one to copy.
"""

from opvi.studies._registry import names as names, study as study
from opvi.studies._results import (
    Check as Check,
    Row as Row,
    compare as compare,
    read_expected as read_expected,
    write_bytes as write_bytes,
    write_json as write_json,
)
from opvi.studies._run import (
    Outcome as Outcome,
    run as run,
    save_figure as save_figure,
    writable as writable,
)
from opvi.studies._study import (
    Measured as Measured,
    Option as Option,
    Report as Report,
    Settings as Settings,
    Study as Study,
)
