"""Is the fit good? Checks that need no density of q, typed results, one verdict. Nothing is printed."""

from opvi.diagnostics.examine import examine
from opvi.diagnostics.identities import ScoreIdentities, score_identities
from opvi.diagnostics.importance import Importance, importance
from opvi.diagnostics.improper import Finding, Flaw, improper
from opvi.diagnostics.judge import Evidence, Thresholds, judge
from opvi.diagnostics.ksd import KSDTest, ksd_test
from opvi.diagnostics.modes import Modes, modes
from opvi.diagnostics.moments import Moments, paired_moments
from opvi.diagnostics.refresh import Refresh, refresh
from opvi.diagnostics.sections import Sections, sections
from opvi.diagnostics.stein import SteinTest, stein_test

__all__ = [
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
    "ksd_test",
    "modes",
    "paired_moments",
    "refresh",
    "score_identities",
    "sections",
    "stein_test",
]
