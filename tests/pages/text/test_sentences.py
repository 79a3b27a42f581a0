"""Sentences about what a decision earned and why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.rewards import RewardShaper
from core.types import Decision, RewardConfig, StateFacts, Step, Timing
from pages.components.lab.policies.policies_text import config_name
from pages.components.rewards.reward_text import differences, reward_text
from pages.components.text.sentences import (
    env_reward_sentence,
    lambda_text,
    reward_notes,
    reward_sentence,
    steps_phrase,
    timing_sentence,
)
from tests.support.records import decision_summary, state_with

BEFORE = StateFacts({"collect_wood": False}, {"health": 9, "wood": 0}, {"collect_wood": 0})
AFTER = StateFacts({"collect_wood": True}, {"health": 7, "wood": 1}, {"collect_wood": 1})
PER_ACHIEVEMENT = RewardConfig(strategy="per_achievement")


def decided(config: RewardConfig, after: StateFacts = AFTER, env_reward: float = 0.8) -> Decision:
    unlocked = tuple(name for name, got in after.achievements.items() if got)
    return Decision(
        index=12,
        observation="",
        tool_calls=(),
        steps=(Step(30, "do", env_reward, False, False, state_with(after)),),
        not_executed=(),
        before=BEFORE,
        reward=RewardShaper(config).score(BEFORE, after),
        unlocked=unlocked,
        unique_unlocked=unlocked,
        timing=Timing(0.0, 0.1, ((0.1, 0.2),), 0.2),
    )


def test_the_sentence_has_every_component_with_its_weight():
    assert reward_sentence(decided(PER_ACHIEVEMENT), PER_ACHIEVEMENT) == (
        "Decision 12 earned +1.18 = λ 1.0 × (collect wood unlock 1.00 + wood +1 in inventory × 0.10 "
        "+ collect wood count +1 × 0.08)"
    )


def test_the_sentence_has_lambda_and_changed_weights():
    config = RewardConfig(strategy="per_achievement", indicator_lambda=0.25, weights={"collect_wood": 0.125})
    sentence = reward_sentence(decided(config), config)
    assert sentence.startswith("Decision 12 earned +0.08 = λ 0.25 × (collect wood unlock 0.125 + ")
    healed = replace(BEFORE, inventory=BEFORE.inventory | {"health": 10})
    assert "(health +1 × " in reward_sentence(decided(PER_ACHIEVEMENT, healed), PER_ACHIEVEMENT)
    config = RewardConfig()
    assert reward_sentence(decided(config), config) == "Decision 12 earned +1.00 = λ 1.0 × (at least one unlock 1.00)"


def test_a_decision_that_earned_nothing_says_why():
    off = RewardConfig(enabled=False)
    assert "shaping is off" in reward_sentence(decided(off), off)
    config = RewardConfig()
    assert "no achievement was unlocked" in reward_sentence(decided(config, BEFORE), config)
    assert "no inventory entry" in reward_sentence(decided(PER_ACHIEVEMENT, BEFORE), PER_ACHIEVEMENT)
    assert "cost nothing" not in reward_sentence(decided(PER_ACHIEVEMENT, BEFORE), PER_ACHIEVEMENT)


def test_a_strategy_without_tables_says_that_it_paid_nothing():
    for config in (RewardConfig("environment"), RewardConfig("potential_based", params={"potential": "tool_tier"})):
        sentence = reward_sentence(decided(config), config)
        assert sentence.endswith("” paid 0.")


def test_losses_cost_nothing():
    hungry = replace(BEFORE, inventory=BEFORE.inventory | {"health": 8})
    sentence = reward_sentence(decided(PER_ACHIEVEMENT, hungry), PER_ACHIEVEMENT)
    assert sentence.endswith("no inventory entry or achievement count rose; losses cost nothing.")


def test_a_lambda_of_zero_is_explained():
    config = RewardConfig(indicator_lambda=0.0)
    assert reward_notes(decided(config), config) == ("λ is 0 or absent in this configuration and counts as 1.0.",)
    assert reward_notes(decided(RewardConfig()), RewardConfig()) == ()


@pytest.mark.parametrize(
    ("given", "text"), [(0.0, "λ 1 (0 counts as 1)"), (None, "λ 1 (empty counts as 1)"), (1.0, "λ 1"), (0.5, "λ 0.5")]
)
def test_lambda_zero_counts_as_1_in_every_text(given: float | None, text: str):
    config = RewardConfig("per_achievement", indicator_lambda=given)
    assert lambda_text(config) == text
    assert reward_text(config) == f"Per achievement, {text}"
    assert config_name("a" * 16, {"a" * 16: config}) == f"aaaaaaaa: Per achievement, {text}"
    assert f"{text} → λ 2" in differences(config, RewardConfig("per_achievement", indicator_lambda=2.0))


def test_the_environment_reward_is_explained_by_crafters_own_rule():
    assert env_reward_sentence(decided(RewardConfig())) == (
        "Environment reward: +0.80 (1 for a step with an unlock, a tenth of the health change of −2)"
    )
    assert env_reward_sentence(decided(RewardConfig(), BEFORE, 0.0)) == "Environment reward: 0.00"


def test_steps_are_numbered_as_the_player_counts_them():
    assert steps_phrase(decision_summary(0, 11, 16)) == "steps 12–16"
    assert steps_phrase(decision_summary(0, 11, 12)) == "step 12"
    assert steps_phrase(decision_summary(0, 11, 11)) == "no step"


def test_times_have_units():
    assert timing_sentence(decision_summary(4, 0, 1)) == (
        "Decision 4 took 2.00 ms: inference 1.00 ms, environment 1.00 ms, overhead 0.00 ms, storing n/a"
    )
    asked = replace(decision_summary(4, 0, 1), inference_ms=900.0, model_calls=2, waited_ms=500.0, parse_ms=1.5)
    assert timing_sentence(asked) == (
        "Decision 4 took 901 ms: inference 398 ms, waiting 500 ms, parsing 1.50 ms, environment 1.00 ms, "
        "overhead 0.00 ms, storing n/a"
    )
    assert "waiting n/a, parsing n/a" in timing_sentence(decision_summary(4, 0, 1), of_model=True)
