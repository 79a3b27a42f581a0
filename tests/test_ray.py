"""A batch on a real Ray cluster of this machine. `make ray` installs Ray and runs this."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from core import replay
from core.store import TraceStore
from core.types import EpisodeStatus
from tests.support.launches import wait_for

pytestmark = pytest.mark.ray

ROOT = Path(__file__).parents[1]
PLAN = """
name: matrix
policies: [{name: scripted}, {name: random}, {name: farmer}]
rewards: [{strategy: consistent}, {strategy: per_achievement}]
seeds: 0-9
limits: {max_steps: 100}
env: {area: [32, 32]}
"""


def task_processes() -> list[int]:
    found = subprocess.run(["pgrep", "-f", "^ray::play_task"], capture_output=True, text=True, check=False).stdout
    return [int(line) for line in found.split()]


def test_a_matrix_survives_a_killed_worker(tmp_path: Path):
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN, encoding="utf-8")
    environment = {**os.environ, "CRAFTSCOPE_DATA_DIR": str(tmp_path / "data")}
    command = [sys.executable, "-m", "core.batch", str(plan), "--on", "ray", "--workers", "2"]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as batch:
        os.kill(wait_for("a task on a worker", task_processes)[0], signal.SIGKILL)
        said, _ = batch.communicate(timeout=600)
    assert batch.returncode == 0
    assert "60 completed" in said
    with TraceStore(f"sqlite:///{tmp_path / 'data' / 'craftscope.db'}") as store:
        rows = store.episodes.page(limit=100).rows
        assert len(rows) == 60
        assert all(row.status is EpisodeStatus.COMPLETED for row in rows)
        assert all(replay.check(store.episodes.load(row.id)).exact for row in rows[::10])
