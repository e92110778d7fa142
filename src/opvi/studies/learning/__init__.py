"""Operator EM: logistic factor analysis learned with three E-steps."""

from importlib.resources import files

from opvi.studies._study import Option, Study
from opvi.studies.learning.run import COLUMNS, measure

study = Study(
    name="learning",
    summary="learning a factor model of images: E-steps by mean field, full rank, and LS + program",
    measure=measure,
    expected=files("opvi.studies.learning") / "expected.json",
    columns=COLUMNS,
    shown=(
        "method",
        "test_log_likelihood",
        "difference_to_mean_field_kl",
        "paired_difference_se",
        "seconds",
    ),
    options=(
        Option("images", "test images", full=1000, quick=100),
        Option("start", "steps of the mean field that all go on from", full=3000, quick=600),
        Option("steps", "of each E-step from there on", full=3000, quick=300),
        Option("train", "training images", full=60_000, quick=10_000),
    ),
)
