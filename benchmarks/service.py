"""The HTTP service: idle memory, rollouts with a model on loopback that answers at once, OpenEnv steps.

A rollout has 20 decisions; the first one starts a worker, those after it find one that waits. With --against URL
another service is asked the same, such as synth-ai's own task app (goal: 5 times as fast as it). Goals: an OpenEnv step
under 2 ms, the idle service under 150 MB. Medians of this run.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2
from openenv.core import GenericEnvClient

from core.settings import Settings
from tests.support.launches import kill_workers
from tests.support.model.server import ModelServer, calls, says
from tests.support.service import KEY, RunningService

ROLLOUTS = 10
DECISIONS = 20
STEPS = 300


def resident_mb(process_id: int) -> float:
    status = Path(f"/proc/{process_id}/status").read_text("utf-8")
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))) / 1024


def rollouts(url: str, key: str, model_url: str) -> list[float]:
    """Seconds of each of `ROLLOUTS` rollouts after a first one, which is the first entry."""
    config = {"model": "tiny", "inference_url": model_url, "max_llm_calls": DECISIONS}
    seconds: list[float] = []
    with httpx2.Client(base_url=url, headers={"X-API-Key": key}, timeout=120, trust_env=False) as client:
        for number in range(ROLLOUTS + 1):
            request: dict[str, Any] = {
                "run_id": f"r{number}",
                "mode": "eval",
                "env": {"env_name": "crafter", "seed": number},
                "policy": {
                    "policy_name": "crafter-react",
                    "config": {**config, "trace_correlation_id": f"trace-{number}"},
                },
                "ops": ["agent", "env"] * DECISIONS,
                "record": {"return_trace": True},
                "on_done": "terminate",
            }
            began = time.perf_counter()
            answer = client.post("/rollout", json=request).raise_for_status()
            seconds.append(time.perf_counter() - began)
            assert answer.json()["metrics"]["num_steps"] == DECISIONS
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", metavar="URL", help="another service with the same routes")
    parser.add_argument("--key", default="", help="its API key")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data_dir = Path(folder)
        with RunningService(data_dir) as service, ModelServer([says(calls("noop", "move_left"))]) as model:
            print(f"idle service: {resident_mb(service.process_id):.0f} MB (goal: under 150)")
            seconds = rollouts(service.url, KEY, model.url)
            print(f"rollout of 20 decisions over HTTP: first {seconds[0]:.2f} s, then {median(seconds[1:]):.0f} ms")
            if given.against:
                others = rollouts(given.against, given.key, model.url)
                ratio = median(others[1:]) / median(seconds[1:])
                print(f"the same of {given.against}: {median(others[1:]):.0f} ms, {ratio:.1f} times ours (goal: 5)")
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
