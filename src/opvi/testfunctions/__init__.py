"""The family F of test functions, and the ball that keeps them from running away."""

from opvi.testfunctions._base import (
    AbstractTestFunction,
    AbstractTestFunctionFamily,
    Evaluated,
    NoTestFunction,
)
from opvi.testfunctions.amortised import AmortisedTestFunction
from opvi.testfunctions.balls import AbstractBall, BoundedNorm, L2Ball
from opvi.testfunctions.discrete import StateTestFunction, TableTestFunction
from opvi.testfunctions.linear import LinearTestFunction
from opvi.testfunctions.neural import NeuralTestFunction

__all__ = [
    "AbstractBall",
    "AbstractTestFunction",
    "AbstractTestFunctionFamily",
    "AmortisedTestFunction",
    "BoundedNorm",
    "Evaluated",
    "L2Ball",
    "LinearTestFunction",
    "NeuralTestFunction",
    "NoTestFunction",
    "StateTestFunction",
    "TableTestFunction",
]
