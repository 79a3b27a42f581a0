"""Whole episodes with a real small model.

Only `make real-model` runs them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from core import replay
from core.env.rules import ACHIEVEMENTS, ACTIONS, ENGINE_VERSION, ITEMS
from core.evidence import ModelTotals, model_totals, sent_messages
from core.plan import LaunchPlan, make_run
from core.policies.llm import LlmParams
from core.policies.tools.errors import ADVICE
from core.settings import Settings, worker_environment
from core.store import EpisodeSummary, TraceStore
from core.types import Decision, EnvConfig, Episode, Limits, ModelCall, OnDone, PolicySpec, RewardConfig, Spent
from core.types import EpisodeStatus as Status
from core.types import StopReason as Reason
from tests.support.model.real_server import MODEL, NotInstalled, RealServer, model_file

pytestmark = pytest.mark.real_model

# A complete call of this model has about 50 tokens, so that this cuts many of them.
FEW_TOKENS = 64
MAX_CALL_S = 1_800  # for a call: the speed of the machine is not tested
KINDS = (*ADVICE, "bad_arguments", "unknown_action", "unknown_tool")


class Played(NamedTuple):
    """An episode read from the store, and what its run has spent."""

    summary: EpisodeSummary
    episode: Episode
    spent: Spent


@pytest.fixture(scope="module", autouse=True)
def _installed() -> None:
    """Fails if the real model is not installed; to skip would look like success."""
    problem = ""
    try:
        model_file()
    except NotInstalled as missing:
        problem = str(missing)
    if problem:  # outside of the handler, whose traceback would be shown
        pytest.fail(problem, pytrace=False)


@pytest.fixture(scope="module")
def server() -> Iterator[RealServer]:
    with RealServer.started() as server:
        yield server


@pytest.fixture(scope="module")
def played(server: RealServer, tmp_path_factory: pytest.TempPathFactory) -> Played:
    return play(server, tmp_path_factory.mktemp("played"), decisions=6, on_bad_call="noop")


def play(server: RealServer, folder: Path, *, decisions: int, **params: Any) -> Played:
    """One world, launched, played by a worker process and read from the store."""
    base = {"base_url": server.url, "model": MODEL, "max_tokens": FEW_TOKENS, "call_timeout_s": MAX_CALL_S}
    settings_of_model = LlmParams(**{**base, **params})
    plan = LaunchPlan(
        seeds=(42,),
        episodes_per_seed=1,
        policy=PolicySpec("llm", asdict(settings_of_model)),
        reward=RewardConfig(),
        limits=Limits(max_decisions=decisions),
        env=EnvConfig(),
        on_done=OnDone.TERMINATE,
        max_actions_per_call=5,
    )
    run = make_run(plan, engine_version=ENGINE_VERSION, achievements=ACHIEVEMENTS, items=ITEMS)
    settings = Settings(data_dir=folder, db_url=None, max_workers=1)
    with TraceStore.from_settings(settings) as store:
        store.runs.create(run)
        subprocess.run([sys.executable, "-m", "core.worker"], env=worker_environment(settings), check=True)
        (summary,) = store.runs.episodes(run.id).rows
        return Played(summary, store.episodes.load(summary.id), store.runs.spent(run.id))


def test_the_episode_ends_for_a_known_reason(played: Played):
    assert played.summary.status is Status.COMPLETED
    assert played.summary.stop_reason in (Reason.MAX_DECISIONS, Reason.TERMINATED)
    assert 1 <= played.summary.n_decisions <= 6
    assert played.episode.stop_reason is played.summary.stop_reason
    assert all(step.action in ACTIONS for step in played.episode.steps)


def test_every_call_is_recorded(played: Played, server: RealServer):
    for decision in played.episode.decisions:
        call = call_of(decision)
        answer = json.loads(call.response_text)
        assert (call.status, call.model) == (200, MODEL)
        assert server.url.endswith(call.provider)
        assert call.tokens_in == answer["usage"]["prompt_tokens"] > 0
        assert call.tokens_out == answer["usage"]["completion_tokens"] > 0
        assert call.finish_reason == answer["choices"][0]["finish_reason"]
        assert call.latency_ms is not None and call.latency_ms > 0
        assert len(call.attempts) == call.retries + 1 and call.attempts[-1].status == 200
        assert sent_messages(call.request)[-1].text.endswith(decision.observation)


def test_a_request_contains_the_earlier_decisions(played: Played):
    *earlier, last = played.episode.decisions
    messages = sent_messages(call_of(last).request)
    assert [message.role for message in messages].count("assistant") == len(earlier)
    # Not in the rules, nor in what the model writes itself.
    assert sum("Vitals" in message.text for message in messages[1:] if message.role != "assistant") == 1


def test_from_the_third_call_on_most_of_the_prompt_is_cached(played: Played):
    calls = [call_of(decision) for decision in played.episode.decisions[2:]]
    assert calls
    assert sum(call.tokens_cached or 0 for call in calls) > 0.8 * sum(call.tokens_in or 0 for call in calls)


def test_the_cost_of_a_model_without_a_price_is_unknown(played: Played):
    totals = totals_of(played.episode)
    calls = [call_of(decision) for decision in played.episode.decisions]
    assert all(call.cost_usd is None and call.price_version is None for call in calls)
    assert totals.cost_usd is None and totals.unpriced == totals.calls == len(calls)
    assert played.spent.calls == len(calls)
    assert played.spent.tokens == sum((call.tokens_in or 0) + (call.tokens_out or 0) for call in calls)


def test_the_episode_replays_exactly(played: Played):
    result = replay.check(played.episode)
    assert result.exact and result.frames == played.episode.length + 1


@pytest.mark.parametrize("reads_calls", [True, False], ids=["read by the server", "read by us"])
def test_calls_at_a_high_temperature_are_all_classified(reads_calls: bool, tmp_path: Path):
    with RealServer.started(reads_calls=reads_calls) as server:
        _, episode, _ = play(server, tmp_path, decisions=12, temperature=0.7, history=0, on_bad_call="noop")
    assert episode.decisions and episode.stop_reason in (Reason.MAX_DECISIONS, Reason.TERMINATED)
    for decision in episode.decisions:
        call = call_of(decision)
        assert decision.error is None and decision.actions
        if call.error_kind is None:
            assert any(each.actions for each in decision.tool_calls)
        else:
            assert call.error_kind in KINDS and call.error_detail
            assert decision.warning == call.error_kind and decision.actions == ("noop",)
    assert replay.check(episode).exact


def test_a_cut_answer_stops_the_episode(server: RealServer, tmp_path: Path):
    summary, episode, _ = play(server, tmp_path, decisions=3, max_tokens=4)
    assert summary.status is Status.FAILED and summary.n_decisions == 1
    assert summary.error is not None and summary.error.kind in ("truncated", "no_tool_call")
    assert call_of(episode.decisions[0]).error_kind == summary.error.kind
    assert episode.decisions[0].actions == () and replay.check(episode).exact


def test_retries_record_every_answer(server: RealServer, tmp_path: Path):
    _, episode, spent = play(server, tmp_path, decisions=1, max_tokens=4, on_bad_call="retry", ask_again=2)
    call = call_of(episode.decisions[0])
    assert len(call.all_calls) == spent.calls == 3
    assert all(each.error_kind in KINDS and each.response_text for each in call.all_calls)


def test_a_prompt_beyond_the_context_is_a_context_overflow(server: RealServer, tmp_path: Path):
    too_much = "These are the rules of the game. " * 2_000
    summary, episode, _ = play(server, tmp_path, decisions=1, system_prompt=too_much)
    assert summary.status is Status.FAILED and summary.error is not None
    assert summary.error.kind == "context_overflow"
    assert call_of(episode.decisions[0]).status == 400


def call_of(decision: Decision) -> ModelCall:
    assert decision.model_call is not None
    return decision.model_call


def totals_of(episode: Episode) -> ModelTotals:
    totals = model_totals(episode.decisions)
    assert totals is not None
    return totals
