"""States for tests that look at facts only."""

from __future__ import annotations

from core.types import Scene, StateFacts, StateRecord


def state_with(facts: StateFacts) -> StateRecord:
    """A state of those facts, in a world of one cell."""
    scene = Scene(step=0, grid=(1, 1), materials=(2,), sprites=(), inventory=dict(facts.inventory), sleeping=False)
    return StateRecord(facts, scene, "", "")
