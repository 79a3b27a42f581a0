"""A running dashboard with a port and a data folder of its own, stopped at the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support import ROOT
from tests.support.ports import free_port

_START_TIMEOUT_S = 60.0
_STOP_TIMEOUT_S = 10.0


class Dashboard:
    """`with Dashboard(data_dir) as dashboard: page.goto(dashboard.url + "/traces")`.

    app: the script that Streamlit runs, relative to the repository. options: more of the command's.
    Its output goes to `log`, in the data folder.
    Leaving stops the server and every worker that it started, also when the test failed.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        app: str = "app.py",
        address: str = "127.0.0.1",
        options: Sequence[str] = (),
        environment: dict[str, str] | None = None,
    ) -> None:
        self.data_dir = data_dir
        self.app = app
        self.log = data_dir / "streamlit.log"
        self.address = address
        self._options = options
        self._environment = environment or {}
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it listens, without a slash at the end."""
        return f"http://{self.address}:{self.port}"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None):
        self.stop()

    def start(self) -> None:
        """Start it and wait until it answers; on the same port and data after a `stop`."""
        self.data_dir.mkdir(parents=True, exist_ok=True)
        environment = os.environ | {
            "CRAFTSCOPE_DATA_DIR": str(self.data_dir),
            "PYTHONPATH": str(ROOT),
            **self._environment,
        }
        command = [sys.executable, "-m", "streamlit", "run", str(ROOT / self.app), f"--server.port={self.port}"]
        command += [f"--server.address={self.address}", "--server.headless=true", *self._options]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        try:
            self._wait_until_healthy(self._process)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the server, then whatever it left running on this data folder."""
        if self._process is not None:
            _stop(self._process)
            self._process = None
        for pid in _processes_on(self.data_dir):
            _signal(pid, signal.SIGKILL)

    def output(self) -> str:
        """What the server has written so far."""
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""

    def _wait_until_healthy(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise RuntimeError(f"Streamlit ended with {process.returncode} at its start:\n{self.output()}")
            if _answers(f"{self.url}/_stcore/health"):
                return
            time.sleep(0.1)
        raise RuntimeError(f"Streamlit did not answer within {_START_TIMEOUT_S:.0f} s:\n{self.output()}")


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as response:
            return response.status == 200
    except (urllib.error.URLError, OSError):
        return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _processes_on(data_dir: Path) -> list[int]:
    """Processes that were given this data folder: workers live in their own session and outlast the server.

    Only where there is a /proc; elsewhere a worker ends by itself once its queue is empty.
    """
    mark = f"CRAFTSCOPE_DATA_DIR={data_dir}".encode()
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            settings = (folder / "environ").read_bytes().split(b"\0")
        except OSError:  # has ended, or belongs to another user
            continue
        if mark in settings and int(folder.name) != os.getpid():
            found.append(int(folder.name))
    return found


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
