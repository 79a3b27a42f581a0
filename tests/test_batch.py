"""Plans: checked whole, played once, and the rest of them after a stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from core import batch
from core.batch import BatchPlan, Processes, main, play_batch, read_plan, runs_of
from core.errors import DuplicateId, InvalidInput
from core.exports import read_document
from core.ray_tasks import Place, play_task
from core.settings import Settings
from core.store import EpisodeFilter, TraceStore
from core.store.database import sqlite_url
from core.types import EpisodeStatus, QueuedEpisode, RewardConfig, Run, RunSource
from tests.support.launches import kill_workers, process_on, record_queue, wait_until_moving

ROOT = Path(__file__).parents[1]
PLAN = """
name: tiny
policies: [{name: random}, {name: scripted}]
rewards: [{strategy: consistent}, {strategy: per_achievement, weights: {collect_wood: 2}}]
seeds: 3-5
repeats: 2
limits: {max_steps: 6}
env: {area: [24, 24]}
"""


def written(tmp_path: Path, text: str = PLAN) -> Path:
    path = tmp_path / "plan.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_plan_is_a_run_for_each_policy_and_reward_with_the_same_ids_each_time(tmp_path: Path):
    plan = read_plan(written(tmp_path))
    runs = runs_of(plan, {})
    assert [run.id for run in runs] == [run.id for run in runs_of(plan, {})]
    assert [(run.episodes[0].spec.policy.name, run.episodes[0].spec.reward.strategy) for run in runs] == [
        ("random", "consistent"),
        ("random", "per_achievement"),
        ("scripted", "consistent"),
        ("scripted", "per_achievement"),
    ]
    assert {len(run.episodes) for run in runs} == {6}
    assert len({run.batch_id for run in runs}) == 1 and {run.source for run in runs} == {RunSource.BATCH}
    other = read_plan(written(tmp_path, PLAN.replace("3-5", "3-6")))
    assert runs_of(other, {})[0].batch_id != runs[0].batch_id


def test_saved_configurations_go_by_their_names(tmp_path: Path):
    plan = read_plan(written(tmp_path, "{name: x, policies: [{name: random}], seeds: 1, rewards: [mine]}"))
    (run,) = runs_of(plan, {"mine": RewardConfig("per_achievement", indicator_lambda=2.0)})
    assert run.episodes[0].spec.reward.indicator_lambda == 2.0
    (other,) = runs_of(plan, {"mine": RewardConfig("per_achievement", indicator_lambda=3.0)})
    assert other.id != run.id  # saved anew under its name, it is another plan


class LosesAll:
    """A backend whose tasks die."""

    def play(self, run: Run, episodes: Sequence[QueuedEpisode]) -> None: ...

    def look(self) -> None: ...

    def is_playing(self, run: Run, place: Place) -> bool:
        return False


def test_lost_episodes_are_counted_and_fail_the_command(
    sqlite_store: TraceStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(batch, "_POLL_S", 0.01)
    runs = runs_of(read_plan(written(tmp_path, "{name: x, policies: [{name: random}], seeds: 0-2}")), {})
    assert batch._follow(sqlite_store, runs, LosesAll()) == 1  # pyright: ignore[reportPrivateUsage]
    assert "3 lost" in capsys.readouterr().out


class OnlyQueues:
    """A backend without workers, which keeps what it is given."""

    def __init__(self, store: TraceStore | None) -> None:
        self.given: list[QueuedEpisode] = []
        self._store = store

    def play(self, run: Run, episodes: Sequence[QueuedEpisode]) -> None:
        self.given += episodes
        if self._store is not None:
            self._store.runs.add_queued(run.id, episodes)

    def look(self) -> None: ...

    def is_playing(self, run: Run, place: Place) -> bool:
        return False


def test_two_starts_at_once_add_each_episode_once(sqlite_store: TraceStore):
    (run,) = small()
    slow, fast = OnlyQueues(None), OnlyQueues(sqlite_store)
    for backend in (slow, fast):  # the first one has looked, and has not added its episodes yet
        next(play_batch(sqlite_store, [run], backend))
    assert [each.id for each in slow.given] == [each.id for each in fast.given]
    with pytest.raises(DuplicateId):
        sqlite_store.runs.add_queued(run.id, slow.given)
    assert len(sqlite_store.runs.episodes(run.id).rows) == len(run.episodes)


def test_a_budget_is_refused_on_ray(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("CRAFTSCOPE_DATA_DIR", str(tmp_path))
    path = written(tmp_path, "{name: x, policies: [{name: random}], seeds: 1, budget: {max_calls: 1}}")
    assert batch.main([str(path), "--on", "ray"]) == 2
    assert "budget: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: [", "is not YAML"),
        ("[1, 2]", "^The plan: "),
        ("{name: x, policies: [], seeds: 1}", "^policies: "),
        ("{name: x, policies: [{name: random, parms: {}}], seeds: 1}", r"^policies\[0\]: .*parms"),
        ("{name: x, policies: [{name: random, params: &a {x: *a}}], seeds: 1}", "refers to itself"),
        ("{name: x, policies: [{name: randon}], seeds: 1}", r"^policies\[0\] with rewards\[0\]: .*did you mean"),
        ("{name: x, policies: [{name: random}], seeds: 1, rewards: [none]}", r"^rewards\[0\]: no configuration"),
        ("{name: x, policies: [{name: random}], seeds: 1, rewards: [{lamda: 1}]}", r"^rewards\[0\]: .*lamda"),
        ("{name: x, policies: [{name: random}], seeds: 1, limits: {steps: 1}}", "^limits: .*max_steps"),
        ("{name: x, policies: [{name: random}], seeds: 1, limits: {max_steps: 0}}", "max_steps is 0"),
        ("{name: x, policies: [{name: random}], seeds: many}", "many"),
        ("{name: x, policies: [{name: llm}], seeds: 1}", r"^policies\[0\] with"),
    ],
)
def test_what_is_wrong_with_a_plan_is_named(tmp_path: Path, text: str, message: str):
    with pytest.raises(InvalidInput, match=message):
        runs_of(read_plan(written(tmp_path, text)), {})


class Here:
    """Plays queued episodes in this process. interrupted: how many of the first ones are interrupted instead."""

    def __init__(self, store: TraceStore, interrupted: int = 0) -> None:
        self.store, self.interrupted, self.played = store, interrupted, 0

    def play(self, run: Run, episodes: Sequence[QueuedEpisode]) -> None:
        self.store.runs.add_queued(run.id, episodes)
        self.played += len(episodes)

    def look(self) -> None:
        while self.interrupted and (claimed := self.store.queue.claim_next(worker="dies")):
            self.store.queue.interrupt(claimed[1].id, "It was killed.")
            self.interrupted -= 1
        record_queue(self.store)

    def is_playing(self, run: Run, place: Place) -> bool:
        return False


def small(**changes: Any) -> tuple[Run, ...]:
    fields = {
        "name": "small",
        "policies": [{"name": "random"}],
        "seeds": "1-3",
        "limits": {"max_steps": 4},
        "env": {"area": (24, 24)},
    }
    return runs_of(msgspec.convert({**fields, **changes}, BatchPlan), {})


def test_a_second_start_plays_only_what_is_missing(sqlite_store: TraceStore):
    runs = small()
    first = Here(sqlite_store)
    *_, last = play_batch(sqlite_store, runs, first)
    assert (first.played, last.done, last.total) == (3, 3, 3)
    again = Here(sqlite_store)
    *_, last = play_batch(sqlite_store, runs, again)
    assert (again.played, last.done) == (0, 3)
    lost = sqlite_store.runs.episodes(runs[0].id).rows[1]
    sqlite_store.episodes.delete([lost.id])
    third = Here(sqlite_store)
    list(play_batch(sqlite_store, runs, third))
    assert third.played == 1
    assert {row.seed for row in sqlite_store.runs.episodes(runs[0].id).rows} == {1, 2, 3}


def test_an_interrupted_episode_is_played_again_at_most_twice(sqlite_store: TraceStore):
    runs = small(seeds="1")
    backend = Here(sqlite_store, interrupted=2)
    list(play_batch(sqlite_store, runs, backend))
    statuses = [row.status for row in sqlite_store.runs.episodes(runs[0].id).rows]
    assert statuses == [EpisodeStatus.INTERRUPTED, EpisodeStatus.INTERRUPTED, EpisodeStatus.COMPLETED]
    given_up = small(seeds="2")
    backend = Here(sqlite_store, interrupted=9)
    *_, last = play_batch(sqlite_store, given_up, backend)
    assert (backend.played, last.done) == (3, 1)


def test_a_killed_worker_of_processes_costs_nothing(tmp_path: Path):
    settings = Settings(data_dir=tmp_path, db_url=None, max_workers=1)
    with TraceStore(sqlite_url(tmp_path)) as store:
        runs = small(policies=[{"name": "scripted"}], seeds="4", limits={"max_steps": 400}, env={"area": (32, 32)})
        is_killed = False
        for _ in play_batch(store, runs, Processes(store, settings)):
            rows = store.episodes.page(EpisodeFilter(statuses=(EpisodeStatus.RUNNING,))).rows
            if rows and not is_killed:
                wait_until_moving(store, rows[0].id)
                os.kill(process_on(settings, rows[0].id), signal.SIGKILL)
                is_killed = True
        whole, *cut = sorted(store.runs.episodes(runs[0].id).rows, key=lambda row: row.status)
        assert is_killed and whole.status is EpisodeStatus.COMPLETED and whole.n_steps == 400
        assert [row.status for row in cut] == [EpisodeStatus.INTERRUPTED]
    kill_workers(settings)


def test_a_task_returns_whole_episodes_as_documents(tmp_path: Path):
    (run,) = small(seeds="7")
    (queued,) = run.episodes
    (document,) = play_task(
        msgspec.json.encode(replace(run, episodes=())), msgspec.json.encode(queued.spec), queued.id, 0
    )
    assert read_document(document).episode.n_steps == 4


def test_the_command_plays_a_plan_and_says_what_came_of_it(tmp_path: Path):
    path = written(tmp_path, PLAN.replace("repeats: 2", "repeats: 1"))
    environment = {**os.environ, "CRAFTSCOPE_DATA_DIR": str(tmp_path / "data")}
    command = [sys.executable, "-m", "core.batch", str(path), "--workers", "2"]
    for _ in range(2):
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert "4 runs of batch tiny-" in done.stdout and "12 completed" in done.stdout
        assert "12/12" in done.stderr


def test_the_command_reports_a_wrong_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CRAFTSCOPE_DATA_DIR", str(tmp_path))
    assert main([str(written(tmp_path, "name: ["))]) == 2
    assert "is not YAML" in capsys.readouterr().err
