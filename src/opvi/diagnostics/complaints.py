"""What each check holds against a fit, in one unit: its measure over the size that matters.

A size of 1 is where a fit stops being good. The measure is an error in sd of p, less two standard
errors of it: noise is no complaint, and neither is a significant difference too small to matter.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from opvi.diagnostics.identities import ScoreIdentities
from opvi.diagnostics.importance import Importance
from opvi.diagnostics.improper import Finding
from opvi.diagnostics.ksd import KSDTest
from opvi.diagnostics.modes import Modes
from opvi.diagnostics.moments import Moments
from opvi.diagnostics.sections import Sections
from opvi.diagnostics.stein import SteinTest

SURE = 2.0  # standard errors
SHAPE = 6.0  # size up to which a learned test function is taken to be about spread and shape


@dataclass(frozen=True)
class Thresholds:
    """Sizes that matter, the errors in sd of p; calibrated in `benchmarks/verdict.py`."""

    shift: float = 0.12
    log_sd: float = 0.12
    displacement: float = 0.25
    khat: float = 0.7
    outside: float = 0.05
    invalid: float = 0.02
    ksd: float = 0.02


@dataclass(frozen=True)
class Complaint:
    """- `size`: 1 is where it matters. - `means`: whether means are wrong as well as spreads."""

    size: float
    sentence: str
    means: bool = True


def of_findings(findings: Sequence[Finding]) -> Iterator[Complaint]:
    for finding in findings:
        yield Complaint(np.inf if finding.fatal else 2.0, finding.message)


def of_moments(
    found: ScoreIdentities | Moments | Importance, limits: Thresholds, by: str
) -> Iterator[Complaint]:
    """The worst mean and the worst sd by one check."""
    columns, shift, log_sd = found.columns, found.shift, found.log_sd_ratio
    sizes = np.maximum(np.abs(shift) - SURE * found.shift_error, 0.0) / limits.shift
    i = int(np.argmax(sizes))
    yield Complaint(
        float(sizes[i]),
        f"the mean of {columns[i]} is too {'high' if shift[i] > 0 else 'low'} by about "
        f"{abs(shift[i]):.2g} sd ({by})" + _others(sizes, i, "mean"),
    )
    sizes = np.maximum(np.abs(log_sd) - SURE * found.log_sd_ratio_error, 0.0) / limits.log_sd
    i = int(np.argmax(sizes))
    kind = "overestimated" if log_sd[i] > 0 else "underestimated"
    yield Complaint(
        float(sizes[i]),
        f"the sd of {columns[i]} is {kind} by about {abs(np.expm1(np.clip(log_sd[i], -5, 5))):.0%} "
        f"({by})" + _others(sizes, i, "sd"),
        means=False,
    )


def of_identities(found: ScoreIdentities, limits: Thresholds) -> Iterator[Complaint]:
    yield from of_moments(found, limits, "by the score identities")


def of_refresh(found: Moments, limits: Thresholds) -> Iterator[Complaint]:
    yield from of_moments(found, limits, "a short Markov chain from the draws moves it")


def of_weights(found: Importance, limits: Thresholds, corrected: bool) -> Iterator[Complaint]:
    """The draws were corrected by these weights, or could have been."""
    if found.invalid > 0 and not corrected:
        yield Complaint(
            found.invalid / limits.invalid,
            f"the log density is infinite or NaN at {found.invalid:.1%} of the draws of the fit",
        )
    if corrected:
        yield Complaint(
            found.khat / limits.khat,
            f"the draws are corrected by importance weights with a heavy tail (k-hat {found.khat:.2f}): "
            "a few draws decide",
        )
    elif found.khat < limits.khat:
        yield from of_moments(found, limits, "by importance weights")


def of_stein(found: SteinTest, limits: Thresholds) -> Iterator[Complaint]:
    if found.z > 3:
        i = int(np.argmax(found.displacement))
        size = float(found.displacement[i])
        yield Complaint(
            size / limits.displacement,
            f"a learned test function tells the draws from the posterior (z {found.z:.1f}): it moves "
            f"{found.columns[i]} by {size:.2g} sd",
            means=size > SHAPE * limits.displacement,
        )


def of_ksd(found: KSDTest, limits: Thresholds) -> Iterator[Complaint]:
    if found.p_value < 0.01:
        yield Complaint(
            found.ksd2 / limits.ksd,
            f"the kernel Stein discrepancy is {found.ksd2:.2g}, {found.z:.1f} standard deviations "
            "from that of posterior draws",
            means=False,
        )


def of_sections(
    found: Sections, directions: Sequence[str], limits: Thresholds
) -> Iterator[Complaint]:
    i = int(np.argmax(found.outside))
    yield Complaint(
        float(found.outside[i]) / limits.outside,
        f"about {found.outside[i]:.1%} of the mass along {directions[i]} lies beyond 6 sd of the "
        "fit: a heavy tail, or another mode",
        means=False,
    )


def of_modes(found: Modes) -> Iterator[Complaint]:
    for k in found.missed:
        yield Complaint(
            float(found.mass[k] / 0.05),
            f"a mode that {found.starts[k]} start{'s' * (found.starts[k] > 1)} found, with about "
            f"{found.mass[k]:.0%} of the mass, has {found.share[k]:.1%} of the draws",
        )
    if found.growing:
        yield Complaint(
            2.0,
            f"{len(found.starts)} modes, and the last starts still found new ones: modes may be "
            "missing",
        )


def _others(sizes: np.ndarray, i: int, what: str) -> str:
    others = int(np.sum(sizes >= 1) - (sizes[i] >= 1))
    return f"; the {what} of {others} more {'is' if others == 1 else 'are'} off" if others else ""
