"""Where the reader of an episode stands: a frame of the player and the decision that the panels explain.

Frame 0 is the world after reset, frame k the world after step k - 1 (see `pages.components.player`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from core.store import DecisionSummary


@dataclass(frozen=True, slots=True)
class Cursor:
    """A frame, and the index of the decision shown with it; None where the episode has no decision."""

    frame: int
    decision: int | None

    @property
    def step(self) -> int | None:
        """The step that led to this frame; None after reset."""
        return self.frame - 1 if self.frame else None


def decision_at_frame(decisions: Sequence[DecisionSummary], frame: int) -> int | None:
    """The decision whose step led to the frame; for the world after reset, the first decision, which is about to act.

    A decision that took no step has no frame of its own and is never the answer, unless there is no other.
    """
    if not decisions:
        return None
    if frame <= 0:
        return 0
    return max(0, bisect_right(decisions, frame - 1, key=lambda decision: decision.step_start) - 1)


def frame_of_decision(decision: DecisionSummary) -> int:
    """The first frame that the decision led to; the one it was asked in, where it took no step."""
    return decision.step_start + 1 if decision.step_end > decision.step_start else decision.step_start


def cursor_at(decisions: Sequence[DecisionSummary], frame: int, picked: Cursor | None = None) -> Cursor:
    """The cursor at a frame. `picked` is what the reader chose last: it stands for as long as the frame does, which
    is how a decision without a step of its own can be looked at."""
    if picked is not None and picked.frame == frame and picked.decision is not None:
        return Cursor(frame, min(picked.decision, len(decisions) - 1) if decisions else None)
    return Cursor(frame, decision_at_frame(decisions, frame))


def frame_from_text(text: str | None, frames: int) -> tuple[int | None, str]:
    """Read the `step` of an address: the frame and an empty sentence, or None and what is wrong with it.

    frames: how many frames there are.
    """
    if text is None:
        return None, ""
    try:
        frame = int(text)
    except ValueError:
        return (
            None,
            f'"{text[:40]}" in the address is not a step; give a whole number from 0 to {max(frames - 1, 0):,}.',
        )
    if not 0 <= frame < max(frames, 1):
        return None, f"Step {frame} is not in this episode, which has steps 0 to {max(frames - 1, 0):,}."
    return frame, ""
