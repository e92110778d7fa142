"""Run a study: check where to write, measure, write, compare. In this order, so nothing is lost."""

import io
import platform
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from opvi import OpviError
from opvi.studies._results import Check, Row, compare, read_expected, write_bytes, write_json
from opvi.studies._study import Report, Settings, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 160


@dataclass(frozen=True)
class Outcome:
    """What a run measured, how it compares, and where it is written."""

    rows: tuple[Row, ...]
    checks: tuple[Check, ...]
    files: tuple[Path, ...]
    seconds: float

    @property
    def failures(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if not check.ok)


def run(
    study: Study, out: Path, settings: Settings, *, report: Report = lambda row: None
) -> Outcome:
    """Run `study` and write `results.json` (the rows), `summary.json` (the checks, versions) and
    its pictures into `out`. A run that is cut short leaves its rows in `results.partial.json`."""
    writable(out, f"opvi study {study.name} --out results/{study.name}")
    expected = read_expected(study.expected, settings.form)
    files = [out / "results.json", out / "summary.json"]
    partial = out / "results.partial.json"
    so_far: list[Row] = []

    def note(row: Row) -> None:
        so_far.append(row)
        report(row)

    start = time.perf_counter()
    try:
        measured = study.measure(settings, note)
    except BaseException:
        if so_far:
            write_json(partial, so_far)
        raise
    seconds = time.perf_counter() - start
    rows = tuple({column: row.get(column) for column in study.columns} for row in measured.rows)
    checks = tuple(compare(rows, expected))
    write_json(files[0], rows)
    write_json(
        files[1],
        {
            "study": study.name,
            "form": settings.form,
            "seeds": settings.seeds,
            "options": settings.options,
            "seconds": seconds,
            "versions": {name: version(name) for name in ("opvi", "jax", "equinox", "optax")},
            "python": platform.python_version(),
            "checks": [check.as_json() for check in checks],
        },
    )
    partial.unlink(missing_ok=True)
    for name, figure in measured.figures.items():
        save_figure(figure, out / name)
        files.append(out / name)
    return Outcome(rows, checks, tuple(files), seconds)


def save_figure(figure: "Figure", path: Path) -> None:
    """The picture as a PNG, whole or not at all."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=DPI)
    write_bytes(path, picture.getvalue())


def writable(out: Path, instead: str) -> None:
    """Refuse before the first fit, not after the last one, a folder that cannot be written to."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise OpviError(
            f"expected a folder that can be made and written to; got {out} "
            f"({error.strerror or error}).\n"
            f"  Write instead: {instead}"
        ) from error
