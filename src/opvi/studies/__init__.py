"""Experiments that anyone with the package can run again: `opvi study NAME --out DIR`.

A study is a folder here with an `expected.json`, and one line in `_registry.py`.
"""

from opvi.studies._registry import names as names, study as study
from opvi.studies._results import (
    Check as Check,
    Row as Row,
    compare as compare,
    read_expected as read_expected,
    write_json as write_json,
)
from opvi.studies._run import Outcome as Outcome, run as run
from opvi.studies._study import Measured as Measured, Study as Study
