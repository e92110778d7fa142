"""The `opvi` command: `opvi study`, `opvi studies`, `opvi fit`, `opvi compare`, `opvi cite`.

Exit codes: 0 fine; 1 measured, and not good enough (it says which number); 2 asked for something that
cannot be done (it says what to write instead); 130 interrupted.
"""

from opvi.cli._app import main as main, run as run
