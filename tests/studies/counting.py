"""A study that costs nothing: what the framework and the command line are tested with."""

from collections.abc import Sequence
from pathlib import Path

from opvi.plotting import blank, style
from opvi.studies import Measured, Option, Report, Settings, Study

EXPECTED = """{
 "full": [{"method": "count", "number": "value", "at_most": 100}],
 "quick": [{"method": "count", "number": "value", "at_most": 3}]
}"""


def measure(settings: Settings, report: Report) -> Measured:
    rows = []
    for seed in settings.seeds:
        row = {
            "method": "count",
            "seed": seed,
            "value": settings["base"] + seed,
            "beside": "kept out",
        }
        report(row)
        if settings["fail"] == "interrupt":
            raise KeyboardInterrupt
        rows.append(row)
    with style():
        figure = blank(1.0, 1.0)
        figure.add_subplot().plot([0, 1])
    return Measured(tuple(rows), {"counting.png": figure})


def make(folder: Path, columns: Sequence[str] = ("method", "seed", "value", "absent")) -> Study:
    expected = folder / "expected.json"
    expected.write_text(EXPECTED)
    return Study(
        name="counting",
        summary="counts",
        measure=measure,
        expected=expected,
        columns=tuple(columns),
        shown=("method", "value"),
        seeds=2,
        quick_seeds=1,
        options=(Option("base", "where to start", 0, 3), Option("fail", "how to fail", "no", "no")),
    )
