"""Pay that is negative, shaped by a potential, hidden behind a loss, or no number at all."""

from __future__ import annotations

import pytest

from core.analysis.audit import Severity, audit, audit_config
from core.analysis.audit.audit_text import amount, component
from core.analysis.audit.crafter import LOOPS, Loop
from core.analysis.audit.worth import lap_pay, unlock_worth
from core.rewards import STRATEGIES
from core.rewards.base import Change, NoParams, Strategy
from core.types import RewardComponent, RewardConfig
from tests.support.audit_episodes import Story, To

UPSIDE_DOWN = RewardConfig("potential_based", params={"scale": -1.0})
BY_NAME = {loop.name: loop for loop in LOOPS}


def rules(story: Story, severity: Severity = Severity.ALERT) -> set[str]:
    return {alert.rule for alert in audit(story.episode) if alert.severity is severity}


def test_potential_based_shaping_is_no_farming_whatever_its_sign():
    story = Story(UPSIDE_DOWN).unlock_all().repeat(60, (To(),))
    assert audit_config(UPSIDE_DOWN) == ()
    assert rules(story) == set()
    (notice,) = [alert for alert in audit(story.episode) if "potential-based" in alert.sentence]
    assert notice.severity is Severity.NOTICE


def test_where_unlocks_cost_their_size_is_the_measure():
    config = RewardConfig("environment", indicator_lambda=-1.0)
    assert unlock_worth(config) == 1
    assert rules(Story(config).unlock_all().decide(To({"health": -1}), pay=0.1)) == set()


def test_where_nothing_is_paid_for_unlocks_the_criterion_says_what_is_compared_with():
    story = Story(RewardConfig("consistent", enabled=False)).unlock_all().repeat(60, (To(done="collect_drink"),), pay=1)
    (alert,) = [alert for alert in audit(story.episode) if alert.rule == "standing_still"]
    assert "the 1 that Crafter itself pays for an unlock" in alert.criterion


def test_a_loss_does_not_hide_what_is_paid_after_it():
    story = Story().unlock_all().decide(To(at=(3, 3)), pay=0.15).decide(To(at=(4, 4)), pay=-100.0)
    for x in range(60):
        story.decide(To(at=(5 + x, 5)), pay=1.0)
    (alert,) = [alert for alert in audit(story.episode) if alert.rule == "standing_still"]
    assert alert.reward == 60


def test_doing_nothing_that_pays_is_one_loop_and_others_pay_what_they_add(monkeypatch: pytest.MonkeyPatch):

    class Idler(Strategy[NoParams]):
        """Pays for every decision."""

        name, version, label, description = "idler", 1, "Idler", "Pays for every decision."

        def components(self, change: Change, credits):
            yield RewardComponent("bonus", "alive", 1.0, 1.0, 1.0)

    monkeypatch.setitem(STRATEGIES, "idler", Idler)
    (alert,) = audit_config(RewardConfig("idler"))
    assert alert.sentence.startswith("Doing nothing pays up to 100.00 in 100 steps")


@pytest.mark.parametrize("name", ["defeating skeletons", "searching saplings with 9 of them", "defeating zombies"])
def test_a_heavy_count_of_what_can_be_repeated_is_found(name: str):
    loop: Loop = BY_NAME[name]
    (done,) = (event.done for event in loop.events if event.done)
    config = RewardConfig("per_achievement", achievement_count_weights={done: 10.0})
    assert lap_pay(config, loop) == pytest.approx(10.0)
    assert any(alert.cycle and alert.cycle.names == (done,) for alert in audit_config(config))


@pytest.mark.parametrize("text", ["a{b}{}", "{", "{0.__class__}"])
def test_braces_in_foreign_names_are_text(text: str):
    assert component(text, text) == f'{text} "{text}"'
    assert text in component("achievement", text)


def test_very_large_amounts_are_written_with_an_exponent():
    assert amount(-2.5e20) == "-2.5e+20"
