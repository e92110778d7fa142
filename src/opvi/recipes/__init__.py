"""From a target to a posterior in one call: which pieces, in which order, with which settings."""

from opvi.recipes.check import check
from opvi.recipes.compare import compare
from opvi.recipes.comparison import Comparison, ComparisonRow
from opvi.recipes.fit import fit
from opvi.recipes.fit_many import fit_many
from opvi.recipes.nuts import NUTSDraws, nuts
from opvi.recipes.posteriors import Posteriors

__all__ = [
    "Comparison",
    "ComparisonRow",
    "NUTSDraws",
    "Posteriors",
    "check",
    "compare",
    "fit",
    "fit_many",
    "nuts",
]
