"""What we approximate with: the family Q. Having a density is a type, not a flag."""

from opvi.families._base import (
    AbstractFamily,
    AbstractReparameterisedFamily,
    AbstractSemiImplicitFamily,
    AbstractTractableFamily,
    AbstractTransportFamily,
    AbstractWeightedFamily,
)
from opvi.families.affine import Affine
from opvi.families.programs.mlp import MLPProgram, Program
from opvi.families.programs.networks import SkipMLP
from opvi.families.programs.semi_implicit import SemiImplicitProgram
from opvi.families.programs.two_sided import TwoSidedProgram
from opvi.families.tractable.flow import (
    CouplingFlow,
    Flow,
    FlowjaxFamily,
    TriangularSplineFlow,
)
from opvi.families.tractable.full_rank import FullRank
from opvi.families.tractable.low_rank import LowRank
from opvi.families.tractable.mean_field import MeanField

__all__ = [
    "AbstractFamily",
    "AbstractReparameterisedFamily",
    "AbstractSemiImplicitFamily",
    "AbstractTractableFamily",
    "AbstractTransportFamily",
    "AbstractWeightedFamily",
    "Affine",
    "CouplingFlow",
    "Flow",
    "FlowjaxFamily",
    "FullRank",
    "LowRank",
    "MLPProgram",
    "MeanField",
    "Program",
    "SemiImplicitProgram",
    "SkipMLP",
    "TriangularSplineFlow",
    "TwoSidedProgram",
]
