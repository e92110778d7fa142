"""The operator O^{p,q}: what turns a test function into something with mean zero under the posterior."""

from opvi.operators._base import (
    AbstractClosedFormTestFunctionFamily,
    AbstractDivergenceOperator,
    AbstractOperator,
    AbstractSteinOperator,
    Draw,
)
from opvi.operators.chi import Chi
from opvi.operators.diffusion_stein import DiffusionStein
from opvi.operators.divergence import (
    AbstractDivergence,
    Automatic,
    DivergenceFree,
    Exact,
    Hutchinson,
)
from opvi.operators.fisher import Fisher
from opvi.operators.inclusive_kl import InclusiveKL
from opvi.operators.kl import KL
from opvi.operators.langevin_stein import LangevinStein
from opvi.operators.ratio import AbstractRatioOperator
from opvi.operators.renyi import Renyi

__all__ = [
    "AbstractClosedFormTestFunctionFamily",
    "AbstractDivergence",
    "AbstractDivergenceOperator",
    "AbstractOperator",
    "AbstractRatioOperator",
    "AbstractSteinOperator",
    "Automatic",
    "Chi",
    "DiffusionStein",
    "DivergenceFree",
    "Draw",
    "Exact",
    "Fisher",
    "Hutchinson",
    "InclusiveKL",
    "KL",
    "LangevinStein",
    "Renyi",
]
