"""Episodes for the player, made of single steps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from core.types import (
    Decision,
    Episode,
    EpisodeError,
    EpisodeSpec,
    PolicySpec,
    RewardBreakdown,
    RewardComponent,
    StateFacts,
    Step,
    Timing,
    ToolCall,
)
from tests.support.records import state_with

NO_FACTS = StateFacts({}, {}, {})


def step_of(index: int, action: str, env_reward: float = 0.0, facts: StateFacts = NO_FACTS) -> Step:
    """facts: after the step."""
    return Step(index, action, env_reward, False, False, state_with(facts))


def decision_of(steps: Sequence[Step], reward: float = 0.0, reasoning: str = "", error: str = "") -> Decision:
    return Decision(
        index=0,
        observation="",
        tool_calls=(ToolCall("interact", "{}", reasoning=reasoning),),
        steps=tuple(steps),
        not_executed=(),
        before=NO_FACTS,
        reward=RewardBreakdown("made_up", 1.0, (RewardComponent("bonus", "made_up", 1.0, reward, reward),)),
        unlocked=(),
        unique_unlocked=(),
        timing=Timing(0.0, 0.0, (), 0.0),
        error=EpisodeError("unknown_action", error) if error else None,
    )


def episode_of(*decisions: Decision) -> Episode:
    spec = EpisodeSpec(42, PolicySpec("random"), 1)
    return Episode("player", "run", spec, state_with(NO_FACTS), decisions, datetime(2026, 3, 1, tzinfo=UTC))
