"""Who may open the dashboard: a real server, asked under several names."""

from __future__ import annotations

import socket
from pathlib import Path

from tests.support.browser.dashboard import Dashboard


def handshake(dashboard: Dashboard, host: str, origin: str | None = None) -> int:
    """The status that a websocket's first request is answered with; 101 opens it."""
    lines = [
        "GET /_stcore/stream HTTP/1.1",
        f"Host: {host}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        *([] if origin is None else [f"Origin: {origin}"]),
    ]
    with socket.create_connection((dashboard.address, dashboard.port), timeout=30) as connection:
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        return int(connection.makefile("rb").readline().split()[1])


def statuses(dashboard: Dashboard, *hosts: str) -> list[int]:
    """With the port that a browser adds, and the origin of a page that was opened under the same name."""
    port = dashboard.port
    return [handshake(dashboard, f"{host}:{port}", f"http://{host}:{port}") for host in hosts]


def test_only_this_machines_names_open_the_dashboard(tmp_path: Path):
    with Dashboard(tmp_path) as dashboard:
        assert statuses(dashboard, "localhost", "127.0.0.1", "[::1]", "LOCALHOST") == [101] * 4
        others = ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "192.168.7.7", "0.0.0.0", "[::2]")
        assert statuses(dashboard, *others) == [403] * len(others)
        assert handshake(dashboard, "127.0.0.1", "http://evil.example") == 403
        assert handshake(dashboard, "evil.example") == 403
        assert handshake(dashboard, "user@127.0.0.1") == 403
        assert "no login" not in dashboard.output()


def test_a_server_for_others_opens_under_its_address_and_added_names_and_logs_that_it_has_no_login(tmp_path: Path):
    options = ("--server.allowedHosts=lab.example", "--browser.serverAddress=our.example")
    with Dashboard(tmp_path, address="0.0.0.0", options=options) as dashboard:
        assert statuses(dashboard, "0.0.0.0", "lab.example", "our.example", "localhost", "[::1]") == [101] * 5
        assert statuses(dashboard, "evil.example", "192.168.7.7") == [403, 403]
        output = dashboard.output()
    assert "Craftscope listens on 0.0.0.0 and has no login" in output
    assert "st.login or a proxy" in output and "--server.allowedHosts" in output


def test_the_configured_address_opens(tmp_path: Path):
    with Dashboard(tmp_path, address="127.0.0.2") as dashboard:
        assert statuses(dashboard, "127.0.0.2", "localhost") == [101, 101]
        assert "no login" not in dashboard.output()
