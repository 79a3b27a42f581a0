"""Worlds to start from. Making one takes a second or two, so each is made once and restored from its snapshot."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from core.env import CrafterEnv
from core.env.snapshot import pack_snapshot, unpack_snapshot
from core.env.state import WorldState
from core.types import EnvConfig

SEED = 42

Change = Callable[[WorldState], WorldState]
EnvMaker = Callable[..., CrafterEnv]


@functools.cache
def first_snapshot() -> bytes:
    """The first world of SEED after reset."""
    env = CrafterEnv()
    env.reset(seed=SEED)
    return env.snapshot()


def first_state() -> WorldState:
    """The same, as values."""
    return unpack_snapshot(first_snapshot(), EnvConfig())


@pytest.fixture
def env_at() -> EnvMaker:
    """Makes environments in the first world of SEED; `step` moves the clock, `change` anything else."""

    def make(step: int = 0, change: Change | None = None, **arguments: Any) -> CrafterEnv:
        state = replace(first_state(), step=step)
        env = CrafterEnv(**arguments)
        env.restore(pack_snapshot(change(state) if change else state, EnvConfig()))
        return env

    return make
