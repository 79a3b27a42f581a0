"""`consistent` and `per_achievement` pay what the original system paid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.rewards import RewardConfig, RewardShaper, StateFacts

SEQUENCES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "data" / "rewards.json").read_text(encoding="utf-8")
)


def test_the_file_holds_all_sequences():
    assert len(SEQUENCES) == 23
    assert sum(len(sequence["decisions"]) for sequence in SEQUENCES) == 38


@pytest.mark.parametrize("sequence", SEQUENCES, ids=range(len(SEQUENCES)))
def test_a_sequence_pays_what_the_original_paid(sequence: dict[str, Any]):
    shaper = RewardShaper(RewardConfig(**sequence["config"]), credit_counts=sequence["credit_counts_before"])

    for decision in sequence["decisions"]:
        breakdown = shaper.score(StateFacts(**decision["before"]), StateFacts(**decision["after"]))
        expected = decision["expected"]
        assert breakdown.total == pytest.approx(expected["reward"], abs=1e-9)
        assert breakdown.base == pytest.approx(expected["base_reward"], abs=1e-9)
        assert breakdown.indicator == expected["indicator"]
        assert breakdown.strategy == expected["strategy"]
        assert list(breakdown.new_achievements) == expected["new_achievements"]
        assert list(breakdown.credited_achievements) == expected["credited_achievements"]
        assert breakdown.resource_reward == pytest.approx(expected["resource_reward"], abs=1e-9)
        assert breakdown.inventory_deltas == expected["inventory_deltas"]
        assert breakdown.achievement_count_deltas == expected["achievement_count_deltas"]
        found = [(c.kind, c.name, c.delta, c.count_prior, c.count_limit) for c in breakdown.components]
        assert found == [
            (c["kind"], c["name"], c["delta"], c.get("count_prior"), c.get("count_limit"))
            for c in expected["components"]
        ]
        for component, wanted in zip(breakdown.components, expected["components"], strict=True):
            assert component.weight == pytest.approx(wanted["weight"], abs=1e-9)
            assert component.value == pytest.approx(wanted["value"], abs=1e-9)

    if sequence["credit_counts_after"] is not None:
        assert shaper.credit_counts == sequence["credit_counts_after"]
