"""The two rubric files, and what is said about files that break a rule."""

from __future__ import annotations

import json
import math
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


def sentence_about(tmp_path: Path, content: Any) -> str:
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


def test_every_rubric_has_a_version_a_goal_and_weights_that_sum_to_one():
    for name, rubric in load_rubrics().items():
        assert rubric.name == name
        assert rubric.version and rubric.goal_text
        assert math.fsum(criterion.weight for criterion in rubric.criteria) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (rubric_with(version=1), "rubrics/mine.json: version is 1; give a text that is not empty."),
        (rubric_with(goal_text="  "), "rubrics/mine.json: goal_text is '  '; give a text that is not empty."),
        (
            rubric_with(aggregation="weighted-sum"),
            'rubrics/mine.json: aggregation is "weighted-sum"; did you mean "weighted_sum"? Known are: weighted_sum.',
        ),
        (rubric_with(criteria=[]), "rubrics/mine.json: criteria is []; give a list of at least one criterion."),
        (rubric_with(criteria="x"), "rubrics/mine.json: criteria is 'x'; give a list of at least one criterion."),
        (
            rubric_with(goal="?"),
            'rubrics/mine.json has an unknown field "goal"; did you mean "goal_text"? '
            "Its fields are version, goal_text, aggregation, criteria.",
        ),
        (criteria_with(weight=None), 'rubrics/mine.json: criteria[1] lacks the field "weight"; add it.'),
        (
            criteria_with(id="progress"),
            'rubrics/mine.json: criteria[1].id is "progress", which criteria[0] has already; '
            "give each criterion an id of its own.",
        ),
        (
            criteria_with(weight=0.5),
            "rubrics/mine.json: criteria: the weights sum to 1.25; change them so that they sum to 1.",
        ),
        ([], "rubrics/mine.json is []; give an object with version, goal_text, aggregation, criteria."),
        ("", "rubrics/mine.json is not JSON: line 1, column 1: Expecting value."),
        (
            '{"version": ' + "9" * 5000 + "}",
            "rubrics/mine.json holds a number with thousands of digits; shorten it.",
        ),
        ("[" * 100_000, "rubrics/mine.json is nested too deeply to be a rubric."),
        (
            '{"version": "1", "version": "2"}',
            'rubrics/mine.json has the field "version" twice in one object; keep one of them.',
        ),
    ],
)
def test_a_file_that_breaks_a_rule_is_named_with_the_field(tmp_path: Path, content: Any, sentence: str):
    assert sentence_about(tmp_path, content) == sentence


@pytest.mark.parametrize("weight", [0, -0.25, math.nan, math.inf, True, "0.25", 2])
def test_a_weight_that_is_no_share_is_refused(tmp_path: Path, weight: object):
    sentence = sentence_about(tmp_path, criteria_with(weight=weight))

    assert sentence.startswith("rubrics/mine.json: criteria[1].weight is ")
    assert sentence.endswith("; give a number above 0 and at most 1.")


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path):
    with pytest.raises(InvalidConfig, match=r"outcome\.json cannot be read \(No such file or directory\)"):
        load_rubrics(tmp_path)


def test_a_file_in_another_encoding_is_said_to_be_no_utf_8(tmp_path: Path):
    path = tmp_path / "mine.json"
    path.write_bytes(b"\xff\xfe{}")

    with pytest.raises(InvalidConfig, match="is not UTF-8 text"):
        load_rubric(path)
