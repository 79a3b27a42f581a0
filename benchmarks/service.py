"""The HTTP service: idle memory, rollouts with a model on loopback that answers at once, OpenEnv steps.

A rollout has 20 decisions; the first one starts a worker, those after it find one that waits. Goals: an OpenEnv step
under 2 ms, the idle service under 150 MB. Medians of this run.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from openenv.core import GenericEnvClient

from core.settings import Settings
from tests.support.launches import kill_workers
from tests.support.model.server import ModelServer, calls, says
from tests.support.service import RunningService

ROLLOUTS = 10
STEPS = 300


def resident_mb(process_id: int) -> float:
    status = Path(f"/proc/{process_id}/status").read_text("utf-8")
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))) / 1024


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        data_dir = Path(folder)
        with RunningService(data_dir) as service, ModelServer([says(calls("noop", "move_left"))]) as model:
            print(f"idle service: {resident_mb(service.process_id):.0f} MB (goal: under 150)")
            config = {"model": "tiny", "inference_url": model.url, "max_llm_calls": 20}
            seconds: list[float] = []
            for number in range(ROLLOUTS + 1):
                request: dict[str, Any] = {
                    "run_id": f"r{number}",
                    "env": {"seed": number},
                    "policy": {"config": config},
                }
                began = time.perf_counter()
                answer = service.post("/rollout", request)
                seconds.append(time.perf_counter() - began)
                assert answer["metrics"]["num_steps"] == 20
            print(f"rollout of 20 decisions over HTTP: first {seconds[0]:.2f} s, then {median(seconds[1:]):.0f} ms")
            with GenericEnvClient(base_url=f"{service.url}/openenv").sync() as client:
                client.reset(seed=1)
                times: list[float] = []
                for _ in range(STEPS):
                    began = time.perf_counter()
                    found = client.step({"actions": ["noop"]})
                    times.append(time.perf_counter() - began)
                    if found.done:
                        client.reset()
            print(f"OpenEnv step over a websocket: {median(times):.2f} ms (goal: under 2)")
        kill_workers(Settings(data_dir=data_dir, db_url=None, max_workers=2))


def median(seconds: list[float]) -> float:
    """In milliseconds."""
    return statistics.median(seconds) * 1000


if __name__ == "__main__":
    main()
