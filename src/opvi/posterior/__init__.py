"""From a family over R^d back to the model: draws on their supports, under their names."""

from opvi.posterior.posterior import Posterior

__all__ = ["Posterior"]
