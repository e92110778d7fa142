"""Stochastic gradients of both sides of the min-max. Owns vmap, keys and independent sample sets."""

from opvi.estimators._base import (
    AbstractEstimator,
    SampleSet,
    estimate,
    sample_sets,
    test_function_gradient,
)
from opvi.estimators.functional import FunctionalGradient
from opvi.estimators.path import PathGradient
from opvi.estimators.reparameterised import Reparameterised

__all__ = [
    "AbstractEstimator",
    "FunctionalGradient",
    "PathGradient",
    "Reparameterised",
    "SampleSet",
    "estimate",
    "sample_sets",
    "test_function_gradient",
]
