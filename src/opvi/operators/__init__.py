"""The operator O^{p,q}: what turns a test function into something with mean zero under the posterior."""

from opvi.operators._base import (
    AbstractClosedFormTestFunctionFamily,
    AbstractDivergenceOperator,
    AbstractGradientFreeOperator,
    AbstractOperator,
    AbstractSteinOperator,
    Draw,
)
from opvi.operators.chi import Chi
from opvi.operators.diffusion_stein import DiffusionStein
from opvi.operators.discrete_checks import (
    check_latents,
    check_operator,
    check_test_functions,
    evaluations,
)
from opvi.operators.discrete_stein import (
    AbstractDiscreteSteinOperator,
    CoordinateStein,
    DiscreteStein,
    GibbsStein,
)
from opvi.operators.discrete_stein_mixed import MixedStein
from opvi.operators.divergence import (
    AbstractDivergence,
    Automatic,
    DivergenceFree,
    Exact,
    Hutchinson,
)
from opvi.operators.features import Features
from opvi.operators.fisher import Fisher
from opvi.operators.inclusive_kl import InclusiveKL
from opvi.operators.kernel_ball import KernelBall
from opvi.operators.kl import KL
from opvi.operators.langevin_stein import LangevinStein
from opvi.operators.ratio import AbstractRatioOperator
from opvi.operators.renyi import Renyi
from opvi.operators.statistics import AbstractStatistic, TwoBatches, UStatistic, VStatistic
from opvi.operators.stein_kernel import stein_kernel

__all__ = [
    "AbstractClosedFormTestFunctionFamily",
    "AbstractDiscreteSteinOperator",
    "AbstractDivergence",
    "AbstractDivergenceOperator",
    "AbstractGradientFreeOperator",
    "AbstractOperator",
    "AbstractRatioOperator",
    "AbstractStatistic",
    "AbstractSteinOperator",
    "Automatic",
    "Chi",
    "CoordinateStein",
    "DiffusionStein",
    "DiscreteStein",
    "DivergenceFree",
    "Draw",
    "Exact",
    "Features",
    "Fisher",
    "GibbsStein",
    "Hutchinson",
    "InclusiveKL",
    "KL",
    "KernelBall",
    "LangevinStein",
    "MixedStein",
    "Renyi",
    "TwoBatches",
    "UStatistic",
    "VStatistic",
    "check_latents",
    "check_operator",
    "check_test_functions",
    "evaluations",
    "stein_kernel",
]
