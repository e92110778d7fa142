"""Party identification on ideology, race, age (as levels), education, gender and income; flat priors."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ._program import Program, floats
from .regression import flat_sigma


def _inputs(data: Mapping[str, Any]) -> dict[str, np.ndarray]:
    given = floats(data, ("real_ideo", "race_adj", "educ1", "gender", "income", "partyid7"))
    age = np.asarray(data["age_discrete"])
    columns = [
        np.ones(age.shape),
        given["real_ideo"],
        given["race_adj"],
        *((age == level).astype(np.float64) for level in (2, 3, 4)),
        given["educ1"],
        given["gender"],
        given["income"],
    ]
    return {"design": np.stack(columns, axis=1), "outcome": given["partyid7"]}


NES = Program(flat_sigma, _inputs)
