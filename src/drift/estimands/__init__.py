"""Conclusions from a posterior, on the response scale: draws in, draws out, summarised last."""

from drift.estimands.contrasts import contrast_draws, contrast_table
from drift.estimands.deviation import deviation
from drift.estimands.effects import participant_leniency, question_difficulty
from drift.estimands.equivalence import (
    equivalence_curve,
    equivalence_table,
    joint_equivalence,
    pair_differences,
    range_draws,
)
from drift.estimands.equivalent_set import EquivalentSet, largest_equivalent_set
from drift.estimands.ranks import (
    probability_best,
    probability_better,
    probability_top,
    rank_draws,
    rank_probabilities,
    rank_table,
)
from drift.estimands.summary import By, IntervalKind, interval, n_rows, probability, summarise
from drift.estimands.terms import NoDomainError, NoTermError
from drift.estimands.tiers import tier_probabilities
from drift.estimands.variance import icc, variance_shares

__all__ = [
    "By",
    "EquivalentSet",
    "IntervalKind",
    "NoDomainError",
    "NoTermError",
    "contrast_draws",
    "contrast_table",
    "deviation",
    "equivalence_curve",
    "equivalence_table",
    "icc",
    "interval",
    "joint_equivalence",
    "largest_equivalent_set",
    "n_rows",
    "pair_differences",
    "participant_leniency",
    "probability",
    "probability_best",
    "probability_better",
    "probability_top",
    "question_difficulty",
    "range_draws",
    "rank_draws",
    "rank_probabilities",
    "rank_table",
    "summarise",
    "tier_probabilities",
    "variance_shares",
]
