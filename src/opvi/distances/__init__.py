"""The distance t that turns E_q[O f] into a non-negative number, and its unbiased paired form."""

from opvi.distances._base import AbstractDistance
from opvi.distances.identity import Identity
from opvi.distances.logarithm import Logarithm, SelfNormalised
from opvi.distances.plug_in import PlugIn
from opvi.distances.polynomial import Distance, Polynomial
from opvi.distances.square import Square

__all__ = [
    "AbstractDistance",
    "Distance",
    "Identity",
    "Logarithm",
    "PlugIn",
    "Polynomial",
    "SelfNormalised",
    "Square",
]
