"""Posteriors with reference draws, as NumPyro models checked against their Stan programs.

`load(name, data_dir)` reads one posterior of the database from a folder laid out as posteriordb's
`<data>-<program>/{data.json, reference.npz, info.json}`. Any data set whose program is in `PROGRAMS`
loads; `DEVELOPMENT` lists those that the library may be tuned to.
"""

import json
from pathlib import Path

import numpy as np

from ._program import Posterior as Posterior, Program as Program
from .ark import ARK
from .blr import BLR
from .eight_schools import EIGHT_SCHOOLS_NONCENTERED
from .gp_regr import GP_REGR
from .hmm_drive import HMM_DRIVE
from .hmm_example import HMM_EXAMPLE
from .kidscore import (
    INTERACTION,
    INTERACTION_C,
    INTERACTION_C2,
    INTERACTION_Z,
    MOM_WORK,
    MOMHS,
    MOMHSIQ,
    MOMIQ,
)
from .kilpisjarvi import KILPISJARVI
from .nes import NES
from .one_comp_mm_elim_abs import ONE_COMP_MM_ELIM_ABS

__all__ = ["DEVELOPMENT", "PROGRAMS", "Posterior", "Program", "available", "load"]

PROGRAMS: dict[str, Program] = {
    "arK": ARK,
    "blr": BLR,
    "eight_schools_noncentered": EIGHT_SCHOOLS_NONCENTERED,
    "gp_regr": GP_REGR,
    "hmm_drive_0": HMM_DRIVE,
    "hmm_example": HMM_EXAMPLE,
    "kidscore_interaction": INTERACTION,
    "kidscore_interaction_c": INTERACTION_C,
    "kidscore_interaction_c2": INTERACTION_C2,
    "kidscore_interaction_z": INTERACTION_Z,
    "kidscore_mom_work": MOM_WORK,
    "kidscore_momhs": MOMHS,
    "kidscore_momhsiq": MOMHSIQ,
    "kidscore_momiq": MOMIQ,
    "kilpisjarvi": KILPISJARVI,
    "nes": NES,
    "one_comp_mm_elim_abs": ONE_COMP_MM_ELIM_ABS,
}

DEVELOPMENT: tuple[str, ...] = (
    "eight_schools-eight_schools_noncentered",
    "arK-arK",
    "gp_pois_regr-gp_regr",
    "hmm_example-hmm_example",
    "bball_drive_event_0-hmm_drive_0",
    "one_comp_mm_elim_abs-one_comp_mm_elim_abs",
    "kilpisjarvi_mod-kilpisjarvi",
    "sblrc-blr",
    "sblri-blr",
    "nes1972-nes",
    "nes1988-nes",
    "nes2000-nes",
    "kidiq-kidscore_momhs",
    "kidiq-kidscore_momiq",
    "kidiq-kidscore_momhsiq",
    "kidiq-kidscore_interaction",
    "kidiq_with_mom_work-kidscore_interaction_c",
    "kidiq_with_mom_work-kidscore_interaction_c2",
    "kidiq_with_mom_work-kidscore_interaction_z",
    "kidiq_with_mom_work-kidscore_mom_work",
)


def available(data_dir: str | Path) -> list[str]:
    """The posteriors in the folder that can be loaded."""
    folders = sorted(path.parent.name for path in Path(data_dir).glob("*/data.json"))
    return [name for name in folders if name.partition("-")[2] in PROGRAMS]


def load(name: str, data_dir: str | Path) -> Posterior:
    """Read the posterior `name` ("data-program") from `data_dir`."""
    program_name = name.partition("-")[2]
    if program_name not in PROGRAMS:
        raise KeyError(f"no NumPyro model for {name!r}; known programs: {', '.join(PROGRAMS)}")
    folder = Path(data_dir) / name
    if not folder.is_dir():
        raise FileNotFoundError(f"no folder {folder}")
    program = PROGRAMS[program_name]
    data = json.loads((folder / "data.json").read_text())
    info = json.loads((folder / "info.json").read_text())
    with np.load(folder / "reference.npz") as file:
        reference = file["draws"].astype(np.float64)
        names = tuple(str(column) for column in file["names"])
    return Posterior(
        name=name,
        model=program.model,
        args=(),
        kwargs=program.inputs(data),
        reference=reference,
        names=names,
        chains=int(info["reference"]["n_chains"]),
        derived=program.derived,
        transform=program.transform,
    )
