"""Learning the parameters of a model: with operator objectives for q (`learn`), or by minimising the
Stein discrepancy between an unnormalised model and data (`learn_by_stein`)."""

from opvi.learning.evidence import annealed_bound, importance_bound
from opvi.learning.learn import Learned, learn
from opvi.learning.stein import ScoreMatching, SteinLearned, learn_by_stein

__all__ = [
    "Learned",
    "ScoreMatching",
    "SteinLearned",
    "annealed_bound",
    "importance_bound",
    "learn",
    "learn_by_stein",
]
