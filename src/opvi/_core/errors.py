"""Errors that teach: what was expected, what came, the line to write instead."""


class OpviError(ValueError):
    """Base class of every error that opvi raises on purpose.

    Those of `require` carry the three parts of their message.
    """

    expected: str = ""
    got: str = ""
    write: str = ""


class IncompatibleError(OpviError):
    """Pieces that are each fine, but not together (KL with a program, say)."""


class InvalidTargetError(OpviError):
    """A log density that cannot be inferred from: wrong shape, NaN at every start, unknown support."""


def teach(expected: str, got: str, write: str) -> str:
    """The one format of every message."""
    return f"expected {expected}; got {got}.\n  Write instead: {write}"


def require(
    condition: bool, error: type[OpviError], *, expected: str, got: str, write: str
) -> None:
    """Raise `error`, with a message that teaches, unless `condition` holds (a Python bool)."""
    if not condition:
        raised = error(teach(expected, got, write))
        raised.expected, raised.got, raised.write = expected, got, write
        raise raised
