"""From a target to a posterior in one call: which pieces, in which order, with which settings."""

from opvi.recipes.fit import fit

__all__ = ["fit"]
