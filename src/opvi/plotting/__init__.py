"""Pictures of a finished fit. They draw what is there: nothing here fits, and nothing shows a window."""

from opvi.plotting.compare import comparison as comparison
from opvi.plotting.history import history as history
from opvi.plotting.marginals import marginals as marginals
from opvi.plotting.style import (
    BLUE as BLUE,
    GREEN as GREEN,
    GREY as GREY,
    ORANGE as ORANGE,
    blank as blank,
    style as style,
)
