"""What we want to know: the log density of the latents, their supports, names and data."""

from opvi.targets._base import AbstractSubsampledTarget, AbstractTarget
from opvi.targets.bayesian import BayesianTarget, from_likelihood
from opvi.targets.discrete import (
    AbstractDiscreteTarget,
    AbstractMixedTarget,
    DiscreteTarget,
    MixedTarget,
    SubsampledDiscreteTarget,
)
from opvi.targets.factors import (
    AbstractFactorisedTarget,
    FactorisedDiscreteTarget,
    from_factors,
    temper,
)
from opvi.targets.log_density import LogDensityTarget, from_log_density
from opvi.targets.numpyro import NumPyroTarget, from_numpyro
from opvi.targets.numpyro_model import KeepUnobserved
from opvi.targets.supports import domain_of
from opvi.targets.tempered import TemperedTarget
from opvi.targets.whitened import WhitenedTarget

__all__ = [
    "AbstractDiscreteTarget",
    "AbstractFactorisedTarget",
    "AbstractMixedTarget",
    "AbstractSubsampledTarget",
    "AbstractTarget",
    "BayesianTarget",
    "DiscreteTarget",
    "FactorisedDiscreteTarget",
    "KeepUnobserved",
    "LogDensityTarget",
    "MixedTarget",
    "NumPyroTarget",
    "SubsampledDiscreteTarget",
    "TemperedTarget",
    "WhitenedTarget",
    "domain_of",
    "from_factors",
    "from_likelihood",
    "from_log_density",
    "from_numpyro",
    "temper",
]
