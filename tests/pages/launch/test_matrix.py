"""Several policies and reward configurations in one launch, and the page of their batch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.rewards import RewardConfig
from core.settings import load_settings
from core.store import EpisodeFilter, TraceStore
from core.types import EpisodeStatus, ModelProfile, RunSource
from tests.support import pages
from tests.support.launch_page import described, link, opened, summary
from tests.support.launches import wait_until_over
from tests.support.pages import page_links


@pytest.fixture
def stored(data_dir: Path) -> Iterator[TraceStore]:
    with TraceStore.from_settings(load_settings()) as store:
        store.seeds.save(described(0, trees=12))
        store.rewards.save("wood only", RewardConfig("per_achievement", weights={"collect_wood": 2.0}))
        store.profiles.save(ModelProfile("local", "http://127.0.0.1:9/v1", "tiny"))
        yield store


def test_each_policy_plays_with_each_reward_in_runs_of_one_batch(stored: TraceStore):
    at = opened("0", seeds="0-1", policy="scripted", max_steps="10")
    at.multiselect(key="launch_also_policies").set_value(["random", "farmer"])
    at.multiselect(key="launch_also_rewards").set_value(["wood only"]).run()
    assert "3 policies × 2 rewards = 6" in summary(at) and "2 seeds × 1 × 6 runs = 12" in summary(at)
    at.button(key="launch_now").click().run()
    assert not at.exception
    runs = stored.runs.newest().rows
    (batch_id,) = {run.batch_id for run in runs}
    assert batch_id and {run.source for run in runs} == {RunSource.BATCH}
    for run in runs:
        wait_until_over(stored, run.id)
    played = stored.episodes.page(EpisodeFilter(trainer_id=batch_id)).rows
    cells = {(row.policy, row.config_hash, row.seed) for row in played}
    assert len(cells) == len(played) == 12
    assert {row.status for row in played} == {EpisodeStatus.COMPLETED}
    assert {row.policy for row in played} == {"scripted", "random", "farmer"}

    at = pages.opened("run", state=None, batch=batch_id)
    assert any(text.value.startswith("6 runs, 12 episodes: 12 completed") for text in at.text)
    assert len([1 for each in at.metric if each.label == "Mean shaped return" and each.value != "n/a"]) == 6
    assert "trainer_id" in str(page_links(at)["These episodes in Traces"])
    at = pages.opened("run", state=None, id=runs[0].id)
    assert batch_id in str(page_links(at)["All runs of its batch"])


def test_a_saved_connection_plays_with_the_settings_of_the_model(stored: TraceStore):
    at = opened("0", seeds="0", policy="scripted")
    at.multiselect(key="launch_also_policies").set_value(["connection:local"]).run()
    assert not at.exception
    assert "2 policies × 1 reward = 2" in summary(at) and "Model calls, at most" in summary(at)
    assert link(at)["also_policies"] == '["connection:local"]'


def test_a_link_fills_the_matrix_and_unknown_names_in_it_are_left_out(stored: TraceStore):
    names = '["random", "no such policy"]'
    at = opened("0", seeds="0", policy="scripted", also_policies=names, also_rewards='["wood only", "deleted"]')
    assert at.multiselect(key="launch_also_policies").value == ["random"]
    assert at.multiselect(key="launch_also_rewards").value == ["wood only"]
    at = opened("0", seeds="0", also_policies="{}")
    assert not at.exception and at.multiselect(key="launch_also_policies").value == []


def test_the_forms_own_policy_is_not_offered_again(stored: TraceStore):
    at = opened("0", seeds="0", policy="scripted", also_policies='["random"]')
    at.selectbox(key="launch_policy").select("random").run()
    assert at.multiselect(key="launch_also_policies").value == []
    assert "1 seed × 1 = 1" in summary(at)


def test_an_unknown_batch_is_reported(data_dir: Path):
    at = pages.opened("run", state=None, batch="no such batch")
    assert any("No run of the batch" in error.value for error in at.error)
    assert not at.exception
