"""The examples with the real trainers; `make trainers` installs them."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from core.store import EpisodeFilter, TraceStore
from core.store.database import sqlite_url
from core.types import RunSource
from tests.support import ROOT
from tests.support.service import RunningService

pytestmark = pytest.mark.trainers


def run(python: str, script: str, *arguments: str, **more: str) -> str:
    command = [os.environ[python], str(ROOT / "examples" / script), *arguments]
    done = subprocess.run(command, env={**os.environ, **more}, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_tool_is_called_in_a_step_of_trl():
    printed = run("TRAINERS_PYTHON", "trl_grpo.py")
    frequency = re.search(r"'tools/call_frequency': ([\d.]+)", printed)
    assert frequency is not None and float(frequency[1]) > 0


def test_the_episodes_of_a_ppo_are_stored_with_its_values(tmp_path: Path):
    run("TRAINERS_PYTHON", "sb3_ppo.py", "1500", CRAFTSCOPE_DATA_DIR=str(tmp_path))
    with TraceStore(sqlite_url(tmp_path)) as store:
        rows = store.episodes.page(EpisodeFilter(sources=(RunSource.RECORDED,))).rows
        assert rows
        decisions = store.episodes.load(rows[-1].id).decisions
        assert any(decision.value is not None and decision.logprob is not None for decision in decisions)


def test_verifiers_plays_the_seeds_of_its_taskset(tmp_path: Path):
    with RunningService(tmp_path) as service:
        printed = run("VERIFIERS_PYTHON", "verifiers_crafter.py", "--service", service.url)
    assert printed.count("'ok': True") == 2 and "openenv_reward" in printed
