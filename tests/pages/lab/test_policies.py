"""The Policies view: the table with intervals, unfair comparisons, filters in the URL, and every tab."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.analysis.rescore import RewardFactsCache, StoredFacts
from core.analysis.statistics import crafter_score
from core.dataset import known_description
from core.env.rules import ACHIEVEMENTS, ENGINE_VERSION
from core.rollout import run_rollout
from core.store import TraceStore
from core.types import EnvConfig, EpisodeSpec, Limits, PolicySpec, QueuedEpisode, RewardConfig, Run
from pages.components.lab.policies.view import _SECTIONS as SECTIONS
from tests.support.pages import opened, said

HOSTILE = "![x](http://example.org/x.png)<img src=x>\0\ud83d" + "z" * 100_000


def policies(**query: str) -> AppTest:
    return opened("lab", state=None, view="Policies", **query)


def frame(at: AppTest, place: int) -> Any:
    """0: the table of stored policies, 1: of published results, 2: of the open tab."""
    return at.dataframe[place].value


def rows(at: AppTest) -> dict[str, dict[str, Any]]:
    """The table of stored policies, by policy."""
    return {row["who"]: row for row in frame(at, 0).to_dict("records")}


@pytest.fixture
def hostile(recorded: TraceStore) -> Iterator[None]:
    """Episodes with hostile names and settings."""
    stored = RewardFactsCache(recorded.rewards).refresh()
    episodes = tuple(
        replace(
            episode,
            spec=replace(episode.spec, policy=PolicySpec(HOSTILE, {"model": HOSTILE, "prompt": f"{HOSTILE}{number}"})),
        )
        for number, episode in enumerate(stored.episodes)
    )
    hostile_facts = StoredFacts(episodes, stored.columns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RewardFactsCache, "refresh", lambda self: hostile_facts)
        yield


def test_policies_are_listed_by_score(recorded: TraceStore):
    at = policies()
    table = rows(at)
    assert list(table) == ["scripted", "random"]
    episodes = [row for row in recorded.episodes.page().rows if row.policy == "scripted"]
    success = np.array([sum(name in row.achievements for row in episodes) / 2 for name in ACHIEVEMENTS])
    assert table["scripted"]["score"] == pytest.approx(float(crafter_score(success)))
    assert table["scripted"]["progress"] == pytest.approx(100 * float(success.mean()))
    assert table["scripted"]["shaped_return"] == pytest.approx(float(np.mean([row.shaped_return for row in episodes])))
    assert table["scripted"]["env_return"] == pytest.approx(float(np.mean([row.env_return for row in episodes])))
    assert (table["scripted"]["episodes"], table["scripted"]["seeds"]) == (2, 2)
    assert table["scripted"]["score_range"] == "n/a"
    assert "One or two seeds have no interval" in said(at)


def test_published_results_are_shown_with_their_protocols(recorded: TraceStore):
    at = policies()
    published = frame(at, 1)
    assert list(published["who"])[:2] == ["Random policy", "Human experts"]
    assert published["score"][1] == "50.5"
    assert "29,784 episodes over 5.0 million steps" in said(at)
    assert "Stored here: up to 60 steps, or death" in said(at)
    at.multiselect(key="across_published").set_value([]).run()
    assert not at.exception
    assert len(at.dataframe) == 1


def test_different_seeds_are_reported_and_can_be_limited_to_common_ones(recorded: TraceStore):
    at = policies()
    assert "Different settings: seeds" in at.warning[0].value.replace("\\", "")
    assert "Seeds: scripted 2, random 1; 1 in common" in said(at)
    at.button(key="policies_common").click().run()
    assert at.query_params["across_seeds"] == "42"
    assert not at.warning
    assert {name: row["episodes"] for name, row in rows(at).items()} == {"scripted": 1, "random": 1}


def test_different_configurations_and_limits_are_reported_by_policy(recorded: TraceStore):
    spec = EpisodeSpec(
        seed=42,
        policy=PolicySpec("random", {"max_actions": 2}),
        policy_seed=9,
        reward=RewardConfig(strategy="consistent", indicator_lambda=0.5),
        limits=Limits(max_steps=20, max_decisions=60),
        engine_version=ENGINE_VERSION,
    )
    recorded.runs.create(Run("e" * 32, datetime.now(UTC), (QueuedEpisode("d" * 32, spec),), name="Other"))
    recorded.queue.claim_next(worker="tests")
    run_rollout(spec, episode_id="d" * 32, run_id="e" * 32, recorder_for=lambda episode: recorded.recorder(episode.id))
    at = policies()
    title = at.warning[0].value.replace("\\", "")
    assert all(aspect in title for aspect in ("reward configuration", "step limit", "policy settings", "seeds"))
    assert "Consistent, λ 0.5 (random 1 episode)" in said(at)
    assert "Step limit: 60 (scripted 2 episodes, random 1 episode), 20 (random 1 episode)" in said(at)
    assert "Stored here: limits from 20 to 60 steps, or death" in said(at)
    assert len(rows(at)) == 2
    at.toggle(key="across_split").set_value(True).run()
    assert set(rows(at)) == {"random · max actions not given", "random · max actions 2", "scripted"}


def test_filters_in_a_link_are_applied_and_invalid_ones_reported(recorded: TraceStore):
    at = policies(across_policies="random", across_runs="unknown", across_seeds="forty")
    assert list(rows(at)) == ["random"]
    assert 'run "unknown"' in at.warning[0].value.replace("\\", "")
    assert "forty" in at.error[0].value
    assert list(rows(policies(across_runs="Recorded (ffffffff)"))) == ["scripted", "random"]


def test_filters_without_a_match_can_be_cleared(recorded: TraceStore):
    at = policies(across_policies="random", across_seeds="7")
    assert "No finished episode matches" in at.info[0].value
    at.button(key="policies_clear").click().run()
    assert len(rows(at)) == 2
    assert "across_seeds" not in at.query_params


def test_rewards_are_split_by_policy_and_by_difficulty(recorded: TraceStore):
    at = policies(across_section="Rewards")
    table = frame(at, 2)
    assert {"scripted (2 episodes)", "random (1 episode)"} == set(table["group"])
    for policy, n in (("scripted", 2), ("random", 1)):
        paid = sum(row.shaped_return for row in recorded.episodes.page().rows if row.policy == policy)
        its = table[table["group"].str.startswith(policy)]
        assert its["total"].sum() == pytest.approx(paid)
        assert its["mean"].sum() == pytest.approx(paid / n)
        assert its["share"].sum() == pytest.approx(100)
    at = policies(across_section="Rewards", across_by="Seed difficulty")
    assert set(frame(at, 2)["group"]) == {"not rated (3 episodes)"}


def test_worlds_without_a_rating_are_rated_on_demand(recorded: TraceStore):
    at = policies(across_section="Seed difficulty")
    assert any("Worlds without a difficulty rating: 2" in text.value for text in at.markdown)
    at.button(key="policies_rate").click().run()
    assert not at.exception
    assert known_description(recorded, 42, env=EnvConfig()) is not None
    assert known_description(recorded, 7, env=EnvConfig()) is not None
    assert not any(b.key == "policies_rate" for b in at.button)


def test_each_policy_has_a_correlation_or_the_reason_why_not(recorded: TraceStore):
    at = policies(across_section="Return and achievements")
    assert "All together: ρ = " in said(at)
    assert "scripted: n/a, because it needs three episodes (2 episodes on 2 seeds)" in said(at)


def test_hostile_names_are_escaped_and_cut_in_every_tab(hostile: None):
    for section in SECTIONS:
        at = policies(across_section=section)
        assert not at.error
        assert all(len(str(name)) <= 100 for name in rows(at))
        assert "![x](" not in " ".join(element.value for element in (*at.markdown, *at.caption, *at.warning))
        found = at.get("plotly_chart")
        assert len(found) >= 2
        for chart in found:
            assert "<img" not in chart.proto.spec
            assert len(chart.proto.spec) < 500_000
    assert len(rows(policies(across_split="true"))) == 3
