"""Every piece there is, and which of them go together."""

from opvi.catalogue.compatibility import compatibility
from opvi.catalogue.table import Compatibility, Row

__all__ = ["Compatibility", "Row", "compatibility"]
