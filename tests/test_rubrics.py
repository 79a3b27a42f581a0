"""Rubric files are validated when they are loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.errors import InvalidConfig
from core.rubrics import load_rubric, load_rubrics


def rubric_with(**changes: Any) -> dict[str, Any]:
    criteria = [
        {"id": "progress", "description": "How far it came.", "weight": 0.75},
        {"id": "survival", "description": "Whether it lived.", "weight": 0.25},
    ]
    return {"version": "1", "goal_text": "Judge it.", "aggregation": "weighted_sum", "criteria": criteria} | changes


def criteria_with(**changes: Any) -> dict[str, Any]:
    """A rubric whose second criterion is changed; None takes a field away."""
    rubric = rubric_with()
    second = rubric["criteria"][1] | changes
    rubric["criteria"][1] = {name: value for name, value in second.items() if value is not None}
    return rubric


def error_message(tmp_path: Path, content: Any) -> str:
    path = tmp_path / "rubrics" / "mine.json"
    path.parent.mkdir()
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    with pytest.raises(InvalidConfig) as caught:
        load_rubric(path)
    return str(caught.value)


def test_the_outcome_rubric_judges_an_episode_by_five_criteria():
    outcome = load_rubrics()["outcome"]

    assert outcome.aggregation == "weighted_sum"
    assert {criterion.id: criterion.weight for criterion in outcome.criteria} == {
        "achievement_progression": 0.35,
        "resource_stockpile": 0.20,
        "survival_state": 0.20,
        "failure_analysis": 0.15,
        "future_readiness": 0.10,
    }


def test_the_events_rubric_judges_a_decision_by_four_criteria():
    events = load_rubrics()["events"]

    assert {criterion.id: criterion.weight for criterion in events.criteria} == {
        "achievement_unlocks": 0.55,
        "milestone_setup": 0.20,
        "inventory_depth": 0.15,
        "execution_quality": 0.10,
    }


@pytest.mark.parametrize(
    ("criterion", "bounds"),
    [
        ("achievement_unlocks", ("0.9 to 1.0", "at most 0.4", "at most 0.1")),
        ("milestone_setup", ("0.5 to 0.7", "at most 0.3")),
        ("inventory_depth", ("0.3 to 0.5", "at most 0.2")),
        ("execution_quality", ("0.1", "score 0.")),
    ],
)
def test_the_criteria_of_events_state_their_bounds(criterion: str, bounds: tuple[str, ...]):
    texts = {c.id: c.description for c in load_rubrics()["events"].criteria}

    for bound in bounds:
        assert bound in texts[criterion]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (rubric_with(version=1), "Expected `str`, got `int` - at `$.version`"),
        (rubric_with(goal_text="  "), r"Expected `str` matching regex '\\S' - at `$.goal_text`"),
        (rubric_with(aggregation="mean"), "Expected `str` matching regex '^weighted_sum$' - at `$.aggregation`"),
        (rubric_with(criteria=[]), "Expected `array` of length >= 1 - at `$.criteria`"),
        (rubric_with(goal="?"), "Object contains unknown field `goal`"),
        (criteria_with(weight=None), "Object missing required field `weight` - at `$.criteria[1]`"),
        (criteria_with(weight=0), "Expected `float` > 0.0 - at `$.criteria[1].weight`"),
        (criteria_with(weight=2), "Expected `float` <= 1.0 - at `$.criteria[1].weight`"),
        (criteria_with(weight="0.25"), "Expected `float`, got `str` - at `$.criteria[1].weight`"),
        (criteria_with(id="progress"), 'Criterion id "progress" is used twice'),
        (criteria_with(weight=0.5), "Weights sum to 1.25, expected 1"),
        ("", "Input data was truncated"),
    ],
)
def test_an_invalid_rubric_is_rejected_with_file_and_field(tmp_path: Path, content: Any, problem: str):
    assert error_message(tmp_path, content) == f"Invalid rubric rubrics/mine.json: {problem}. Correct the file."


def test_a_missing_rubric_is_reported_with_its_path(tmp_path: Path):
    with pytest.raises(InvalidConfig, match=r"outcome\.json: No such file or directory"):
        load_rubrics(tmp_path)
