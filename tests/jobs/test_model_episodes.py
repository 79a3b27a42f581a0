"""Episodes of a language model on a server on loopback: played, stopped, limited by a budget, and without the key."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import asdict, replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from core import jobs, replay
from core.env.rules import ACHIEVEMENTS, ENGINE_VERSION, ITEMS
from core.exports import episode_json
from core.plan import LaunchPlan, make_run
from core.policies.llm import LlmParams
from core.policies.llm.fields import refused_fields
from core.settings import Settings
from core.slots import free_slots, worker_name
from core.store import EpisodeSummary, TraceStore
from core.types import (
    Budget,
    EnvConfig,
    EpisodeStatus,
    Limits,
    OnDone,
    PolicySpec,
    RewardConfig,
    Run,
    StopReason,
)
from core.worker import Heartbeat, RolloutInProgress, _play_episode
from tests.support.launches import play_queue, wait_for, wait_until_over
from tests.support.model.server import ModelServer, Reply, calls, holds, says
from tests.support.model.strict import Gpt5, strict_server

KEY = "sk-9dZq83hT5vKp21xWmBJ7"  # contains no word whose six letters could occur anywhere
KEY_NAME = "A_MODELS_KEY"
OPEN = Budget()


def run_on(
    server: ModelServer, *, seeds: Sequence[int] = (1,), decisions: int = 3, budget: Budget = OPEN, **params: Any
) -> Run:
    os.environ["CRAFTSCOPE_KEYS"] = f"{KEY_NAME}={server.host}"
    params_ = LlmParams(base_url=server.url, model="tiny-model", key_name=KEY_NAME, http_retries=0, **params)
    plan = LaunchPlan(
        seeds=tuple(seeds),
        episodes_per_seed=1,
        policy=PolicySpec("llm", asdict(params_)),
        reward=RewardConfig(),
        limits=Limits(max_steps=50, max_decisions=decisions),
        env=EnvConfig(area=(24, 24)),
        on_done=OnDone.TERMINATE,
        max_actions_per_call=5,
        budget=budget,
    )
    return make_run(plan, engine_version=ENGINE_VERSION, achievements=ACHIEVEMENTS, items=ITEMS)


def played(store: TraceStore, settings: Settings, run: Run) -> tuple[EpisodeSummary, ...]:
    jobs.launch(store, settings, run)
    return wait_until_over(store, run.id)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_NAME, KEY)
    monkeypatch.setenv("CRAFTSCOPE_KEYS", "")  # `run_on` pairs the key with its server


def test_a_model_plays_and_its_episode_is_replayed_without_it(store: TraceStore, settings: Settings):
    with ModelServer([says(calls("move_left", "do")), says(calls("noop"))]) as server:
        (summary,) = played(store, settings, run_on(server))
    assert (summary.status, summary.stop_reason) == (EpisodeStatus.COMPLETED, StopReason.MAX_DECISIONS)
    episode = store.episodes.load(summary.id)
    assert [decision.actions for decision in episode.decisions] == [("move_left", "do"), ("noop",), ("noop",)]
    first, second, _ = (decision.model_call for decision in episode.decisions)
    assert first is not None and second is not None
    assert server.requests[1][2] == second.request and '"tiny-model"' in second.response_text
    assert [message["role"] for message in second.request["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
    ]
    assert replay.check(episode).exact
    assert store.runs.spent(summary.run_id).calls == 3 and store.runs.spent(summary.run_id).tokens == 360


def test_a_refused_field_is_remembered_for_the_episodes_of_a_run(store: TraceStore, settings: Settings):
    with strict_server(Gpt5()) as server:
        run = run_on(server, seeds=(1, 2), decisions=2)
        store.runs.create(run)
        play_queue(store, settings)
        assert len(server.requests) == 1 + 4
    for summary in store.runs.episodes(run.id).rows:
        for decision in store.episodes.load(summary.id).decisions:
            assert decision.model_call is not None
            assert [field.sent_as for field in decision.model_call.left_out] == ["max_completion_tokens"]


def test_a_refused_field_is_remembered_for_the_workers_of_a_run(store: TraceStore, settings: Settings):
    with strict_server(Gpt5()) as server:
        run = run_on(server, seeds=(1, 2), decisions=2)
        store.runs.create(run)
        _, first = store.queue.claim_next(worker=worker_name(os.getpid())) or pytest.fail()
        play_queue(store, settings)  # the second episode
        refused_fields.cache_clear()  # as in another worker process
        with next(free_slots(settings)) as slot:
            _play_episode(RolloutInProgress(store, slot, Heartbeat(settings), threading.Event(), run.id), first)
        assert len(server.requests) == 1 + 4


def test_a_stop_does_not_wait_for_the_server_and_the_key_is_in_no_process_arguments(
    store: TraceStore, settings: Settings
):
    release, answered = threading.Event(), threading.Event()

    def late(handler: BaseHTTPRequestHandler) -> None:
        answered.set()
        says(calls("noop"))(handler)

    with ModelServer([says(calls("noop")), holds(release, late)]) as server:
        run = run_on(server)
        jobs.launch(store, settings, run)
        wait_for("the second request", lambda: len(server.requests) == 2)
        arguments = [_read(path) for path in Path("/proc").glob("[0-9]*/cmdline")]
        store.queue.request_stop(run_id=run.id)
        (summary,) = wait_until_over(store, run.id)
        assert not answered.is_set()
        release.set()
    assert summary.status is EpisodeStatus.ABORTED and summary.stop_reason is StopReason.ABORTED
    assert summary.n_decisions == 2 and len(server.requests) == 2
    stopped = store.episodes.decision(summary.id, 1).model_call
    assert stopped is not None and stopped.error_kind == "stopped"
    assert any("core.worker" in line for line in arguments)
    _assert_clean("".join(arguments))


def test_a_budget_of_calls_ends_the_whole_run(store: TraceStore, settings: Settings):
    with ModelServer([says(calls("noop"))]) as server:
        run = run_on(server, seeds=(1, 2, 3), decisions=10, budget=Budget(max_calls=4))
        summaries = played(store, settings, run)
    assert 4 <= len(server.requests) <= 5  # two workers may both see the last call left
    assert StopReason.BUDGET in {summary.stop_reason for summary in summaries}
    assert not any(summary.status is EpisodeStatus.RUNNING for summary in summaries)


def test_without_its_key_an_episode_fails_with_the_name_of_the_variable(
    store: TraceStore, settings: Settings, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv(KEY_NAME)
    with ModelServer([says(calls("noop"))]) as server:
        store.runs.create(run := run_on(server))
        play_queue(store, settings)
    (summary,) = store.runs.episodes(run.id).rows
    assert summary.status is EpisodeStatus.FAILED and summary.error is not None
    assert summary.error.kind == "auth" and KEY_NAME in summary.error.detail
    assert server.requests == []


FAULTS: list[Reply] = [
    says({"error": {"message": f"Incorrect API key provided: {KEY}."}}, 401, x_request_id=KEY),
    says({"error": {"message": f"{KEY[:8]}********{KEY[-8:]} has no access"}}, 403),
    says(f"<html>{KEY}</html>", 502),
    says(f'{{"choices": [], "note": "{KEY}"}}'),
    says({"choices": [{"message": {"content": f"my key is {KEY}", "tool_calls": None}, "finish_reason": "stop"}]}),
    says(calls("noop", model=KEY)),
]


def test_no_piece_of_a_key_that_a_server_echoes_is_stored_logged_or_exported(store: TraceStore, settings: Settings):
    with ModelServer(FAULTS) as server:
        run = run_on(server, seeds=range(len(FAULTS)), decisions=1)
        summaries = played(store, replace(settings, max_workers=1), run)
        assert [headers["authorization"] for _, headers, _ in server.requests] == [f"Bearer {KEY}"] * len(FAULTS)
    for summary in summaries:
        episode = store.episodes.load(summary.id)
        _assert_clean(repr(episode) + repr(summary) + episode_json(store, summary.id).decode())
    store.close()  # only then may its files be read as plain ones
    for path in settings.data_dir.rglob("*"):
        if path.is_file():
            _assert_clean(path.read_bytes().decode("latin-1"))


def _assert_clean(text: str) -> None:
    found = [KEY[at : at + 6] for at in range(len(KEY) - 5) if KEY[at : at + 6] in text]
    assert found == []


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("latin-1")
    except OSError:  # the process has ended
        return ""
