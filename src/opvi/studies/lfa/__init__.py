"""Table 1 of the paper: logistic factor analysis of images, three ways, and then some."""

from importlib.resources import files

from opvi.studies._study import Option, Study
from opvi.studies.lfa.config import ALL, FULL, QUICK
from opvi.studies.lfa.run import COLUMNS, measure

study = Study(
    name="lfa",
    summary="table 1: reconstructing images by logistic factor analysis, every posterior beside HMC",
    measure=measure,
    expected=files("opvi.studies.lfa") / "expected.json",
    columns=COLUMNS,
    shown=("method", "completed_log_likelihood", "gap_to_hmc", "paired_gap_se", "w1", "seconds"),
    options=(
        Option("images", "test images", full=100, quick=12),
        Option("steps", "of q, but for the rows as published", FULL.steps, QUICK.steps),
        Option("methods", "names joined by commas, or all of the form's", ALL, ALL),
    ),
)
