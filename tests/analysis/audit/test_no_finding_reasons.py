"""Why nothing is found in a configuration."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.analysis.audit import AuditThresholds, audit_config, why_no_config_alert
from core.errors import InvalidReward
from core.rewards import STRATEGIES
from core.types import RewardConfig
from tests.support.audit_episodes import DEFAULT

CONFIGS = [
    DEFAULT,
    replace(DEFAULT, enabled=False),
    replace(DEFAULT, mode="off"),
    replace(DEFAULT, indicator_lambda=-1.0),
    *(RewardConfig(name) for name in STRATEGIES),
]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.strategy} {config.mode} {config.enabled}")
@pytest.mark.parametrize("share", [0.001, 0.1, 10.0])
def test_there_is_a_reason_exactly_where_nothing_is_found(config: RewardConfig, share: float):
    thresholds = AuditThresholds(config_share=share)
    reason = why_no_config_alert(config, thresholds)
    assert bool(reason) == (audit_config(config, thresholds) == ())
    assert not reason or reason.endswith(".")


def test_a_configuration_that_is_off_pays_nothing():
    assert (
        why_no_config_alert(replace(DEFAULT, enabled=False)) == "The configuration is not active, so it pays nothing."
    )


def test_a_potential_based_one_is_not_compared_and_that_is_said():
    reason = why_no_config_alert(RewardConfig("potential_based"))
    assert reason.startswith("The configuration is potential-based.")
    assert "gamma" in reason and "was not compared" in reason


def test_one_that_pays_for_unlocks_alone_has_no_loop():
    assert why_no_config_alert(RewardConfig("consistent")).startswith("None of the ")


def test_where_loops_pay_too_little_the_best_is_named_with_what_it_pays_and_what_an_alert_takes():
    reason = why_no_config_alert(DEFAULT, AuditThresholds(config_share=0.9))
    assert "placing a stone and taking it up again, pays up to 15.00 in 100 steps: 53 % of" in reason
    assert reason.endswith("An alert begins at 90 %.")


def test_a_configuration_that_cannot_be_used_is_refused():
    with pytest.raises(InvalidReward):
        why_no_config_alert(RewardConfig("nothing"))
