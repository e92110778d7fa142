"""`opvi cite`: BibTeX of the paper, and of what a fit was made of."""

from opvi import OpviError
from opvi.cli._bibliography import ALWAYS, BIBTEX, WORKS


def cite(*pieces: str) -> None:
    """Print the BibTeX of opvi, of the paper, and of the works behind the pieces that are named.

    Parameters
    ----------
    pieces
        Names as in `import opvi` (PathGradient, SemiImplicitProgram, ...); "all" for all there are.
    """
    print("\n\n".join(BIBTEX[key] for key in keys(pieces)))


def keys(pieces: tuple[str, ...]) -> tuple[str, ...]:
    """The works behind `pieces`, each once."""
    if pieces == ("all",):
        return tuple(BIBTEX)
    unknown = [piece for piece in pieces if piece not in WORKS]
    if unknown:
        raise OpviError(
            f"expected pieces with a work of their own ({', '.join(WORKS)}); got {unknown[0]!r}, "
            "which needs no citation beyond the paper's or does not exist.\n"
            "  Write instead: opvi cite, or opvi cite all"
        )
    return tuple(dict.fromkeys([*ALWAYS, *(key for piece in pieces for key in WORKS[piece])]))
