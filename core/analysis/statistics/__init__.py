"""Statistics over many episodes, with intervals.

`summarise` gives one policy's success rates, Crafter score and means with intervals by bootstrap over seeds;
`unlock_curve` and `unlock_times` say when achievements come; `rank_correlation` whether the shaped return follows them;
`component_pay` what paid; `differences` what makes a comparison unfair; `published_rows` what others have reached.
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
from core.analysis.statistics.distribution import Distribution, distribution
from core.analysis.statistics.published import HUMAN, RANDOM, PublishedRow, published_rows
from core.analysis.statistics.sample import Floats, Rows, Sample, sample_of
from core.analysis.statistics.scores import Summary, crafter_score, summarise
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
    "Floats",
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
