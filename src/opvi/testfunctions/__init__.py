"""The family F of test functions, and the ball that keeps them from running away."""

from opvi.testfunctions._base import (
    AbstractTestFunction,
    AbstractTestFunctionFamily,
    Evaluated,
    NoTestFunction,
)
from opvi.testfunctions.amortised import AmortisedTestFunction
from opvi.testfunctions.balls import AbstractBall, BoundedNorm, L2Ball, RKHSBall
from opvi.testfunctions.discrete import StateTestFunction, TableTestFunction
from opvi.testfunctions.features import AbstractFeatureMap, LinearFeatures, RandomFeatures
from opvi.testfunctions.kernels import (
    IMQ,
    RBF,
    AbstractAnchoredKernel,
    AbstractKernel,
    Laplace,
    Riesz,
)
from opvi.testfunctions.linear import LinearTestFunction
from opvi.testfunctions.neural import NeuralTestFunction
from opvi.testfunctions.vanishing import VanishingTestFunction

__all__ = [
    "AbstractAnchoredKernel",
    "AbstractBall",
    "AbstractFeatureMap",
    "AbstractKernel",
    "AbstractTestFunction",
    "AbstractTestFunctionFamily",
    "AmortisedTestFunction",
    "BoundedNorm",
    "Evaluated",
    "IMQ",
    "L2Ball",
    "Laplace",
    "LinearFeatures",
    "LinearTestFunction",
    "NeuralTestFunction",
    "NoTestFunction",
    "RBF",
    "RKHSBall",
    "RandomFeatures",
    "Riesz",
    "StateTestFunction",
    "TableTestFunction",
    "VanishingTestFunction",
]
