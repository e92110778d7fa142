"""Where each objective fails: every compatible objective and family on known shapes."""

from importlib.resources import files

from opvi.studies._study import Study
from opvi.studies.objectives.run import COLUMNS, measure

study = Study(
    name="objectives",
    summary="every compatible objective and family on two unequal modes, banana, funnel, heavy tails "
    "and a correlated Gaussian",
    measure=measure,
    expected=files("opvi.studies.objectives") / "expected.json",
    columns=COLUMNS,
    shown=("objective", "family", "target", "w1", "w1_floor", "mode_weight", "sd_ratio", "seconds"),
    seeds=1,
    quick_seeds=1,
)
