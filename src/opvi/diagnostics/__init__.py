"""Is the fit good? Checks that need no density of q, typed results, one verdict. Nothing is printed."""

from opvi.diagnostics.complaints import Complaint, Thresholds
from opvi.diagnostics.examine import examine, look
from opvi.diagnostics.identities import ScoreIdentities, score_identities
from opvi.diagnostics.importance import Importance, importance, pareto_khat
from opvi.diagnostics.improper import Finding, Flaw, improper
from opvi.diagnostics.judge import Evidence, judge
from opvi.diagnostics.ksd import KSDTest, ksd_test
from opvi.diagnostics.modes import Modes, modes, modes_of
from opvi.diagnostics.moments import Moments, paired_moments
from opvi.diagnostics.refresh import Refresh, refresh
from opvi.diagnostics.sections import Sections, sections
from opvi.diagnostics.stein import SteinTest, stein_test

__all__ = [
    "Complaint",
    "Evidence",
    "Finding",
    "Flaw",
    "Importance",
    "KSDTest",
    "Modes",
    "Moments",
    "Refresh",
    "ScoreIdentities",
    "Sections",
    "SteinTest",
    "Thresholds",
    "examine",
    "importance",
    "improper",
    "judge",
    "look",
    "ksd_test",
    "modes",
    "modes_of",
    "paired_moments",
    "pareto_khat",
    "refresh",
    "score_identities",
    "sections",
    "stein_test",
]
