"""The distance t that turns E_q[O f] into a non-negative number, and its unbiased paired form."""

from opvi.distances._base import AbstractDistance
from opvi.distances.identity import Identity
from opvi.distances.logarithm import Logarithm, SelfNormalised
from opvi.distances.square import Square

__all__ = ["AbstractDistance", "Identity", "Logarithm", "SelfNormalised", "Square"]
