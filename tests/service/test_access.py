"""Who may call the service, and what it refuses before any route."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.launches import wait_for
from tests.support.model.server import ModelServer, calls, holds, says
from tests.support.service import KEY, RunningService


def test_root_needs_no_key_and_the_rest_does(service: RunningService):
    for method in ("GET", "HEAD"):
        assert service.client.request(method, "/", headers={"X-API-Key": ""}).status_code == 200
    assert service.client.get("/").json() == {"status": "ok", "service": "grpo-crafter-task-app"}
    for path in ("/health", "/info", "/task_info", "/run/status/x", "/nowhere"):
        assert service.client.get(path, headers={"X-API-Key": ""}).status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"X-API-Key": KEY}, 200),
        ({"X-API-Key": "", "x-api-keys": f"wrong, {KEY}"}, 200),
        ({"X-API-Key": "", "Authorization": f"bearer {KEY}"}, 200),
        ({"X-API-Key": "other-key"}, 200),
        ({"X-API-Key": KEY[:-1]}, 401),
        ({"X-API-Key": KEY.upper()}, 401),
        ({"X-API-Key": "", "Authorization": f"Basic {KEY}"}, 401),
        ({"X-API-Key": "Schlüssel".encode()}, 401),
    ],
)
def test_any_of_the_keys_is_accepted_in_any_of_the_places(
    service: RunningService, headers: dict[str, str], status: int
):
    answer = service.client.get("/health", headers=headers)
    assert answer.status_code == status
    assert KEY not in answer.text


def test_openenv_behind_a_public_name_needs_its_token_which_no_log_shows(tmp_path: Path):
    names = {"CRAFTSCOPE_SERVICE_HOSTS": "Public.Example", "CRAFTSCOPE_SERVICE_OPENENV_TOKEN": "tok-secret"}
    with RunningService(tmp_path, **names) as service:
        assert service.client.get("/", headers={"Host": "public.example"}).status_code == 200
        assert service.client.get("/openenv/health").status_code == 404
        assert service.client.get("/openenv/tok-secret/health").status_code == 200
        assert "tok-secret" not in service.log()


@pytest.mark.parametrize("path", ["/", "/health", "/openapi.json", "/openenv/health"])
@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Host": ""}, {"Origin": "http://evil.example"}])
def test_other_hosts_and_web_pages_of_other_sites_are_refused(
    service: RunningService, path: str, headers: dict[str, str]
):
    assert service.client.get(path, headers=headers).status_code == 403


@pytest.mark.parametrize("host", ["localhost:8001", "127.0.0.1", "[::1]:8001", "LOCALHOST"])
def test_loopback_has_several_names(service: RunningService, host: str):
    assert service.client.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b" " * 2_000_001, 413, "larger than 2,000,000 bytes"),
        (b"[" * 10_000 + b"]" * 10_000, 422, ""),
        (b'{"run_id": NaN}', 422, "not JSON"),
        (b'{"run_id": "x"', 422, "not JSON"),
        (b"\xff\xfe", 422, "not JSON"),
        (b'{"a":' * 200 + b"1" + b"}" * 200, 422, "100 levels"),
    ],
)
def test_bodies_that_are_too_large_too_deep_or_no_json_are_refused(
    service: RunningService, body: bytes, status: int, message: str
):
    for path in ("/rollout", "/env/create"):
        answer = service.client.post(path, content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code == status
        assert message in answer.json()["detail"]


def test_without_a_key_the_service_says_that_none_is_configured(tmp_path: Path):
    settings = {"CRAFTSCOPE_SERVICE_HOSTS": "crafter.example", "CRAFTSCOPE_SERVICE_ORIGINS": "https://ok.example"}
    with RunningService(tmp_path, CRAFTSCOPE_SERVICE_KEY="", **settings) as service:
        assert service.client.get("/health").status_code == 503
        assert service.client.get("/", headers={"Host": "crafter.example"}).status_code == 200
        assert service.client.get("/", headers={"Origin": "https://ok.example"}).status_code == 200
        assert service.shut_down() == 0
        assert "CRAFTSCOPE_SERVICE_KEY is not set" in service.log()


def test_half_a_body_is_not_played(service: RunningService):
    body = b'{"run_id": "half", "policy": {"policy_name": "random"}}'
    head = f"POST /rollout HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {KEY}\r\nContent-Length: {len(body) + 500}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.sendall(head.encode() + body)
    assert service.client.get("/health").status_code == 200
    assert service.client.get("/run/status/half").status_code == 404


def test_calls_that_wait_for_a_model_leave_the_other_routes_free(tmp_path: Path):
    until = threading.Event()
    with (
        ModelServer([holds(until, says(calls("noop")))]) as model,
        RunningService(tmp_path) as service,
        ThreadPoolExecutor(50) as pool,
    ):
        env_id = service.post("/env/create", {"seed": 1})["env_id"]
        given = {"config": {"model": "tiny", "inference_url": model.url}, "bound_env_id": env_id}
        policies = [service.post("/policy/create", given)["policy_id"] for _ in range(45)]
        waiting = [pool.submit(service.post, "/policy/step", {"policy_id": each}) for each in policies]
        wait_for("45 calls", lambda: len(model.requests) == 45 or None)
        assert service.client.get("/health", timeout=10).status_code == 200
        assert service.post("/env/create", {"seed": 2})["step_idx"] == 0
        until.set()
        assert all(each.result()["tool_calls"] for each in waiting)
