"""What we want to know: the log density of the latents, their supports, names and data."""

from opvi.targets._base import AbstractSubsampledTarget, AbstractTarget
from opvi.targets.bayesian import BayesianTarget, from_likelihood
from opvi.targets.log_density import LogDensityTarget, from_log_density
from opvi.targets.numpyro import NumPyroTarget, from_numpyro
from opvi.targets.numpyro_model import KeepUnobserved
from opvi.targets.tempered import TemperedTarget
from opvi.targets.whitened import WhitenedTarget

__all__ = [
    "AbstractSubsampledTarget",
    "AbstractTarget",
    "BayesianTarget",
    "KeepUnobserved",
    "LogDensityTarget",
    "NumPyroTarget",
    "TemperedTarget",
    "WhitenedTarget",
    "from_likelihood",
    "from_log_density",
    "from_numpyro",
]
