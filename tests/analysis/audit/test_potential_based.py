"""Potential-based shaping cannot be farmed, so nothing of it is called farming, whatever its gamma."""

from __future__ import annotations

import pytest

from core.analysis.audit import Severity, audit, audit_config, why_no_config_alert
from core.analysis.audit.crafter import LOOPS
from core.analysis.audit.trail import TINY
from core.analysis.audit.worth import lap_pay
from core.rewards.potentials import POTENTIALS
from core.types import RewardConfig
from tests.support.audit_episodes import Story, To

GAMMAS = (1.0, 0.99, 0.5, 0.0)
FARMING = {"paying_loop", "standing_still", "one_component", "no_change"}
THIRST, DRINK = To({"drink": -1}), To({"drink": 1}, "collect_drink")


def config(potential: str, gamma: float, scale: float = 1.0) -> RewardConfig:
    return RewardConfig("potential_based", params={"potential": potential, "gamma": gamma, "scale": scale})


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("potential", POTENTIALS)
@pytest.mark.parametrize("scale", [1.0, 100.0, -1.0])
def test_such_a_configuration_raises_no_loop_alert_and_it_is_said_why(potential: str, gamma: float, scale: float):
    shaped = config(potential, gamma, scale)
    assert audit_config(shaped) == ()
    assert "potential-based" in why_no_config_alert(shaped)


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("potential", POTENTIALS)
@pytest.mark.parametrize("scale", [1.0, 100.0, -1.0])
def test_no_known_loop_pays_more_than_standing_still_does(potential: str, gamma: float, scale: float):
    shaped = config(potential, gamma, scale)
    assert max(lap_pay(shaped, loop) for loop in LOOPS if loop.events) <= TINY


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("potential", POTENTIALS)
@pytest.mark.parametrize("scale", [1.0, 100.0, -1.0])
def test_an_episode_that_goes_round_in_it_raises_no_alert(potential: str, gamma: float, scale: float):
    story = Story(config(potential, gamma, scale)).unlock_all()
    story.repeat(60, (THIRST,), (DRINK,)).repeat(60, (To({}, "collect_drink"),)).repeat(60, (To(),))
    raised = {alert.rule for alert in audit(story.episode) if alert.severity is Severity.ALERT}
    assert not FARMING & raised


def test_the_same_episode_under_a_configuration_that_is_none_raises_alerts():
    story = Story().unlock_all().repeat(60, (To({}, "collect_drink"),))
    assert FARMING & {alert.rule for alert in audit(story.episode) if alert.severity is Severity.ALERT}
