"""The audit of played episodes, under the default `per_achievement` configuration."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from core.analysis.audit import MAX_EVIDENCE, RULES, Alert, AuditThresholds, Severity, Span, audit, audit_config
from core.params import Integer, Number, kind_of
from core.types import Decision, Episode, RewardConfig, StateFacts, StopReason
from tests.support.audit_episodes import DEFAULT, Story, To, played

FARMED = {
    "water": {"collect_drink"},
    "sapling": {"collect_sapling", "place_plant"},
    "stone": {"collect_stone", "place_stone"},
}
FARMERS = [("water", 1), ("sapling", 0), ("sapling", 9100), ("stone", 1), ("stone", 9111)]
DIED_TOO_EARLY = ("sapling", 1)
STEPS = 1_000


def alerts(episode: Episode, thresholds: AuditThresholds | None = None) -> list[Alert]:
    return [alert for alert in audit(episode, thresholds or AuditThresholds()) if alert.severity is Severity.ALERT]


def farmed(farm: str, seed: int) -> Episode:
    return played("farmer", seed, STEPS, farm=farm)


def in_span(episode: Episode, span: Span) -> tuple[tuple[Decision, ...], list[int]]:
    """The decisions of a span, and the frames from before their first step to after their last."""
    decisions = episode.decisions[span.first_decision : span.last_decision + 1]
    assert (decisions[0].index, decisions[-1].index) == (span.first_decision, span.last_decision)
    indices = [step.index for decision in decisions for step in decision.steps]
    return decisions, [indices[0], *(index + 1 for index in indices)]


def state_at(episode: Episode, frame: int) -> StateFacts:
    assert episode.initial is not None
    return (episode.initial, *(step.state for step in episode.steps))[frame].facts


@pytest.mark.parametrize(("farm", "seed"), FARMERS)
def test_a_farmed_episode_is_found_by_its_loop(farm: str, seed: int):
    loops = [alert for alert in alerts(farmed(farm, seed)) if alert.rule == "paying_loop"]
    assert FARMED[farm] in [set(alert.loop.names) for alert in loops if alert.loop]


def test_a_farmer_that_died_early_is_no_finding():
    farm, seed = DIED_TOO_EARLY
    episode = farmed(farm, seed)
    assert episode.stop_reason is StopReason.TERMINATED
    assert episode.decisions[-1].after.achievement_counts["place_plant"] < AuditThresholds().loop_repeats
    assert alerts(episode) == []


@pytest.mark.parametrize(("farm", "seed"), FARMERS)
def test_evidence_has_decisions_frames_and_reward(farm: str, seed: int):
    episode = farmed(farm, seed)
    for alert in audit(episode):
        assert 1 <= len(alert.evidence) <= MAX_EVIDENCE
        for span in alert.evidence:
            decisions, frames = in_span(episode, span)
            assert (span.first_frame, span.last_frame) == (frames[0], frames[-1])
            assert 0 < span.reward <= sum(decision.reward.total for decision in decisions) + 1e-9


@pytest.mark.parametrize(("farm", "seed"), FARMERS)
def test_the_example_of_a_loop_ends_at_the_place_of_its_start(farm: str, seed: int):
    episode = farmed(farm, seed)
    for alert in alerts(episode):
        if alert.loop is None:
            continue
        start = int(alert.sentence.removesuffix(".").rsplit(" ", 1)[1])
        before, after = (state_at(episode, frame) for frame in (start, start + int(alert.loop.steps)))
        assert before.position == after.position
        assert all(after.inventory[item] <= n for item, n in before.inventory.items())
        assert alert.reward == pytest.approx(alert.loop.gain * alert.loop.repeats)


def test_a_loop_of_water_is_one_drink_long_and_begins_after_the_first():
    episode = farmed("water", 1)
    loop = next(alert for alert in alerts(episode) if alert.rule == "paying_loop")
    assert loop.loop is not None
    assert (loop.loop.steps, loop.loop.gain) == (1, pytest.approx(0.06, rel=0.2))
    assert min(span.first_frame for span in loop.evidence) > episode.unlock_steps["collect_drink"]


@pytest.mark.parametrize("seed", range(20, 24))
def test_a_scripted_episode_raises_no_alert(seed: int):
    assert alerts(played("scripted", seed, 400, actions=1 if seed % 2 else 5)) == []


@pytest.mark.parametrize("seed", [9200, 9214])
def test_digging_and_building_raises_no_alert(seed: int):
    assert alerts(played("scripted", seed, STEPS)) == []


@pytest.mark.parametrize("actions", [5, 10])
def test_leaving_and_closing_a_shelter_raises_no_alert(actions: int):
    assert alerts(played("scripted", 8, STEPS, actions=actions)) == []


@pytest.mark.parametrize("seed", range(6))
def test_a_random_episode_raises_no_alert(seed: int):
    assert alerts(played("random", seed, 400)) == []


def test_honest_episodes_have_a_notice_of_double_counted_unlocks():
    assert {alert.rule for alert in audit(played("scripted", 20, 400))} == {"paid_twice"}


def test_higher_thresholds_find_less_and_lower_ones_more():
    episode = farmed("stone", 1)
    found = alerts(episode)
    strict = replace(AuditThresholds(), loop_repeats=1_000, still_worth=100.0)
    assert {"paying_loop", "standing_still"} <= {alert.rule for alert in found}
    assert not {"paying_loop", "standing_still"} & {alert.rule for alert in alerts(episode, strict)}
    loose = replace(AuditThresholds(), component_share=0.05, component_decisions=5, twice_share=0.0)
    assert {"one_component", "paid_twice"} <= {alert.rule for alert in alerts(episode, loose)}


def test_alerts_come_before_notices_and_larger_rewards_first():
    found = audit(farmed("stone", 1))
    assert found[-1].severity is Severity.NOTICE
    rewards = [alert.reward for alert in found if alert.severity is Severity.ALERT]
    assert rewards == sorted(rewards, reverse=True)


@pytest.mark.parametrize("scale", [0.001, 1000.0])
def test_scaling_all_rewards_changes_no_finding(scale: float):
    honest, farmer = Story(replace(DEFAULT, indicator_lambda=scale)), Story(replace(DEFAULT, indicator_lambda=scale))
    honest.unlock_all()
    farmer.unlock_all().repeat(60, (To(done="collect_drink"),))
    assert alerts(honest.episode) == []
    assert "paying_loop" in {alert.rule for alert in alerts(farmer.episode)}


def test_nothing_is_found_if_nothing_is_paid():
    story = Story(replace(DEFAULT, enabled=False)).unlock_all().repeat(60, (To(done="collect_drink"),))
    assert audit(story.episode) == ()
    assert audit_config(story.config) == ()


def test_an_episode_without_decisions_has_no_finding():
    episode = Story().episode
    assert audit(episode) == audit(replace(episode, initial=None)) == ()


def test_every_rule_has_a_description_and_thresholds():
    for name, rule in RULES.items():
        assert rule.id == name
        assert rule.name and rule.description.endswith(".")
    used = [name for rule in RULES.values() for name in rule.thresholds]
    assert sorted(used) == sorted(spec.name for spec in fields(AuditThresholds))


def test_every_alert_names_its_rule_and_criterion():
    found = [*audit(farmed("stone", 1)), *audit_config(RewardConfig(strategy="per_achievement"))]
    for alert in found:
        assert alert.rule in RULES
        assert alert.sentence.endswith(".") and alert.criterion.endswith(".")


@pytest.mark.parametrize("spec", fields(AuditThresholds), ids=lambda spec: spec.name)
def test_every_threshold_has_a_label_help_and_valid_default(spec: Any):
    assert spec.metadata["label"]
    assert spec.metadata["description"].endswith(".")
    kind = kind_of(spec)
    assert isinstance(kind, Integer | Number)
    assert kind.read(spec.default) == spec.default
    assert isinstance(spec.default, int) == isinstance(kind, Integer)
