"""Unnormalised models fitted to data by their Stein discrepancy, beside maximum likelihood."""

from importlib.resources import files

from opvi.studies._study import Option, Study
from opvi.studies.stein_models.run import COLUMNS, measure

study = Study(
    name="stein_models",
    summary="unnormalised models learned by score matching, a kernel and an adversary, beside ML",
    measure=measure,
    expected=files("opvi.studies.stein_models") / "expected.json",
    columns=COLUMNS,
    shown=("law", "method", "worst_z", "rms_z", "kl", "seconds"),
    seeds=5,
    options=(Option("rows", "of data", full=2000, quick=2000),),
)
