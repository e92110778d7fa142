"""Figure 1 of the paper: a mixture of two Gaussians, approximated three ways."""

from importlib.resources import files

from opvi.studies._study import Study
from opvi.studies.mixture.run import COLUMNS, measure

study = Study(
    name="mixture",
    summary="figure 1: two modes by KL + Gaussian, LS + Gaussian, LS + two-sided program",
    measure=measure,
    expected=files("opvi.studies.mixture") / "expected.json",
    columns=COLUMNS,
    shown=("method", "w1", "mode_means", "mode_sds", "seconds"),
    seeds=10,
    quick_seeds=2,
)
