"""A corrupt row does not fail a page: it is named there and can be deleted."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from core.settings import load_settings
from core.store import TraceStore
from core.store.sqlite_file import sqlite_driver
from core.types import RewardConfig
from tests.support.lab_episodes import DEFAULTS, HONEST, record_changes
from tests.support.pages import opened, page_links, popovers, said
from tests.support.records import make_run, record_episode

LOST = "lost0001"
THREE = ("honest01", LOST, "honest02")


@pytest.fixture
def corrupt(data_dir: Path) -> Path:
    """Three episodes of one run and one of another; one of the three is corrupt."""
    with TraceStore.from_settings(load_settings()) as store:
        store.runs.create(make_run("run-of-three", list(THREE)))
        for name in THREE:
            record_episode(store, name)
        record_changes(store, "honest03", HONEST, minutes=1)
    change(data_dir, f"UPDATE episodes SET spec = x'00' WHERE uuid = '{LOST}'")
    return data_dir


def change(data_dir: Path, statement: str) -> None:
    """As another program would, while the database is closed."""
    (file,) = data_dir.glob("*.db")
    with closing(sqlite_driver().connect(str(file), isolation_level=None)) as connection:
        assert connection.execute(statement).rowcount >= 1


def test_traces_names_a_corrupt_episode_and_deletes_it(corrupt: Path):
    at = opened("traces")
    assert len(at.dataframe[0].value) == 3
    assert "1 cannot be read" in popovers(at)
    assert f"{LOST}: Episode {LOST} is stored but cannot be read" in said(at)
    at.button(key="trace_corrupt_delete").click().run()
    assert not at.exception
    assert "1 cannot be read" not in popovers(at)
    assert len(at.dataframe[0].value) == 3
    with TraceStore.from_settings(load_settings()) as store:
        assert {row.id for row in store.episodes.page().rows} == {"honest01", "honest02", "honest03"}


def test_a_run_names_a_corrupt_episode_and_does_not_count_it_as_deleted(corrupt: Path):
    at = opened("run", id="run-of-three")
    assert "1 cannot be read" in popovers(at)
    assert LOST in said(at)
    assert "deleted" not in said(at)


def test_a_run_with_only_corrupt_episodes_says_so(corrupt: Path):
    change(corrupt, "UPDATE episodes SET spec = x'00'")
    assert "All episodes of this run are corrupt" in said(opened("run", id="run-of-three"))


def test_a_corrupt_run_is_named_beside_the_others(corrupt: Path):
    change(corrupt, "UPDATE runs SET config = x'ff41' WHERE uuid = 'run-of-three'")
    at = opened("run")
    assert "1 run cannot be read" in popovers(at)
    assert "run-of-t: " in said(at)
    assert "honest03" in " ".join(page_links(at)) + said(at)
    opened("lab")
    opened("launch")


def test_the_lab_names_a_corrupt_episode_and_counts_the_others(corrupt: Path):
    at = opened("lab")
    assert "3 episodes with 15 decisions" in said(at)
    assert "1 cannot be read" in popovers(at)
    assert f"{LOST}: Episode {LOST}" in said(at)


@pytest.mark.parametrize("view", ["Audit", "Policies"])
def test_the_other_views_of_the_lab_name_it_too(corrupt: Path, view: str):
    assert "1 cannot be read" in popovers(opened("lab", view=view))


def test_a_lab_with_only_corrupt_episodes_says_so(corrupt: Path):
    change(corrupt, "UPDATE episodes SET spec = x'00'")
    at = opened("lab")
    assert "each one either made no decision or cannot be read" in said(at)
    assert "4 cannot be read" in popovers(at)


def test_readable_episodes_can_still_be_chosen(corrupt: Path):
    at = opened("episode")
    assert {b.key for b in at.button} >= {"offer-honest01", "offer-honest02", "offer-honest03"}


# -------------------------------------------------------------------------------------------------- saved rewards


@pytest.fixture
def corrupt_reward(data_dir: Path) -> Path:
    """A readable saved configuration and a corrupt one."""
    other = replace(DEFAULTS, indicator_lambda=3.0)
    with TraceStore.from_settings(load_settings()) as store:
        record_changes(store, "honest01", HONEST)
        store.rewards.save("whole", RewardConfig("consistent"))
        store.rewards.save("<b>torn</b>", other)
    change(data_dir, f"UPDATE reward_configs SET config = '{{' WHERE hash = '{other.config_hash}'")
    return data_dir


@pytest.mark.parametrize(("page", "key"), [("lab", "lab_corrupt_rewards"), ("launch", "launch_corrupt_rewards")])
def test_a_corrupt_saved_configuration_is_named_and_the_others_are_offered(corrupt_reward: Path, page: str, key: str):
    at = opened(page)
    assert "1 saved configuration cannot be read" in popovers(at)
    assert "“<b>torn</b>”: " in said(at)
    offered = {option for box in at.selectbox for option in box.options}
    assert "Saved: whole" in offered
    at.button(key=f"{key}_delete_0").click().run()
    assert not at.exception
    assert "1 saved configuration cannot be read" not in popovers(at)


# -------------------------------------------------------------------------------------------- without a decision


@pytest.fixture
def idle(data_dir: Path) -> TraceStore:
    """Two episodes of the random policy that were stopped before they started."""
    store = TraceStore.from_settings(load_settings())
    store.runs.create(make_run("idle", ["idle0001", "idle0002"]))
    store.queue.request_stop(run_id="idle")
    return store


def test_episodes_without_a_decision_are_counted_as_left_out(idle: TraceStore):
    record_changes(idle, "honest01", HONEST, minutes=1)
    at = opened("lab")
    assert "1 episode with 5 decisions; 2 episodes without decisions left out" in said(at)
    assert "everything stored" not in said(at)
    idle.close()


def test_a_lab_without_a_decision_says_why_it_is_empty(idle: TraceStore):
    at = opened("lab")
    assert "2 episodes without decisions left out" in said(at)
    assert "No stored episode can be scored" in said(at)
    assert "No episode has finished yet" not in said(at)
    idle.close()


def test_the_policies_view_names_their_policies(idle: TraceStore):
    record_changes(idle, "honest01", HONEST, minutes=1)
    at = opened("lab", view="Policies")
    sentence = "1 episode by 1 policy. 2 episodes without decisions left out: 2 of random"
    assert sentence in said(at)
    idle.close()
