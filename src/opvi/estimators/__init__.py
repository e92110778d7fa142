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
from opvi.estimators.score_function import ScoreFunction
from opvi.estimators.score_function_controls import (
    AbstractControlVariate,
    AbstractSurrogate,
    LeaveOneOut,
    Neighbours,
    NoControlVariate,
    Regression,
    SteinControlVariate,
)

__all__ = [
    "AbstractControlVariate",
    "AbstractEstimator",
    "AbstractSurrogate",
    "FunctionalGradient",
    "LeaveOneOut",
    "Neighbours",
    "NoControlVariate",
    "PathGradient",
    "Regression",
    "Reparameterised",
    "SampleSet",
    "ScoreFunction",
    "SteinControlVariate",
    "estimate",
    "sample_sets",
    "test_function_gradient",
]
