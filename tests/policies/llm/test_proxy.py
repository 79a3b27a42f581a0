"""A company's proxy and certificates are used, except for loopback; the connection test names the route."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from core.policies.llm import LlmParams, run_connection_test
from core.policies.llm.client import Answer, OpenAIClient
from core.policies.llm.endpoint import endpoint_of
from tests.support.model.server import KEY, REQUEST, ModelServer, calls, dribbles, says

TLS = Path(__file__).parents[2] / "data" / "tls"


class Tunnel:
    """A proxy for HTTPS: it answers CONNECT and forwards bytes to `target`, whichever host was requested."""

    def __init__(self, target: str) -> None:
        self.asked: list[str] = []
        host, _, port = target.rpartition(":")
        self._target = host, int(port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://someone:password@127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += client.recv(1)
            self.asked.append(head.split(b"\r\n")[0].decode())
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            server = socket.create_connection(self._target)
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=_forward, args=(source, target), daemon=True).start()


def _forward(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65_536):
            target.sendall(data)
    except OSError:
        pass  # one side has closed
    for end in (source, target):
        end.close()


@pytest.fixture(autouse=True)
def _no_proxy_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer([says(calls("noop"))], tls=TLS) as server:
        yield server


@pytest.fixture
def tunnel(model: ModelServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tunnel]:
    with closing(Tunnel(model.host)) as tunnel:
        monkeypatch.setenv("HTTPS_PROXY", tunnel.url)
        monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "certificate.pem"))
        yield tunnel


def ask(url: str, **more: float) -> Answer:
    with closing(OpenAIClient(endpoint_of(url, KEY), retries=0)) as client:
        return client.complete(REQUEST, should_stop=lambda: False, **{"time_left_s": 30, **more})


def test_another_host_is_called_through_the_proxy_with_the_configured_certificates(tunnel: Tunnel, model: ModelServer):
    answer = ask("https://models.example/v1")
    assert answer.status == 200 and tunnel.asked == ["CONNECT models.example:443 HTTP/1.1"]
    assert model.requests[0][1]["authorization"] == f"Bearer {KEY}"


def test_unknown_certificates_are_not_trusted(tunnel: Tunnel, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("SSL_CERT_FILE")
    answer = ask("https://models.example/v1")
    assert answer.failure is not None and answer.failure.kind == "connection"
    assert "certificate" in answer.failure.detail.lower()


def test_a_call_in_a_tunnel_ends_with_its_time_limit(model: ModelServer, monkeypatch: pytest.MonkeyPatch):
    with ModelServer([dribbles(60)], tls=TLS) as slow, closing(Tunnel(slow.host)) as tunnel:
        monkeypatch.setenv("HTTPS_PROXY", tunnel.url)
        monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "certificate.pem"))
        answer = ask("https://models.example/v1", time_left_s=0.5)
        for thread in threading.enumerate():
            if thread.name == "model-call":
                thread.join(30)
                assert not thread.is_alive()
    assert answer.failure is not None and answer.failure.kind == "timeout"


def test_loopback_and_hosts_of_no_proxy_are_called_directly(tunnel: Tunnel, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NO_PROXY", ".example")
    with ModelServer([says(calls("noop"))]) as server:
        assert ask(server.url).status == 200
        assert ask(server.url.replace("127.0.0.1", "localhost")).status == 200
    answer = ask("https://models.example/v1")
    assert answer.failure is not None and answer.failure.kind == "connection"
    assert tunnel.asked == []


def test_http_uses_the_http_proxy(monkeypatch: pytest.MonkeyPatch):
    with ModelServer([says(calls("noop"))]) as proxy:
        monkeypatch.setenv("http_proxy", proxy.host)
        assert ask("http://models.example:8000").status == 200
        assert proxy.requests[0][0] == "http://models.example:8000/v1/chat/completions"


def test_the_connection_test_names_the_proxy_without_its_password(tunnel: Tunnel):
    test = run_connection_test(LlmParams(base_url="https://models.example/v1", model="m"))
    assert test.ok and "through the proxy 127.0.0.1:" in test.sentence
    assert "password" not in test.sentence and "someone" not in test.sentence


def test_a_missing_certificate_file_is_reported(tunnel: Tunnel, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/certificates.pem")
    test = run_connection_test(LlmParams(base_url="https://models.example/v1", model="m"))
    assert not test.reached and "SSL_CERT_FILE" in test.sentence
