"""Properties of every configuration and any states."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from core.rewards import STRATEGIES, RewardConfig, RewardShaper, StateFacts

ACHIEVEMENTS = ("collect_wood", "collect_drink", "place_table", "wake_up")
ITEMS = ("wood", "drink", "health", "diamond", "iron_sword")

# Being slow on a busy machine is not a failure.
on_any_machine = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

names = st.sampled_from(ACHIEVEMENTS)
numbers = st.floats(min_value=-100, max_value=100)
positive_numbers = st.floats(min_value=0.01, max_value=100)
amounts = st.integers(min_value=0, max_value=9)
states = st.builds(
    StateFacts,
    achievements=st.dictionaries(names, st.booleans()),
    inventory=st.dictionaries(st.sampled_from(ITEMS), amounts),
    achievement_counts=st.dictionaries(names, amounts),
)
configs = st.builds(
    RewardConfig,
    strategy=st.sampled_from([name for kind in STRATEGIES.values() for name in (kind.name, *kind.aliases)]),
    indicator_lambda=st.none() | numbers,
    weights=st.dictionaries(names, numbers),
    k_limits=st.dictionaries(names, st.integers(min_value=-2, max_value=4)),
    step_beta=numbers,
    inventory_weights=st.dictionaries(st.sampled_from(ITEMS), numbers),
    achievement_count_weights=st.dictionaries(names, numbers),
    default_inventory_weight=numbers,
    default_achievement_count_weight=numbers,
)
sequences = st.lists(states, min_size=2, max_size=12)


def breakdowns(shaper: RewardShaper, sequence: list[StateFacts]):
    return [shaper.score(before, after) for before, after in zip(sequence, sequence[1:], strict=False)]


@on_any_machine
@given(configs, sequences)
def test_a_total_is_lambda_times_the_sum_of_its_components(config: RewardConfig, sequence: list[StateFacts]):
    scale = config.indicator_lambda or 1.0
    for breakdown in breakdowns(RewardShaper(config), sequence):
        assert breakdown.total == pytest.approx(scale * math.fsum(c.value for c in breakdown.components), abs=1e-9)
        for component in breakdown.components:
            assert component.value == pytest.approx(component.weight * component.delta, abs=1e-9)


@on_any_machine
@given(configs, states, states)
def test_only_increases_and_unlocks_are_paid(config: RewardConfig, before: StateFacts, after: StateFacts):
    breakdown = RewardShaper(config).score(before, after)
    for name, rise in breakdown.inventory_deltas.items():
        assert after.inventory[name] - before.inventory.get(name, 0) == rise > 0
    for name, rise in breakdown.achievement_count_deltas.items():
        assert after.achievement_counts[name] - before.achievement_counts.get(name, 0) == rise > 0
    for name in breakdown.new_achievements:
        assert after.achievements[name] and not before.achievements.get(name, False)
    if breakdown.strategy == "per_achievement":
        risen = {name for name, amount in after.inventory.items() if amount > before.inventory.get(name, 0)}
        assert set(breakdown.inventory_deltas) == risen
        for part in breakdown.components:
            if part.kind == "inventory":
                assert part.weight == config.inventory_weights.get(part.name, config.default_inventory_weight)


@on_any_machine
@given(configs, st.lists(st.sets(names), max_size=12), st.dictionaries(names, st.integers(0, 3)))
def test_an_unlock_is_paid_exactly_as_often_as_its_limit_allows(
    config: RewardConfig, unlocks: list[set[str]], paid_before: dict[str, int]
):
    shaper = RewardShaper(replace(config, strategy="per_achievement"), credit_counts=paid_before)
    paid = Counter(paid_before)
    for unlocked in unlocks:
        after = StateFacts(achievements=dict.fromkeys(unlocked, True))
        breakdown = shaper.score(StateFacts(), after)
        limits = {name: config.k_limits.get(name, 1) for name in unlocked}
        due = {name for name, limit in limits.items() if limit <= 0 or paid[name] < limit}
        assert set(breakdown.new_achievements) == unlocked
        assert set(breakdown.credited_achievements) == due
        paid.update(due)

    assert Counter(shaper.credit_counts) == paid


@on_any_machine
@given(configs, sequences, st.integers(min_value=1, max_value=10))
def test_scoring_can_continue_from_credit_counts(config: RewardConfig, sequence: list[StateFacts], cut: int):
    assume(cut < len(sequence))
    whole = breakdowns(RewardShaper(config), sequence)
    first = RewardShaper(config)
    start = breakdowns(first, sequence[: cut + 1])
    rest = breakdowns(RewardShaper(config, credit_counts=first.credit_counts), sequence[cut:])

    assert start + rest == whole


@on_any_machine
@given(configs, sequences, st.booleans())
def test_an_inactive_configuration_pays_0_without_a_component(
    config: RewardConfig, sequence: list[StateFacts], disabled: bool
):
    inactive = replace(config, enabled=False) if disabled else replace(config, mode="episode_end")
    shaper = RewardShaper(inactive)

    for breakdown in breakdowns(shaper, sequence):
        assert breakdown.components == ()
        assert breakdown.total == 0
        assert breakdown.indicator == 0
    assert shaper.credit_counts == {}


@on_any_machine
@given(configs, sequences, positive_numbers)
def test_step_beta_multiplies_nothing(config: RewardConfig, sequence: list[StateFacts], beta: float):
    assert breakdowns(RewardShaper(replace(config, step_beta=beta)), sequence) == breakdowns(
        RewardShaper(replace(config, step_beta=0.0)), sequence
    )
