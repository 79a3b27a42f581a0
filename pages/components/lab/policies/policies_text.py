"""What the comparison says in words: numbers with their intervals, and what makes a comparison unfair.

Plain text, with names from traces in it: show it with `st.text`, or escaped.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from core.analysis.statistics import (
    CONFIDENCE,
    ENDED_EARLY,
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
from core.types import RewardConfig
from pages.components.text.escape import one_line
from pages.components.text.format import number, short_id, signed, words
from pages.components.text.sentences import lambda_text

MIN_SEEDS = 3
"""With fewer there is no interval."""

HOW_INTERVALS_ARE_MADE = (
    f"Intervals: {CONFIDENCE:.0%}, bootstrap over seeds ({RESAMPLES:,} resamples of whole seeds with their episodes, "
    "bias corrected and accelerated). One or two seeds have no interval; below ten they are rough."
)
HOW_THE_SCORE_IS_MADE = (
    "Crafter score: exp(mean of ln(1 + success rate in %)) − 1 over the achievements (Hafner 2022). Few episodes score "
    "too low, since what none of them happened to unlock counts 0: compare rows with about as many episodes."
)

_MAX_VALUES = 4
_MAX_POLICIES = 6
_MAX_VALUE_LENGTH = 60
_FEW_SEEDS = 10
_EFFECTS = {
    REWARD: "Shaped returns under different ones cannot be compared; everything else can.",
    "step limit": "More steps leave more time to unlock.",
    "decision limit": "More decisions leave more time to unlock.",
    "operation limit": "It may end an episode before its steps are used.",
    "given ops": "They end an episode before its steps are used.",
    "time limit": "It may end an episode before its steps are used.",
    "actions a call may hold": "It decides how many steps a decision may take.",
    "world's area": "It is another world for the same seed.",
    "view": "It decides how far the character sees.",
    "world's length": "More steps leave more time to unlock.",
}


def counted(n: int, noun: str) -> str:
    """`1 episode`, `1,200 episodes`."""
    return f"{number(n)} {noun}{'' if n == 1 else 's'}"


def percent(share: float, digits: int = 0) -> str:
    """0.456 as `46%`."""
    return f"{100 * share:.{digits}f}%"


def interval_text(estimate: Estimate, digits: int = 1, factor: float = 1.0) -> str:
    """`9.8 – 16.4`; `n/a` where there is none."""
    if estimate.low is None or estimate.high is None:
        return "n/a"
    low, high = (number(factor * end, digits) for end in (estimate.low, estimate.high))
    return f"{low} – {high}"


def with_interval(estimate: Estimate, n_seeds: int, digits: int = 1, factor: float = 1.0, unit: str = "") -> str:
    """The interval as the end of a sentence, with what it was made from."""
    interval = interval_text(estimate, digits, factor)
    if interval == "n/a":
        return f"no interval: {counted(n_seeds, 'seed')}, and it takes {MIN_SEEDS}"
    if estimate.low == estimate.high:
        return f"the same on all {counted(n_seeds, 'seed')}, so resampling shows no spread"
    rough = ", rough" if n_seeds < _FEW_SEEDS else ""
    return f"{CONFIDENCE:.0%} interval {interval}{unit} over {counted(n_seeds, 'seed')}{rough}"


def summary_sentence(policy: str, summary: Summary) -> str:
    """One policy in a sentence."""
    return (
        f"{policy}: Crafter score {summary.score.value:.1f}%, achievements {summary.achievements.value:.1f}, "
        f"environment return {signed(summary.env_return.value)}, shaped return {signed(summary.shaped_return.value)} "
        f"({counted(summary.n_episodes, 'episode')} on {counted(summary.n_seeds, 'seed')})"
    )


def without_decision_in_words(by_policy: Mapping[str, int]) -> str:
    """Who is not among the compared though stored and over, as the end of a sentence; empty where nobody is."""
    if not by_policy:
        return ""
    n = sum(by_policy.values())
    who = _listed([f"{number(its)} of {one_line(policy, _MAX_VALUE_LENGTH)}" for policy, its in by_policy.items()], 6)
    return f". Of all that is stored, {number(n)} made no decision and {'is' if n == 1 else 'are'} left out: {who}"


def unfair_title(found: Sequence[Difference], overlap: SeedOverlap) -> str:
    """What differs, in a line; empty where nothing does."""
    aspects = list(dict.fromkeys(difference.aspect for difference in found if difference.aspect != ENDED_EARLY))
    if len(overlap.seeds) > 1 and not overlap.is_the_same:
        aspects.append("seeds")
    early = any(difference.aspect == ENDED_EARLY for difference in found)
    if not aspects:
        return "Some episodes were cut short." if early else ""
    more = " Some episodes were cut short." if early else ""
    return f"Different settings: {', '.join(aspects)}.{more}"


def unfair_sentences(
    found: Sequence[Difference], overlap: SeedOverlap, configs: Mapping[str, RewardConfig]
) -> tuple[str, ...]:
    """Everything that differs, each with who has what and what it means."""
    sentences = [_sentence(difference, configs) for difference in found]
    if len(overlap.seeds) > 1 and not overlap.is_the_same:
        counts = _listed([f"{policy} {len(seeds):,}" for policy, seeds in overlap.seeds.items()], _MAX_POLICIES)
        common = f"{len(overlap.common):,} in common" if overlap.common else "none in common"
        sentences.append(f"Seeds: {counts}; {common}. Other seeds are other worlds, some of them easier.")
    return tuple(sentences)


def correlation_sentence(who: str, found: RankCorrelation) -> str:
    """Shaped return against achievements, as one sentence."""
    played = f"{counted(found.n_episodes, 'episode')} on {counted(found.n_seeds, 'seed')}"
    if found.value is None:
        return f"{who}: n/a, because {_NO_CORRELATION[found.problem or NoCorrelation.TOO_FEW]} ({played})."
    value = signed(found.value)
    if found.low is None or found.high is None:
        why = "one or two seeds have no interval" if found.n_seeds < MIN_SEEDS else "the seeds alone show no interval"
        return f"{who}: ρ = {value} ({why}; {played})."
    rough = ", rough" if found.n_seeds < _FEW_SEEDS else ""
    return (
        f"{who}: ρ = {value}, {CONFIDENCE:.0%} interval {signed(found.low)} to {signed(found.high)}{rough} ({played})."
    )


_NO_CORRELATION = {
    NoCorrelation.TOO_FEW: "it takes three episodes or more",
    NoCorrelation.FIRST_IS_CONSTANT: "all its episodes have the same shaped return",
    NoCorrelation.SECOND_IS_CONSTANT: "all its episodes unlocked the same number of achievements",
}


def _sentence(difference: Difference, configs: Mapping[str, RewardConfig]) -> str:
    if difference.aspect == ENDED_EARLY:
        early = next(by for value, by in difference.values if value is True)
        return (
            f"Cut short: {_policies(early)}. They failed, were stopped by a person, or their process ended; what they "
            "might still have unlocked is missing."
        )
    values = _listed(
        [f"{_value(difference.aspect, value, configs)} ({_policies(by)})" for value, by in difference.values],
        _MAX_VALUES,
    )
    if difference.aspect == SETTINGS:
        policy = next(iter(difference.values[0][1]))
        return f"Settings of {policy}: {values}. They are taken together here."
    return f"{difference.aspect.capitalize()}: {values}. {_EFFECTS[difference.aspect]}"


def _value(aspect: str, value: Hashable, configs: Mapping[str, RewardConfig]) -> str:
    plain_value: Any = value
    if aspect == REWARD:
        return config_name(str(value), configs)
    if aspect == SETTINGS:
        return ", ".join(
            f"{words(one_line(name, 30))} {one_line(text, _MAX_VALUE_LENGTH)}" for name, text in plain_value
        )
    if isinstance(plain_value, tuple):
        return "×".join(str(part) for part in plain_value)
    if aspect == "time limit":
        return f"{plain_value:,g} s"
    return "none" if plain_value is None else f"{plain_value:,}"


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
    return _listed([f"{policy} {counted(n, 'episode')}" for policy, n in by.items()], _MAX_POLICIES)


def _listed(parts: Sequence[str], most: int) -> str:
    more = f" and {len(parts) - most:,} more" if len(parts) > most else ""
    return ", ".join(parts[:most]) + more
