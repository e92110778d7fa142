"""The operator O^{p,q}: what turns a test function into something with mean zero under the posterior."""

from opvi.operators._base import (
    AbstractClosedFormTestFunctionFamily,
    AbstractDivergenceOperator,
    AbstractOperator,
    AbstractSteinOperator,
    Draw,
)
from opvi.operators.divergence import (
    AbstractDivergence,
    Automatic,
    DivergenceFree,
    Exact,
    Hutchinson,
)
from opvi.operators.kl import KL
from opvi.operators.langevin_stein import LangevinStein

__all__ = [
    "AbstractClosedFormTestFunctionFamily",
    "AbstractDivergence",
    "AbstractDivergenceOperator",
    "AbstractOperator",
    "AbstractSteinOperator",
    "Automatic",
    "DivergenceFree",
    "Draw",
    "Exact",
    "Hutchinson",
    "KL",
    "LangevinStein",
]
