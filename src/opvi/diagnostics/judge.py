"""From numbers to a verdict: the one place where thresholds live."""

from dataclasses import dataclass

from opvi.diagnostics.identities import ScoreIdentities
from opvi.diagnostics.importance import Importance
from opvi.diagnostics.improper import Finding
from opvi.diagnostics.ksd import KSDTest
from opvi.diagnostics.modes import Modes
from opvi.diagnostics.refresh import Refresh
from opvi.diagnostics.stein import SteinTest
from opvi.posterior.verdict import Status, Verdict
from opvi.solver import Result


@dataclass(frozen=True)
class Evidence:
    """What is known about a fit. Every part may be missing; the verdict says what was looked at."""

    identities: ScoreIdentities | None = None
    ksd: KSDTest | None = None
    stein: SteinTest | None = None
    importance: Importance | None = None
    refresh: Refresh | None = None
    modes: Modes | None = None
    findings: tuple[Finding, ...] = ()
    converged: bool | None = None
    result: Result | None = None
    scores_spent: int = 0

    @property
    def gradient_evaluations(self) -> int:
        """Gradients of the log density that the checks have cost."""
        parts = (self.identities, self.ksd, self.stein, self.importance, self.refresh, self.modes)
        return self.scores_spent + sum(
            part.gradient_evaluations for part in parts if part is not None
        )


@dataclass(frozen=True)
class Thresholds:
    """Errors that matter, in sd of p; calibrated in `benchmarks/verdict.py`."""

    shift: float = 0.12
    log_sd: float = 0.12
    displacement: float = 0.25


def judge(evidence: Evidence, thresholds: Thresholds = Thresholds()) -> Verdict:
    """Good, usable for means only, or unreliable."""
    reasons, numbers, status = [], {}, Status.good
    moments = evidence.refresh.natural if evidence.refresh is not None else None
    if moments is not None:
        for i, column in enumerate(moments.columns):
            if abs(moments.shift[i]) > thresholds.shift:
                status = Status.unreliable
                reasons.append(f"the mean of {column} is off by {moments.shift[i]:+.2f} sd")
            if abs(moments.log_sd_ratio[i]) > thresholds.log_sd:
                status = Status.means_only if status is Status.good else status
                reasons.append(f"the sd of {column} is off by {moments.log_sd_ratio[i]:+.0%}")
        numbers["shift"] = float(abs(moments.shift).max())
        numbers["log_sd_ratio"] = float(abs(moments.log_sd_ratio).max())
    return Verdict(status, tuple(reasons), numbers, evidence.converged)
