"""Children's test scores on their mothers' education, IQ and work: eight designs of one regression."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpyro.distributions as dist

from ._program import Program, floats
from .regression import flat_sigma, linear_regression


def half_cauchy_sigma(design, outcome):
    linear_regression(design, outcome, dist.HalfCauchy(2.5))


def _inputs(names: tuple[str, ...], predictors: Callable[..., list[np.ndarray]]):
    def inputs(data: Mapping[str, Any]) -> dict[str, np.ndarray]:
        score = np.asarray(data["kid_score"], dtype=np.float64)
        columns = predictors(*floats(data, names).values())
        return {"design": np.stack([np.ones_like(score), *columns], axis=1), "outcome": score}

    return inputs


def _with_interaction(hs, iq):
    return [hs, iq, hs * iq]


def _centred(hs, iq):
    return _with_interaction(hs - hs.mean(), iq - iq.mean())


def _reference_points(hs, iq):
    return _with_interaction(hs - 0.5, iq - 100)


def _standardised(hs, iq):
    return _with_interaction(
        (hs - hs.mean()) / (2 * hs.std(ddof=1)),
        (iq - iq.mean()) / (2 * iq.std(ddof=1)),
    )


def _work_levels(work):
    return [(work == level).astype(np.float64) for level in (2, 3, 4)]


_HS_IQ = ("mom_hs", "mom_iq")

MOMHS = Program(half_cauchy_sigma, _inputs(("mom_hs",), lambda hs: [hs]))
MOMIQ = Program(half_cauchy_sigma, _inputs(("mom_iq",), lambda iq: [iq]))
MOMHSIQ = Program(half_cauchy_sigma, _inputs(_HS_IQ, lambda hs, iq: [hs, iq]))
INTERACTION = Program(half_cauchy_sigma, _inputs(_HS_IQ, _with_interaction))
INTERACTION_C = Program(flat_sigma, _inputs(_HS_IQ, _centred))
INTERACTION_C2 = Program(flat_sigma, _inputs(_HS_IQ, _reference_points))
INTERACTION_Z = Program(flat_sigma, _inputs(_HS_IQ, _standardised))
MOM_WORK = Program(flat_sigma, _inputs(("mom_work",), _work_levels))
