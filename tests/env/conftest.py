"""Environments in a world that is made once and restored from its snapshot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.env import CrafterEnv
from core.env.snapshot import pack_snapshot
from core.types import EnvConfig
from tests.support.worlds import Change, EnvMaker, first_state


@pytest.fixture
def env_at() -> EnvMaker:
    """Makes environments in the first world of SEED; `step` moves the clock, `change` anything else."""

    def make(step: int = 0, change: Change | None = None, **arguments: Any) -> CrafterEnv:
        state = replace(first_state(), step=step)
        env = CrafterEnv(**arguments)
        env.restore(pack_snapshot(change(state) if change else state, EnvConfig()))
        return env

    return make
