"""A damaged run is named and takes no other along, and so is a text that is no UTF-8 in a column of numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import StoreCorrupt
from core.store import TraceStore
from core.types import EpisodeStatus, RewardConfig
from tests.store.test_one_damaged_row import NOT_UTF8, change, pages
from tests.support.records import make_run, record_episode

RUNS = [f"run-{number}" for number in range(4)]
EPISODES = [f"episode-{number}" for number in range(4)]
DAMAGED = "run-2"
HERE = f"WHERE uuid = '{DAMAGED}'"
EPISODE = "WHERE uuid = 'episode-2'"
NEVER = -9223372036854775808
DRY = RewardConfig(strategy="per_achievement", weights={"collect_drink": 3.0})

DAMAGED_RUNS = {
    "a moment that is none": f"UPDATE runs SET created_at = 'soon' {HERE}",
    "a moment that is no text either": f"UPDATE runs SET created_at = {NOT_UTF8} {HERE}",
    "a moment before all years": f"UPDATE runs SET created_at = {NEVER} {HERE}",
    "a moment after all years": f"UPDATE runs SET created_at = 9e999 {HERE}",
    "a configuration that is cut off": f"UPDATE runs SET config = x'7b' {HERE}",
    "a configuration that is no table": f"UPDATE runs SET config = '[]' {HERE}",
    "a configuration that is no text": f"UPDATE runs SET config = {NOT_UTF8} {HERE}",
    "a name that is no text": f"UPDATE runs SET name = {NOT_UTF8} {HERE}",
    "a name that is bytes": f"UPDATE runs SET name = x'00ff' {HERE}",
    "a session that is no text": f"UPDATE runs SET training_session_id = {NOT_UTF8} {HERE}",
    "a correlation that is bytes": f"UPDATE runs SET trace_correlation_id = x'41' {HERE}",
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A database with four runs of an episode each, two saved rewards and a scoring for each episode."""
    file = tmp_path / "traces.db"
    with TraceStore(f"sqlite:///{file}") as store:
        for number, (run, episode) in enumerate(zip(RUNS, EPISODES, strict=True)):
            store.create_run(make_run(run, [episode], minutes=number))
            record_episode(store, episode, 12, seed=number)
        store.save_reward("dry", DRY)
        store.save_reward("wet", RewardConfig(strategy="per_achievement", weights={"collect_drink": 4.0}))
        store.save_scorings(DRY, dict.fromkeys(EPISODES, 1.5))
    return file


# ------------------------------------------------------------------------------------- runs


@pytest.mark.parametrize("statement", DAMAGED_RUNS.values(), ids=DAMAGED_RUNS.keys())
def test_a_run_that_is_damaged_is_named_and_the_others_are_there(file: Path, statement: str):
    change(file, statement)
    with TraceStore(f"sqlite:///{file}") as store:
        assert [run.id for run in store.runs()] == ["run-3", "run-1", "run-0"]
        assert [run.id for run in store.runs(limit=2)] == ["run-3", "run-1"]
        assert [run.id for run in store.runs(limit=1)] == ["run-3"]
        assert store.runs(limit=0) == ()
        ((name, problem),) = [(entry.id, entry.problem) for entry in store.unreadable_runs()]
        assert name == DAMAGED
        assert f"un {DAMAGED}" in problem and problem.isprintable() and len(problem) < 700
        with pytest.raises(StoreCorrupt, match=DAMAGED):
            store.run(DAMAGED)
        assert store.run("run-1").counts == {EpisodeStatus.COMPLETED: 1}
        assert len(store.episodes().rows) == 4


@pytest.mark.parametrize(("value", "name"), [(NOT_UTF8, r"\xffA"), ("x'ff42'", r"\xffB")])
def test_a_run_whose_id_is_no_text_is_written_out(file: Path, value: str, name: str):
    change(file, f"UPDATE runs SET uuid = {value} {HERE}")
    with TraceStore(f"sqlite:///{file}") as store:
        assert [run.id for run in store.runs()] == ["run-3", "run-1", "run-0"]
        assert [entry.id for entry in store.unreadable_runs()] == [name]
        with pytest.raises(StoreCorrupt) as caught:
            store.run(name)
        assert name in str(caught.value)
        assert [row.id for row in store.episodes().rows] == ["episode-3", "episode-1", "episode-0"]


def test_several_damaged_runs_hide_no_other(file: Path):
    change(file, f"UPDATE runs SET created_at = {NOT_UTF8} WHERE uuid IN ('run-0', 'run-1', 'run-3')")
    with TraceStore(f"sqlite:///{file}") as store:
        assert [run.id for run in store.runs(limit=1)] == [DAMAGED]
        assert {entry.id for entry in store.unreadable_runs()} == {"run-0", "run-1", "run-3"}


@pytest.mark.parametrize("status", ["'dreaming'", NOT_UTF8, "x'00'"])
def test_an_episode_whose_status_nobody_knows_is_not_counted_in_its_run(file: Path, status: str):
    change(file, f"UPDATE episodes SET status = {status} {EPISODE}")
    with TraceStore(f"sqlite:///{file}") as store:
        assert [run.id for run in store.runs()] == list(reversed(RUNS))
        assert store.unreadable_runs() == ()
        run = store.run(DAMAGED)
        assert (run.n_episodes, run.counts) == (1, {})


def test_no_run_is_unreadable_where_nothing_is_damaged(store: TraceStore):
    for number, run in enumerate(RUNS):
        store.create_run(make_run(run, [f"{run}-a", f"{run}-b"], minutes=number))
    assert store.unreadable_runs() == ()
    assert [run.id for run in store.runs(limit=3)] == ["run-3", "run-2", "run-1"]
    assert store.run("run-1").counts == {EpisodeStatus.QUEUED: 2}


# ------------------------------------------------------------------------------------- text where numbers stand


def test_a_moment_that_is_no_text_either_stands_in_nobodys_way(file: Path):
    change(file, f"UPDATE episodes SET created_at = {NOT_UTF8} {EPISODE}")
    with TraceStore(f"sqlite:///{file}") as store:
        for limit in (1, 2, 50):
            found = pages(store, limit)
            assert [row.id for page in found for row in page.rows] == ["episode-3", "episode-1", "episode-0"]
            assert [entry.id for page in found for entry in page.unreadable] == ["episode-2"]
        part = store.archive_part(store.played_ids())
        assert [played.id for played in part.episodes] == ["episode-0", "episode-1", "episode-3"]
        assert [entry.id for entry in part.unreadable] == ["episode-2"]


def test_a_saved_reward_of_a_moment_that_is_none_is_named(file: Path):
    change(file, f"UPDATE saved_rewards SET saved_at = {NOT_UTF8} WHERE name = 'dry'")
    with TraceStore(f"sqlite:///{file}") as store:
        assert [saved.name for saved in store.saved_rewards()] == ["wet"]
        assert [damage.name for damage in store.unreadable_rewards()] == ["dry"]


def test_a_kept_return_that_is_none_is_named(file: Path):
    its_key = f"(SELECT id FROM episodes {EPISODE})"
    change(file, f"UPDATE scorings SET shaped_return = {NOT_UTF8} WHERE episode_id = {its_key}")
    with TraceStore(f"sqlite:///{file}") as store:
        others = [name for name in EPISODES if name != "episode-2"]
        assert store.scorings(DRY.config_hash) == dict.fromkeys(others, 1.5)
        assert [entry.id for entry in store.unreadable_scorings(DRY.config_hash)] == ["episode-2"]


def test_an_episode_whose_run_is_no_number_is_named_and_deleted_with_others(file: Path):
    change(file, f"UPDATE episodes SET run_id = {NOT_UTF8} {EPISODE}")
    with TraceStore(f"sqlite:///{file}") as store:
        assert [entry.id for entry in store.episodes().unreadable] == ["episode-2"]
        assert [run.id for run in store.runs()] == list(reversed(RUNS))
        assert store.delete_episodes(["episode-1", "episode-2"]) == 2
        assert [row.id for row in store.episodes().rows] == ["episode-3", "episode-0"]
        assert [run.id for run in store.runs()] == ["run-3", "run-2", "run-0"]  # nobody knows whose it was


@pytest.mark.parametrize("value", [NOT_UTF8, "'often'", "x'00'", "9e999"])
def test_a_counter_of_deletions_that_is_no_number_counts_on(file: Path, value: str):
    change(file, f"UPDATE store_meta SET generation = {value}")
    with TraceStore(f"sqlite:///{file}") as store:
        assert store.generation == 0
        store.delete_episodes(["episode-1"])
        assert store.generation == 1


@pytest.mark.parametrize("value", [NOT_UTF8, "x'ff41'"])
@pytest.mark.parametrize("column", ["kind", "name"])
def test_a_kind_of_reward_that_is_no_text_concerns_only_who_earned_it(file: Path, column: str, value: str):
    with TraceStore(f"sqlite:///{file}") as store:
        store.create_run(make_run("run-4", ["short", "episode-5"]))
        record_episode(store, "short", 0)
    change(file, f"UPDATE component_types SET {column} = {value} WHERE id = (SELECT min(id) FROM component_types)")
    with TraceStore(f"sqlite:///{file}") as store:
        assert store.load_episode("short").decisions == ()
        with pytest.raises(StoreCorrupt, match="reward in episode episode-1"):
            store.load_episode("episode-1")
        record_episode(store, "episode-5", 12)  # what it earns has a sound row of its own
        assert len(store.load_episode("episode-5").decisions) == 12


# ------------------------------------------------------------------------------------- sums


@pytest.mark.parametrize("value", [NEVER, 9223372036854775807, NOT_UTF8])
@pytest.mark.parametrize("column", ["n_steps", "n_decisions", "n_achievements", "env_return", "shaped_return"])
def test_totals_pass_over_what_is_too_large_and_what_is_no_text(file: Path, column: str, value: object):
    change(file, f"UPDATE episodes SET {column} = {value} {EPISODE}")
    with TraceStore(f"sqlite:///{file}") as store:
        assert store.totals().episodes == 4


@pytest.mark.parametrize("value", [NEVER, 9223372036854775807, NOT_UTF8, "'many'", "1.5", "x'00'"])
@pytest.mark.parametrize("column", ["model_calls", "tokens_in", "tokens_out"])
def test_a_damaged_count_of_a_decision_adds_nothing_to_what_was_spent(file: Path, column: str, value: object):
    with TraceStore(f"sqlite:///{file}") as store:
        before = store.spent_by(EPISODES)
    asked = "WHERE model_calls > 0 AND episode_id = (SELECT id FROM episodes WHERE uuid = 'episode-2')"
    change(file, f"UPDATE decisions SET {column} = {value} WHERE id = (SELECT min(id) FROM decisions {asked})")
    with TraceStore(f"sqlite:///{file}") as store:
        after, run = store.spent_by(EPISODES), store.spent(DAMAGED)
    assert {**after, "episode-2": None} == {**before, "episode-2": None}
    damaged, whole = after["episode-2"], before["episode-2"]
    field = "calls" if column == "model_calls" else column
    assert 0 < getattr(damaged, field) < getattr(whole, field)
    assert (run.calls, run.tokens) == (damaged.calls, damaged.tokens)
