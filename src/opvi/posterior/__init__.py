"""From a family over R^d back to the model: draws on their supports, under their names."""

from opvi.posterior.posterior import Posterior
from opvi.posterior.verdict import PoorFitWarning, Status, Verdict

__all__ = ["PoorFitWarning", "Posterior", "Status", "Verdict"]
