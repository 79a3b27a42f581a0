"""Unusual configurations, potential-based shaping, and why nothing is found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.analysis.audit import AuditThresholds, Severity, audit, audit_config, why_no_config_alert
from core.analysis.audit.crafter import KNOWN_LOOPS, KnownLoop
from core.analysis.audit.pay import loop_pay, unlock_worth
from core.analysis.audit.trail import TINY
from core.facts import Change
from core.rewards import STRATEGIES
from core.rewards.base import NoParams, Strategy
from core.rewards.potentials import POTENTIALS
from core.types import RewardComponent, RewardConfig
from tests.support.audit_episodes import DEFAULT, Story, To, found

BY_NAME = {loop.name: loop for loop in KNOWN_LOOPS}

FARMING = {"paying_loop", "standing_still", "one_component", "no_change"}
THIRST, DRINK = To({"drink": -1}), To({"drink": 1}, "collect_drink")
CONFIGS = [
    DEFAULT,
    replace(DEFAULT, enabled=False),
    replace(DEFAULT, mode="off"),
    replace(DEFAULT, indicator_lambda=-1.0),
    *(RewardConfig(name) for name in STRATEGIES),
]


def alerts(story: Story) -> set[str]:
    """The rules that raise an alert."""
    return {alert.rule for alert in audit(story.episode) if alert.severity is Severity.ALERT}


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.strategy} {config.mode} {config.enabled}")
@pytest.mark.parametrize("share", [0.001, 0.1, 10.0])
def test_there_is_a_reason_exactly_if_nothing_is_found(config: RewardConfig, share: float):
    thresholds = AuditThresholds(config_share=share)
    reason = why_no_config_alert(config, thresholds)
    assert bool(reason) == (audit_config(config, thresholds) == ())
    assert not reason or reason.endswith(".")


def test_the_reason_why_nothing_is_found():
    assert why_no_config_alert(RewardConfig("potential_based")).startswith("The configuration is potential-based: ")
    assert why_no_config_alert(RewardConfig("consistent")).startswith("None of the ")
    reason = why_no_config_alert(DEFAULT, AuditThresholds(config_share=0.9))
    assert "placing a stone and taking it up again, pays up to 15.00 in 100 steps: 53% of" in reason
    assert reason.endswith("An alert begins at 90%.")


@pytest.mark.parametrize("gamma", [1.0, 0.99, 0.0])
@pytest.mark.parametrize("potential", POTENTIALS)
@pytest.mark.parametrize("scale", [100.0, -1.0])
def test_potential_based_shaping_raises_no_alert_and_no_loop_gains(potential: str, gamma: float, scale: float):
    config = RewardConfig("potential_based", params={"potential": potential, "gamma": gamma, "scale": scale})
    assert audit_config(config) == ()
    assert max(loop_pay(config, loop) for loop in KNOWN_LOOPS if loop.events) <= TINY
    story = Story(config).unlock_all()
    story.repeat(60, (THIRST,), (DRINK,)).repeat(60, (To({}, "collect_drink"),)).repeat(60, (To(),))
    assert not FARMING & alerts(story)
    assert FARMING & alerts(Story().unlock_all().repeat(60, (To({}, "collect_drink"),)))


def test_the_worth_of_an_unlock_is_its_absolute_pay():
    config = RewardConfig("environment", indicator_lambda=-1.0)
    assert unlock_worth(config) == 1
    assert alerts(Story(config).unlock_all().decide(To({"health": -1}), pay=0.1)) == set()


def test_without_pay_for_unlocks_the_criterion_states_its_unit():
    story = Story(RewardConfig("consistent", enabled=False)).unlock_all().repeat(60, (To(done="collect_drink"),), pay=1)
    (alert,) = found("standing_still", story)
    assert "the 1 that Crafter itself pays for an unlock" in alert.criterion


def test_a_loss_does_not_hide_later_pay():
    story = Story().unlock_all().decide(To(at=(3, 3)), pay=0.15).decide(To(at=(4, 4)), pay=-100.0)
    for x in range(60):
        story.decide(To(at=(5 + x, 5)), pay=1.0)
    (alert,) = found("standing_still", story)
    assert alert.reward == 60


def test_paying_for_doing_nothing_is_one_alert(monkeypatch: pytest.MonkeyPatch):

    class Idler(Strategy[NoParams]):
        """Pays for every decision."""

        name, version, label, description = "idler", 1, "Idler", "Pays for every decision."

        def components(self, change: Change, credits):
            yield RewardComponent("bonus", "alive", 1.0, 1.0, 1.0)

    monkeypatch.setitem(STRATEGIES, "idler", Idler)
    (alert,) = audit_config(RewardConfig("idler"))
    assert alert.sentence.startswith("Doing nothing pays up to 100.00 in 100 steps")


@pytest.mark.parametrize("name", ["defeating skeletons", "searching saplings with 9 of them", "defeating zombies"])
def test_a_large_weight_on_a_repeatable_count_is_found(name: str):
    loop: KnownLoop = BY_NAME[name]
    (done,) = (event.done for event in loop.events if event.done)
    config = RewardConfig("per_achievement", achievement_count_weights={done: 10.0})
    assert loop_pay(config, loop) == pytest.approx(10.0)
    assert any(alert.loop and alert.loop.names == (done,) for alert in audit_config(config))
