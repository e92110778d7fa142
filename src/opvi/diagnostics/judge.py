"""From evidence to a verdict: complaints in order of size, and what the worst of them leaves usable."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from opvi.diagnostics.complaints import (
    Complaint,
    Thresholds,
    of_findings,
    of_identities,
    of_ksd,
    of_modes,
    of_refresh,
    of_sections,
    of_stein,
    of_weights,
)
from opvi.diagnostics.identities import ScoreIdentities
from opvi.diagnostics.importance import Importance
from opvi.diagnostics.improper import Finding
from opvi.diagnostics.ksd import KSDTest
from opvi.diagnostics.modes import Modes
from opvi.diagnostics.refresh import Refresh
from opvi.diagnostics.sections import Sections
from opvi.diagnostics.stein import SteinTest
from opvi.posterior.verdict import Status, Verdict
from opvi.solver import Result

SAID = 6  # reasons


@dataclass(frozen=True)
class Evidence:
    """What is known about draws. Every part may be missing; the verdict says what was looked at.

    - `corrected`: the draws are not q's own but corrected by the weights of `importance`.
    - `directions`: what to call the directions of `sections`.
    - `draws`, `wanted`: how many draws had a score; with no more than `wanted` nothing was tested.
    """

    identities: ScoreIdentities | None = None
    ksd: KSDTest | None = None
    stein: SteinTest | None = None
    importance: Importance | None = None
    refresh: Refresh | None = None
    modes: Modes | None = None
    sections: Sections | None = None
    directions: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    corrected: bool = False
    converged: bool | None = None
    result: Result | None = None
    scores_spent: int = 0
    draws: int | None = None
    wanted: int = 0

    @property
    def gradient_evaluations(self) -> int:
        """Gradients of the log density that the checks have cost."""
        parts = (
            self.identities,
            self.ksd,
            self.stein,
            self.importance,
            self.refresh,
            self.modes,
            self.sections,
        )
        return self.scores_spent + sum(
            part.gradient_evaluations for part in parts if part is not None
        )


def judge(evidence: Evidence, thresholds: Thresholds = Thresholds()) -> Verdict:
    """Good, usable for means only, or unreliable.

    `numbers["size"]` is the worst complaint in units of what matters: good is below 1.
    """
    complaints = sorted(_complaints(evidence, thresholds), key=lambda c: -c.size)
    raised = [c for c in complaints if not c.size < 1]
    if not raised:
        status = Status.good
    elif any(c.means for c in raised):
        status = Status.unreliable
    else:
        status = Status.means_only
    numbers = {"size": max((c.size for c in complaints), default=0.0), **_numbers(evidence)}
    reasons = tuple(dict.fromkeys(c.sentence for c in raised))[:SAID]
    return Verdict(status, reasons, numbers, evidence.converged)


def _complaints(e: Evidence, limits: Thresholds) -> Iterator[Complaint]:
    if e.result is Result.diverged:
        yield Complaint(np.inf, "the run diverged")
    if e.draws is not None and e.draws <= e.wanted:
        text = f"only {e.draws} draws count, of more than {e.wanted} that the checks need"
        yield Complaint(np.inf, text)
    yield from of_findings(e.findings)
    if e.modes is not None:
        yield from of_modes(e.modes)
    if e.refresh is not None:
        yield from of_refresh(e.refresh.natural, limits)
    if e.importance is not None:
        yield from of_weights(e.importance, limits, e.corrected)
    if e.identities is not None:
        yield from of_identities(e.identities, limits)
    if e.stein is not None:
        yield from of_stein(e.stein, limits)
    if e.ksd is not None:
        yield from of_ksd(e.ksd, limits)
    if e.sections is not None:
        yield from of_sections(e.sections, e.directions, limits)


def _numbers(e: Evidence) -> dict[str, float]:
    """Of each check the one that says most, by the name of the check."""
    out: dict[str, float] = {}
    if e.refresh is not None:
        out["refresh shift"] = float(np.abs(e.refresh.natural.shift).max())
        out["refresh log sd"] = float(np.abs(e.refresh.natural.log_sd_ratio).max())
    if e.identities is not None:
        out["score shift"] = float(np.abs(e.identities.shift).max())
        out["score log sd"] = float(np.abs(e.identities.log_sd_ratio).max())
    if e.stein is not None:
        out["Stein z"] = e.stein.z
        out["Stein displacement"] = float(e.stein.displacement.max())
    if e.ksd is not None:
        out["KSD p"] = e.ksd.p_value
    if e.importance is not None:
        out["k-hat"], out["ess"] = e.importance.khat, e.importance.ess
    if e.sections is not None:
        out["outside"] = float(e.sections.outside.max())
    if e.modes is not None:
        out["modes"] = float(len(e.modes.starts))
    return out
