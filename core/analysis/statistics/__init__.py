"""Statistics over many episodes, with intervals.

summarise           one policy's success rates, Crafter score and means; intervals by bootstrap over seeds
unlock_curve        the share of episodes that have an achievement by each step; `unlock_times`: quartiles of the step
rank_correlation    whether the shaped return follows the achievements
component_pay       what each reward component paid
differences         settings that make a comparison unfair
published_rows      published results to compare with
"""

from __future__ import annotations

from core.analysis.statistics.association import NoCorrelation, RankCorrelation, rank_correlation
from core.analysis.statistics.bootstrap import CONFIDENCE, MIN_SEEDS, RESAMPLES, Estimate, SeedBootstrap
from core.analysis.statistics.comparability import (
    ENDED_EARLY,
    REWARD,
    SETTINGS,
    Difference,
    SeedOverlap,
    differences,
    seed_overlap,
    setting_text,
    varying_settings,
)
from core.analysis.statistics.components import ComponentPay, ComponentTable, component_pay, component_table
from core.analysis.statistics.published import HUMAN, RANDOM, PublishedRow, published_rows
from core.analysis.statistics.sample import Rows, Sample, sample_of
from core.analysis.statistics.scores import Distribution, Summary, crafter_score, distribution, summarise
from core.analysis.statistics.unlocks import UnlockCurve, UnlockTime, unlock_curve, unlock_table, unlock_times

__all__ = [
    "CONFIDENCE",
    "ENDED_EARLY",
    "HUMAN",
    "MIN_SEEDS",
    "RANDOM",
    "RESAMPLES",
    "REWARD",
    "SETTINGS",
    "ComponentPay",
    "ComponentTable",
    "Difference",
    "Distribution",
    "Estimate",
    "NoCorrelation",
    "PublishedRow",
    "RankCorrelation",
    "Rows",
    "Sample",
    "SeedBootstrap",
    "SeedOverlap",
    "Summary",
    "UnlockCurve",
    "UnlockTime",
    "component_pay",
    "component_table",
    "crafter_score",
    "differences",
    "distribution",
    "published_rows",
    "rank_correlation",
    "sample_of",
    "seed_overlap",
    "setting_text",
    "summarise",
    "unlock_curve",
    "unlock_table",
    "unlock_times",
    "varying_settings",
]
