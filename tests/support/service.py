"""The HTTP service as a process on a free port of loopback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

import httpx2

from tests.support import ROOT
from tests.support.launches import PATIENCE_S
from tests.support.ports import free_port

KEY = "service-key-1"


class RunningService:
    """`python -m core.service` on a data folder. more: environment variables."""

    def __init__(self, data_dir: Path, **more: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.data_dir = data_dir
        environment = {
            **os.environ,
            "CRAFTSCOPE_DATA_DIR": str(data_dir),
            "CRAFTSCOPE_SERVICE_KEY": f"other-key,{KEY}",
            "CRAFTSCOPE_MAX_WORKERS": "2",
            **more,
        }
        command = [sys.executable, "-m", "core.service", "serve", "--port", str(self.port)]
        data_dir.mkdir(parents=True, exist_ok=True)
        self._log = (data_dir / "service.log").open("ab")
        self._process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=self._log, stderr=self._log)
        self.client = httpx2.Client(base_url=self.url, headers={"X-API-Key": KEY}, timeout=PATIENCE_S, trust_env=False)
        deadline = time.monotonic() + PATIENCE_S
        while not self._answers():
            assert self._process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.05)

    @property
    def process_id(self) -> int:
        return self._process.pid

    def _answers(self) -> bool:
        try:
            return self.client.get("/").status_code == 200
        except httpx2.TransportError:
            return False

    def log(self) -> str:
        return (self.data_dir / "service.log").read_text("utf-8")

    def post(self, path: str, body: Any, status: int = 200) -> Any:
        """The JSON of the answer, which must have that status."""
        answer = self.client.post(path, json=body)
        assert answer.status_code == status, answer.text
        return answer.json()

    def shut_down(self) -> int:
        """Ask the process to end as a process manager does; its exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(PATIENCE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.client.close()
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait(PATIENCE_S)
        self._log.close()
