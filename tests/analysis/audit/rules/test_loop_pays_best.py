"""Configurations whose best policy is a loop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.analysis.audit import Alert, AuditThresholds, audit_config
from core.errors import InvalidReward
from core.facts import Change
from core.rewards import STRATEGIES
from core.rewards.base import NoParams, Strategy
from core.types import RewardComponent, RewardConfig
from tests.support.audit_episodes import DEFAULT


def by_name(config: RewardConfig, **thresholds: Any) -> dict[str, Alert]:
    """The alerts by the name of their loop."""
    return {alert.sentence.split(" pays")[0]: alert for alert in audit_config(config, AuditThresholds(**thresholds))}


def test_the_default_weights_can_be_farmed_with_stones_and_water():
    alerts = by_name(DEFAULT)
    assert list(alerts) == ["Placing a stone and taking it up again", "Drinking with no thirst"]
    stone, water = alerts.values()
    assert (stone.reward, water.reward) == (pytest.approx(15.0), pytest.approx(6.0))
    assert water.loop is not None
    assert (water.loop.names, water.loop.steps, water.loop.gain) == (("collect_drink",), 1, pytest.approx(0.06))
    assert "pays up to 6.00 in 100 steps, 21% of what all 22 unlocks pay once (28.20)" in water.sentence
    assert "470 steps of it pay as much" in water.sentence
    assert "Planting saplings" in by_name(DEFAULT, config_share=0.05)


def test_creatures_pay_too_little_under_the_default_weights():
    assert not any(name.startswith(("Defeating", "Eating")) for name in by_name(DEFAULT))
    zombies = by_name(DEFAULT, config_share=0.08)["Defeating zombies"]
    assert zombies.reward == pytest.approx(100 * 0.05 * 25 * 0.3 * 19 / 30 / 10)  # 19 of the 30 looks of a day are dark
    assert "all 25 large enough chunks of a 64 x 64 world" in zombies.sentence


def test_a_field_of_plants_pays_more_than_one_plant():
    hungry = replace(DEFAULT, inventory_weights={"food": 5.0})
    alerts = by_name(hungry, config_share=0.05)
    assert alerts["Eating the plants of a field at every hunger"].reward == pytest.approx(100 * 5.05 / 26)
    assert alerts["Eating a plant whenever it is ripe"].reward == pytest.approx(100 * 20.05 / 301)


def test_water_is_no_finding_if_drinks_are_not_counted():
    dry = replace(DEFAULT, achievement_count_weights={**DEFAULT.achievement_count_weights, "collect_drink": 0.0})
    assert list(by_name(dry)) == ["Placing a stone and taking it up again"]


@pytest.mark.parametrize("scale", [0.01, 100.0, None, 0.0])
def test_lambda_changes_no_finding(scale: float | None):
    assert list(by_name(replace(DEFAULT, indicator_lambda=scale))) == list(by_name(DEFAULT))


def test_if_unlocks_cost_any_loop_that_pays_is_better():
    assert by_name(replace(DEFAULT, indicator_lambda=-1.0)) == {}
    upside_down = replace(DEFAULT, indicator_lambda=-1.0, achievement_count_weights={"collect_drink": -0.01})
    best = by_name(upside_down)["Drinking with no thirst"]
    assert "pays up to 1.00 in 100 steps, while all 22 unlocks together pay -27.88" in best.sentence


def test_inactive_configurations_and_strategies_that_pay_only_for_unlocks_have_no_finding():
    for config in (replace(DEFAULT, enabled=False), replace(DEFAULT, mode="off")):
        assert by_name(config) == {}
    for strategy in ("consistent", "environment", "potential_based"):
        assert by_name(RewardConfig(strategy)) == {}


def test_a_new_strategy_is_scored_like_any_other(monkeypatch: pytest.MonkeyPatch):

    class Sleeper(Strategy[NoParams]):
        """Pays for waking up, again and again."""

        name, version, label, description = "sleeper", 1, "Sleeper", "Pays for waking up."

        def components(self, change: Change, credits):
            rise = change.after.achievement_counts["wake_up"] - change.before.achievement_counts["wake_up"]
            if rise:
                yield RewardComponent("bonus", "wake_up", rise, 5.0, 5.0 * rise)

    monkeypatch.setitem(STRATEGIES, "sleeper", Sleeper)
    (alert,) = by_name(RewardConfig("sleeper")).values()
    assert alert.sentence.startswith("Getting tired and sleeping pays")
    assert alert.reward == pytest.approx(100 * 5.0 / 42)


def test_an_invalid_configuration_is_an_error():
    with pytest.raises(InvalidReward, match="no reward strategy"):
        audit_config(RewardConfig("nothing"))
