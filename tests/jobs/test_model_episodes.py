"""Episodes of a language model in real workers, on a server on loopback: played, stopped, paid for, kept secret."""

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
from core.export import episode_json
from core.plan import LaunchPlan, make_run
from core.policies.llm import LlmParams
from core.settings import Settings
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
from tests.support.launches import wait_for, wait_until_over
from tests.support.model.server import ModelServer, Reply, calls, dribbles, holds, says
from tests.support.model.strict import Gpt5, strict_server

KEY = "sk-9dZq83hT5vKp21xWmBJ7"  # no word in it, as six characters of one may stand anywhere
KEY_NAME = "A_MODELS_KEY"
OPEN = Budget()


def run_on(
    server: ModelServer, *, seeds: Sequence[int] = (1,), decisions: int = 3, budget: Budget = OPEN, **params: Any
) -> Run:
    os.environ["CRAFTSCOPE_KEYS"] = f"{KEY_NAME}={server.host}"
    told = LlmParams(base_url=server.url, model="tiny-model", key_name=KEY_NAME, http_retries=0, **params)
    plan = LaunchPlan(
        seeds=tuple(seeds),
        episodes_per_seed=1,
        policy=PolicySpec("llm", asdict(told)),
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


def test_a_model_plays_and_its_episode_is_replayed_without_it(store: TraceStore, settings: Settings) -> None:
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


def test_a_refused_field_is_remembered_for_the_episodes_of_a_run(store: TraceStore, settings: Settings) -> None:
    with strict_server(Gpt5()) as server:
        run = run_on(server, seeds=(1, 2), decisions=2)
        summaries = played(store, replace(settings, max_workers=1), run)
        assert len(server.requests) == 1 + 4
    for summary in summaries:
        for decision in store.episodes.load(summary.id).decisions:
            assert decision.model_call is not None
            assert [field.sent_as for field in decision.model_call.left_out] == ["max_completion_tokens"]


def test_an_episode_is_over_while_the_server_still_holds_the_answer_back(store: TraceStore, settings: Settings) -> None:
    let_go, answered = threading.Event(), threading.Event()

    def late(handler: BaseHTTPRequestHandler) -> None:
        answered.set()
        says(calls("noop"))(handler)

    with ModelServer([says(calls("noop")), holds(let_go, late)]) as server:
        run = run_on(server)
        jobs.launch(store, settings, run)
        wait_for("the second question", lambda: len(server.requests) == 2)
        jobs.stop(store, run_id=run.id)
        (summary,) = wait_until_over(store, run.id)
        assert not answered.is_set()  # the server has not even begun to
        let_go.set()
    assert summary.status is EpisodeStatus.ABORTED and summary.stop_reason is StopReason.ABORTED
    assert summary.n_decisions == 2 and len(server.requests) == 2
    given_up = store.episodes.decision(summary.id, 1).model_call
    assert given_up is not None and given_up.error_kind == "stopped"


def test_a_budget_of_calls_ends_the_whole_run(store: TraceStore, settings: Settings) -> None:
    with ModelServer([says(calls("noop"))]) as server:
        run = run_on(server, seeds=(1, 2, 3), decisions=10, budget=Budget(max_calls=4))
        summaries = played(store, settings, run)
    assert 4 <= len(server.requests) <= 5  # two workers may both see the last call left
    assert StopReason.BUDGET in {summary.stop_reason for summary in summaries}
    assert not any(summary.status is EpisodeStatus.RUNNING for summary in summaries)


def test_without_its_key_an_episode_fails_with_the_name_of_the_variable(
    store: TraceStore, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY_NAME)
    with ModelServer([says(calls("noop"))]) as server:
        (summary,) = played(store, settings, run_on(server))
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


@pytest.mark.parametrize("reply", FAULTS, ids=["401", "403", "html", "no choices", "prose", "model name"])
def test_no_piece_of_a_key_is_kept_anywhere_however_a_call_fails(
    store: TraceStore, settings: Settings, reply: Reply
) -> None:
    with ModelServer([reply]) as server:
        (summary,) = played(store, settings, run_on(server, decisions=1))
        assert server.requests[0][1]["authorization"] == f"Bearer {KEY}"
    episode = store.episodes.load(summary.id)
    kept = repr(episode) + repr(summary) + episode_json(store, summary.id).decode()
    for path in settings.data_dir.rglob("*"):
        if path.is_file() and "craftscope.db" not in path.name:
            kept += path.read_text(errors="replace")
    _assert_clean(kept)
    store.close()  # only then may its files be read as plain ones
    _assert_clean("".join(path.read_bytes().decode("latin-1") for path in settings.data_dir.glob("craftscope.db*")))


def test_a_key_is_in_no_process_arguments(store: TraceStore, settings: Settings) -> None:
    with ModelServer([dribbles(60)]) as server:
        run = run_on(server)
        jobs.launch(store, settings, run)
        wait_for("the question", lambda: len(server.requests) == 1)
        arguments = [_read(path) for path in Path("/proc").glob("[0-9]*/cmdline")]
        jobs.stop(store, run_id=run.id)
        wait_until_over(store, run.id)
    assert any("core.worker" in line for line in arguments)
    _assert_clean("".join(arguments))


def _assert_clean(text: str) -> None:
    found = [KEY[at : at + 6] for at in range(len(KEY) - 5) if KEY[at : at + 6] in text]
    assert found == []


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("latin-1")
    except OSError:  # a process that has ended since
        return ""
