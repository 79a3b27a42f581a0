"""Rollouts over HTTP: answered, refused, aborted, and interrupted at a shutdown."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from core.settings import Settings
from core.store import TraceStore
from core.store.database import sqlite_url
from core.types import EpisodeStatus, RunSource
from tests.requests.test_request import a_request, changed_request, names_its_path
from tests.support.launches import kill_workers, wait_for, wait_until_moving, wait_until_over
from tests.support.model.server import ModelServer, calls, says
from tests.support.service import ROOT, RunningService

ENDLESS = {"policy": {"policy_name": "random", "config": {"max_llm_calls": 10**8}}, "env": {"seed": 4}}


def store_of(service: RunningService) -> closing[TraceStore]:
    return closing(TraceStore(sqlite_url(service.data_dir)))


def slow(handler: BaseHTTPRequestHandler) -> None:
    time.sleep(0.2)
    says(calls("noop"))(handler)


def test_two_hundred_changed_requests_are_played_or_refused_with_a_path(service: RunningService):
    with ModelServer([says(calls("move_left"))]) as model:
        for seed in range(200):
            given = changed_request(seed, inference_url=model.url, max_llm_calls=2)
            answer = service.client.post("/rollout", json=given)
            if answer.status_code == 200:
                assert answer.json()["run_id"]
            else:
                assert answer.status_code in (409, 422), (seed, answer.text)
                assert answer.status_code == 409 or names_its_path(answer.json()["detail"], given), answer.text


def test_a_rollout_is_played_stored_and_answered(service: RunningService):
    with ModelServer([says(calls("move_left", "do"))]) as model:
        request = a_request(
            run_id="rollout-1",
            config={
                "inference_url": model.url,
                "max_llm_calls": 3,
                "trace_correlation_id": "corr-1",
                "step_rewards": {"enabled": True, "mode": "decision_stepwise"},
                "api_key": "sk-never",
            },
            mode="rl",
            training_session_id="session-1",
            record={"return_trace": True},
        )
        answer = service.post("/rollout", request)
    assert "sk-never" not in str(model.requests)
    (trajectory,) = answer["trajectories"]
    assert (trajectory["length"], answer["ops_executed"], answer["aborted"]) == (3, 6, False)
    assert trajectory["inference_url"] == f"{model.url}?cid=corr-1"
    assert trajectory["steps"][0]["tool_calls"][0]["args"]["actions"] == ["move_left", "do"]
    assert answer["trace"]["session_id"] == answer["trace_correlation_id"] == "corr-1"
    assert any("policy.config.api_key" in warning for warning in answer["pipeline_metadata"]["warnings"])
    status = service.client.get("/run/status/rollout-1").json()
    assert status["status"] == "completed" and status["started_at"] < status["finished_at"]
    with store_of(service) as store:
        run = store.runs.get("rollout-1")
        assert (run.source, run.mode, run.training_session_id) == (RunSource.SERVICE, "rl", "session-1")
        assert "sk-never" not in json.dumps(run.config)


def test_a_run_id_is_used_once(service: RunningService):
    request = {"run_id": "rollout/2", "policy": {"policy_name": "random", "config": {"max_llm_calls": 1}}}
    service.post("/rollout", request)
    assert "rollout/2" in service.post("/rollout", request, 409)["detail"]
    assert service.client.get("/run/status/rollout/2").json()["status"] == "completed"


def test_what_is_wrong_is_answered_with_its_path(service: RunningService):
    answer = service.post("/rollout", {"run_id": "rollout-3", "policy": {"config": {"max_tokens": "x"}}}, 422)
    assert answer["detail"].startswith("policy.config.max_tokens: ")
    assert service.client.get("/run/status/rollout-3").status_code == 404


def test_a_failure_is_an_error_or_an_answer(service: RunningService):
    replies = [says(calls("noop")), says({"error": {"message": "No such model."}}, status=404)]
    for mode, on_error, status in (("eval", "", 200), ("eval", "raise", 500), ("rl", "", 500), ("rl", "record", 200)):
        with ModelServer(replies) as model:
            config = {"inference_url": model.url, "trace_correlation_id": "c"}
            request = a_request(run_id=f"fails-{mode}-{on_error}", mode=mode, config=config)
            answer = service.post(f"/rollout{f'?on_error={on_error}' if on_error else ''}", request, status)
        if status == 200:
            assert answer["trajectories"][0]["final"]["rollout_status"] == "partial_policy_error"
        else:
            assert answer["kind"] == "policy_error"


def test_a_rollout_without_a_step_is_an_error(service: RunningService):
    with ModelServer([says({"error": {"message": "No such model."}}, status=404)]) as model:
        answer = service.post("/rollout", a_request(run_id="no-step", config={"inference_url": model.url}), 500)
    assert answer["kind"] == "no_steps_executed"


def test_a_client_that_disconnects_does_not_stop_its_rollout(service: RunningService):
    with ModelServer([slow]) as model, closing(socket.create_connection(("127.0.0.1", service.port))) as client:
        config = {"inference_url": model.url, "max_llm_calls": 4}
        body = json.dumps(a_request(run_id="left", config=config)).encode()
        head = (
            f"POST /rollout HTTP/1.1\r\nHost: localhost\r\nX-API-Key: other-key\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        client.sendall(head.encode() + body)
        wait_for("the first request to the model", lambda: model.requests)
        client.close()
        with store_of(service) as store:
            (episode,) = wait_until_over(store, "left")
    assert (episode.status, episode.n_decisions) == (EpisodeStatus.COMPLETED, 4)


def test_a_rollout_can_be_aborted(service: RunningService):
    with ThreadPoolExecutor() as pool, store_of(service) as store:
        waiting = pool.submit(service.post, "/rollout", {"run_id": "aborted", "on_done": "reset", **ENDLESS})
        (run,) = wait_for("the run", lambda: [run for run in store.runs.newest(1).rows if run.id == "aborted"])
        wait_until_moving(store, store.runs.episodes(run.id).rows[0].id)
        assert "in progress" in service.post("/rollout", {"run_id": "aborted", **ENDLESS}, 409)["detail"]
        assert service.post("/run/abort", {"run_id": "aborted"}) == {"ok": True, "run_id": "aborted"}
        answer = waiting.result()
    assert answer["aborted"] and answer["trajectories"][0]["steps"]
    service.post("/run/abort", {"run_id": "never"}, 404)


def test_more_rollouts_than_allowed_are_asked_to_wait_and_a_shutdown_ends_all(tmp_path: Path):
    with RunningService(tmp_path, CRAFTSCOPE_SERVICE_MAX_ROLLOUTS="8", CRAFTER_AREA="24,24") as service:
        with ThreadPoolExecutor(8) as pool, store_of(service) as store:

            def play(number: int) -> int:
                request = {"run_id": f"run-{number}", "on_done": "reset", **ENDLESS}
                return service.client.post("/rollout", json=request).status_code

            playing = [pool.submit(play, number) for number in range(8)]
            wait_for("eight runs", lambda: len(store.runs.newest(9).rows) == 8)
            refused = service.client.post("/rollout", json={"run_id": "too-many", **ENDLESS})
            assert refused.status_code == 429 and refused.headers["Retry-After"]
            wait_for("two to move", lambda: sum(e.n_decisions > 5 for e in store.episodes.page().rows) >= 2)
            assert service.shut_down() == 0
            statuses = [each.result() for each in playing]
            assert set(statuses) <= {200, 500}
            episodes = store.episodes.page().rows
            assert len(episodes) >= 8
            assert all(episode.status is EpisodeStatus.INTERRUPTED for episode in episodes if not episode.n_decisions)
            assert all(episode.status.is_over for episode in episodes)
            for run in store.runs.newest(9).rows:
                *_, last = store.runs.episodes(run.id).rows
                assert last.status is EpisodeStatus.INTERRUPTED
            for episode in episodes:
                assert len(store.episodes.load(episode.id).decisions) == episode.n_decisions
    kill_workers(Settings(data_dir=tmp_path, db_url=None, max_workers=2))


def run_command(data_dir: Path, *arguments: str, body: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "CRAFTSCOPE_DATA_DIR": str(data_dir), "CRAFTSCOPE_MAX_WORKERS": "1"}
    command = [sys.executable, "-m", "core.service", "rollout", "-", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment, input=json.dumps(body), capture_output=True, text=True, timeout=120
    )


def test_one_request_is_answered_without_a_server(tmp_path: Path):
    request = {"run_id": "file-1", "policy": {"policy_name": "random", "config": {"max_llm_calls": 2}}, "extra": 1}
    done = run_command(tmp_path, body=request)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["trajectories"][0]["length"] == 2
    assert "1 unknown field (extra): stored with the run" in done.stderr
    again = run_command(tmp_path, body=request)
    assert again.returncode == 2 and "file-1" in again.stderr and not again.stdout
