"""A PostgreSQL server for tests: a fresh cluster on loopback, on a free port, gone when the tests end."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.support.ports import free_port

PASSWORD = "correct-horse"
_START_S = 60.0


def missing_programs() -> list[str]:
    """Those of the server's programs that are not installed."""
    return [name for name in ("initdb", "postgres") if _program(name) is None]


@dataclass(frozen=True)
class PostgresServer:
    """A server that runs."""

    port: int

    @property
    def url(self) -> str:
        """The URL of its database."""
        return f"postgresql://tester:{PASSWORD}@127.0.0.1:{self.port}/postgres"

    @classmethod
    @contextmanager
    def started(cls) -> Iterator[PostgresServer]:
        """A new server, stopped in the end."""
        user = _unprivileged_user()
        folder = Path(tempfile.mkdtemp(prefix="craftscope-postgres-"))
        if user:
            shutil.chown(folder, user)
        try:
            _make_cluster(folder, user)
            port = free_port()
            with (folder / "server.log").open("wb") as log:
                process = subprocess.Popen(_command(folder, port), stdout=log, stderr=log, user=user)
            server = cls(port)
            try:
                _wait_until_ready(server, process, folder / "server.log")
                yield server
            finally:
                process.send_signal(signal.SIGQUIT)  # at once: nothing of it is needed any more
                process.wait(timeout=_START_S)
        finally:
            shutil.rmtree(folder)


def _program(name: str) -> str | None:
    """Debian installs the server's programs outside of PATH."""
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(versions[-1]) if versions else None)


def _unprivileged_user() -> str | None:
    """PostgreSQL does not run as root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _make_cluster(folder: Path, user: str | None) -> None:
    password_file = folder / "password"
    password_file.write_text(PASSWORD, encoding="utf-8")
    password_file.chmod(0o644)
    program = str(_program("initdb"))
    options = ["-U", "tester", "-A", "scram-sha-256", f"--pwfile={password_file}", "-E", "UTF8", "--no-sync"]
    subprocess.run([program, "-D", str(folder / "data"), *options], check=True, capture_output=True, user=user)


def _command(folder: Path, port: int) -> list[str]:
    settings = {"listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": "", "fsync": "off"}
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    return [str(_program("postgres")), "-D", str(folder / "data"), *options]


def _wait_until_ready(server: PostgresServer, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while True:
        try:
            psycopg.connect(server.url).close()
            return
        except psycopg.OperationalError as error:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(log.read_text(encoding="utf-8", errors="replace")) from error
            time.sleep(0.1)
