"""Texts of the Policies view: numbers with their intervals, and what makes a comparison unfair.

Plain text that contains names from traces: show it with `st.text`, or escaped.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from core.analysis.statistics import (
    CONFIDENCE,
    ENDED_EARLY,
    MIN_SEEDS,
    RESAMPLES,
    REWARD,
    SETTINGS,
    Difference,
    Estimate,
    NoCorrelation,
    RankCorrelation,
    SeedOverlap,
    Summary,
)
from core.rewards import STRATEGIES
from core.text import plural
from core.types import RewardConfig
from pages.components.text.escape import one_line
from pages.components.text.format import listed, name_text, number, short_id, signed
from pages.components.text.sentences import lambda_text

INTERVALS_HELP = (
    f"Intervals: {CONFIDENCE:.0%}, bootstrap over seeds ({RESAMPLES:,} resamples of whole seeds with their episodes, "
    "bias corrected and accelerated). One or two seeds have no interval; below ten they are rough."
)
SCORE_HELP = (
    "Crafter score: exp(mean of ln(1 + success rate in %)) − 1 over the achievements (Hafner 2022). With few episodes "
    "the score is too low, since an achievement that none of them unlocked counts 0: compare rows with similar numbers."
)

_MAX_VALUES = 4
_MAX_POLICIES = 6
_MAX_VALUE_LENGTH = 60
_FEW_SEEDS = 10
_EFFECTS = {
    REWARD: "Shaped returns of different configurations cannot be compared; everything else can.",
    "step limit": "More steps leave more time to unlock.",
    "decision limit": "More decisions leave more time to unlock.",
    "operation limit": "It may end an episode before its step limit.",
    "given ops": "They end an episode before its step limit.",
    "time limit": "It may end an episode before its step limit.",
    "actions a call may hold": "It limits the steps of a decision.",
    "world's area": "The size changes the world of each seed.",
    "view": "It limits how far the character sees.",
    "world's length": "More steps leave more time to unlock.",
}


def percent(share: float, digits: int = 0) -> str:
    """0.456 as `46%`."""
    return f"{100 * share:.{digits}f}%"


def interval_text(estimate: Estimate, digits: int = 1, factor: float = 1.0) -> str:
    """`9.8 – 16.4`; `n/a` without an interval."""
    if estimate.low is None or estimate.high is None:
        return "n/a"
    low, high = (number(factor * end, digits) for end in (estimate.low, estimate.high))
    return f"{low} – {high}"


def with_interval(estimate: Estimate, n_seeds: int, digits: int = 1, factor: float = 1.0, unit: str = "") -> str:
    """The interval and its number of seeds, as the end of a sentence."""
    interval = interval_text(estimate, digits, factor)
    if interval == "n/a":
        return f"no interval: {plural(n_seeds, 'seed')}, needs {MIN_SEEDS}"
    if estimate.low == estimate.high:
        return f"no spread: equal on all {plural(n_seeds, 'seed')}"
    rough = ", rough" if n_seeds < _FEW_SEEDS else ""
    return f"{CONFIDENCE:.0%} interval {interval}{unit} over {plural(n_seeds, 'seed')}{rough}"


def summary_sentence(policy: str, summary: Summary) -> str:
    return (
        f"{policy}: Crafter score {summary.score.value:.1f}%, achievements {summary.achievements.value:.1f}, "
        f"environment return {signed(summary.env_return.value)}, shaped return {signed(summary.shaped_return.value)} "
        f"({plural(summary.n_episodes, 'episode')} on {plural(summary.n_seeds, 'seed')})"
    )


def without_decision_text(by_policy: Mapping[str, int]) -> str:
    """How many episodes without decisions are left out, as the end of a sentence; empty if none. by_policy: counts."""
    if not by_policy:
        return ""
    policies = [f"{number(n)} of {one_line(policy, _MAX_VALUE_LENGTH)}" for policy, n in by_policy.items()]
    total = plural(sum(by_policy.values()), "episode")
    return f". {total} without decisions left out: {listed(policies, _MAX_POLICIES)}"


def differences_title(found: Sequence[Difference], overlap: SeedOverlap) -> str:
    """What differs, in a line; empty if nothing does."""
    aspects = list(dict.fromkeys(difference.aspect for difference in found if difference.aspect != ENDED_EARLY))
    if len(overlap.seeds) > 1 and not overlap.is_the_same:
        aspects.append("seeds")
    sentences = [f"Different settings: {', '.join(aspects)}."] if aspects else []
    if any(difference.aspect == ENDED_EARLY for difference in found):
        sentences.append("Some episodes were cut short.")
    return " ".join(sentences)


def differences_sentences(
    found: Sequence[Difference], overlap: SeedOverlap, configs: Mapping[str, RewardConfig]
) -> tuple[str, ...]:
    """A sentence for each difference: which policies have which value, and what it means."""
    sentences = [_sentence(difference, configs) for difference in found]
    if len(overlap.seeds) > 1 and not overlap.is_the_same:
        counts = listed([f"{policy} {len(seeds):,}" for policy, seeds in overlap.seeds.items()], _MAX_POLICIES)
        common = f"{len(overlap.common):,} in common" if overlap.common else "none in common"
        sentences.append(f"Seeds: {counts}; {common}. Other seeds are other worlds, some of them easier.")
    return tuple(sentences)


def correlation_sentence(who: str, found: RankCorrelation) -> str:
    """The rank correlation of shaped return and achievements."""
    sizes = f"{plural(found.n_episodes, 'episode')} on {plural(found.n_seeds, 'seed')}"
    if found.value is None:
        return f"{who}: n/a, because {_NO_CORRELATION[found.problem or NoCorrelation.TOO_FEW]} ({sizes})."
    value = signed(found.value)
    if found.low is None or found.high is None:
        why = "one or two seeds have no interval" if found.n_seeds < MIN_SEEDS else "no spread between seeds"
        return f"{who}: ρ = {value} ({why}; {sizes})."
    rough = ", rough" if found.n_seeds < _FEW_SEEDS else ""
    return (
        f"{who}: ρ = {value}, {CONFIDENCE:.0%} interval {signed(found.low)} to {signed(found.high)}{rough} ({sizes})."
    )


_NO_CORRELATION = {
    NoCorrelation.TOO_FEW: "it needs three episodes",
    NoCorrelation.FIRST_IS_CONSTANT: "all its episodes have the same shaped return",
    NoCorrelation.SECOND_IS_CONSTANT: "all its episodes unlocked the same number of achievements",
}


def _sentence(difference: Difference, configs: Mapping[str, RewardConfig]) -> str:
    if difference.aspect == ENDED_EARLY:
        early = next(by for value, by in difference.values if value is True)
        return f"Cut short (failed, stopped or interrupted): {_policies(early)}. Later unlocks are missing."
    values = listed(
        [f"{_value(difference.aspect, value, configs)} ({_policies(by)})" for value, by in difference.values],
        _MAX_VALUES,
    )
    if difference.aspect == SETTINGS:
        policy = next(iter(difference.values[0][1]))
        return f"Settings of {policy}: {values}. They are compared as one policy."
    return f"{difference.aspect.capitalize()}: {values}. {_EFFECTS[difference.aspect]}"


def _value(aspect: str, value: Hashable, configs: Mapping[str, RewardConfig]) -> str:
    typed: Any = value
    if aspect == REWARD:
        return config_name(str(value), configs)
    if aspect == SETTINGS:
        return ", ".join(f"{name_text(one_line(name, 30))} {one_line(text, _MAX_VALUE_LENGTH)}" for name, text in typed)
    if isinstance(typed, tuple):
        return "×".join(str(part) for part in typed)
    if aspect == "time limit":
        return f"{typed:,g} s"
    return "none" if typed is None else f"{typed:,}"


def config_name(config_hash: str, configs: Mapping[str, RewardConfig]) -> str:
    """`1a2b3c4d: Per achievement, λ 0.5`."""
    config = configs.get(config_hash)
    name = one_line(short_id(config_hash), 8)
    if config is None:
        return name
    if not config.is_active:
        return f"{name}: shaping off"
    strategy = STRATEGIES[config.strategy].label if config.strategy in STRATEGIES else one_line(config.strategy, 30)
    return f"{name}: {strategy}, {lambda_text(config)}"


def _policies(by: Mapping[str, int]) -> str:
    return listed([f"{policy} {plural(n, 'episode')}" for policy, n in by.items()], _MAX_POLICIES)
