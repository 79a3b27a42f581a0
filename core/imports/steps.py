"""Decisions of recordings that hold steps but no policy's calls."""

from __future__ import annotations

from collections.abc import Sequence

from core.types import Decision, RewardBreakdown, StateRecord, Step, Timing

ENGINE: str = "crafter, not simulated here"


def decisions_of(
    initial: StateRecord, groups: Sequence[Sequence[Step]], warning: str | None = None
) -> tuple[Decision, ...]:
    """A decision for each group of steps. They have no reward yet: the Lab gives them one."""
    found: list[Decision] = []
    before = initial.facts
    seen = {name for name, unlocked in before.achievements.items() if unlocked}
    for index, steps in enumerate(groups):
        after = steps[-1].state.facts
        unlocked = tuple(n for n, got in after.achievements.items() if got and not before.achievements.get(n, False))
        found.append(
            Decision(
                index=index,
                observation="",
                tool_calls=(),
                steps=tuple(steps),
                not_executed=(),
                before=before,
                reward=RewardBreakdown("consistent", 1.0),
                unlocked=unlocked,
                unique_unlocked=tuple(name for name in unlocked if name not in seen),
                timing=Timing(0.0, 0.0, ((0.0, 0.0),) * len(steps), 0.0),
                warning=warning,
            )
        )
        seen.update(unlocked)
        before = after
    return tuple(found)
