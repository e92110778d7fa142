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
from opvi.families.amortised import (
    AbstractAmortised,
    AmortisedFullRank,
    AmortisedMeanField,
    AmortisedProgram,
    Shared,
)
from opvi.families.discrete._base import AbstractDiscreteFamily
from opvi.families.discrete.autoregressive import Autoregressive, LogisticAutoregressive
from opvi.families.discrete.mean_field import BernoulliMeanField, CategoricalMeanField
from opvi.families.discrete.mixed import (
    AbstractMixedFamily,
    ConditionalMixedFamily,
    MixedFamily,
    MixedProgram,
)
from opvi.families.product import Product
from opvi.families.programs.mlp import MLPProgram, Program
from opvi.families.programs.networks import SkipMLP
from opvi.families.programs.semi_implicit import SemiImplicitProgram
from opvi.families.programs.student_t import StudentTProgram
from opvi.families.programs.two_sided import TwoSidedProgram
from opvi.families.programs.weighted import WeightedProgram
from opvi.families.squashed import Squashed
from opvi.families.tractable.flow import (
    CouplingFlow,
    Flow,
    FlowjaxFamily,
    TriangularSplineFlow,
)
from opvi.families.tractable.full_rank import FullRank
from opvi.families.tractable.low_rank import LowRank
from opvi.families.tractable.mean_field import MeanField
from opvi.families.tractable.mixture import FullRankMixture, Mixture
from opvi.families.tractable.student_t import StudentT

__all__ = [
    "AbstractAmortised",
    "AbstractDiscreteFamily",
    "AbstractFamily",
    "AbstractMixedFamily",
    "AbstractReparameterisedFamily",
    "AbstractSemiImplicitFamily",
    "AbstractTractableFamily",
    "AbstractTransportFamily",
    "AbstractWeightedFamily",
    "Affine",
    "AmortisedFullRank",
    "AmortisedMeanField",
    "AmortisedProgram",
    "Autoregressive",
    "BernoulliMeanField",
    "CategoricalMeanField",
    "ConditionalMixedFamily",
    "CouplingFlow",
    "Flow",
    "FlowjaxFamily",
    "FullRank",
    "FullRankMixture",
    "LogisticAutoregressive",
    "LowRank",
    "MLPProgram",
    "MeanField",
    "Mixture",
    "MixedFamily",
    "MixedProgram",
    "Product",
    "Program",
    "SemiImplicitProgram",
    "Shared",
    "SkipMLP",
    "Squashed",
    "StudentT",
    "StudentTProgram",
    "TriangularSplineFlow",
    "TwoSidedProgram",
    "WeightedProgram",
]
