"""`opvi compare FILE.py:target`: several methods beside each other on one target."""

import opvi
from opvi._core.errors import require
from opvi.cli._load import load_target


def compare(target: str, /) -> None:
    """Compare methods on a target of your own.

    Parameters
    ----------
    target
        FILE.py:NAME of a target, or of a function that makes one.
    """
    load_target(target, "compare")
    require(
        hasattr(opvi, "compare"),
        opvi.OpviError,
        expected="a version of opvi with opvi.compare",
        got=f"opvi {opvi.__version__}, which has none yet",
        write=f"opvi fit {target}",
    )
