"""The position in an episode: a frame of the player and the decision that the panels explain.

Frame 0 is the world after reset, frame k the world after step k - 1 (see `pages.components.player`).

**Going to a decision** shows its result: the frame after its last step, with changes counted from before its first.
The selector, its buttons, the player's `[` and `]` and the charts all do so. Going to an unlock shows the frame of that
step. Frame 0 comes before the first decision. A decision without a step has no frame of its own: the player's keys skip
it, and the selector shows it with the frame in which the policy was called.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from core.store import DecisionSummary
from pages.components.text.escape import safe_text

_WHOLE_NUMBER = re.compile(r"[0-9]+")  # \d and int() also take the digits of other scripts
_MAX_DIGITS = 12
_MAX_ECHOED = 40


@dataclass(frozen=True, slots=True)
class Cursor:
    """A frame and the index of the decision shown with it; None if the episode has no decision."""

    frame: int
    decision: int | None

    @property
    def step(self) -> int | None:
        """The step that led to this frame; None after reset."""
        return self.frame - 1 if self.frame else None


def decision_at_frame(decisions: Sequence[DecisionSummary], frame: int) -> int | None:
    """The decision whose step led to the frame; for the world after reset, the first decision.

    A decision without a step has no frame of its own and is returned only if there is no other.
    """
    if not decisions:
        return None
    if frame <= 0:
        return 0
    return max(0, bisect_right(decisions, frame - 1, key=lambda decision: decision.step_start) - 1)


def cursor_at(decisions: Sequence[DecisionSummary], frame: int, picked: Cursor | None = None) -> Cursor:
    """The cursor at a frame. `picked`, the last decision chosen, applies while the frame stays the same; this is how a
    decision without a step can be shown."""
    if picked is not None and picked.frame == frame and picked.decision is not None:
        return Cursor(frame, min(picked.decision, len(decisions) - 1) if decisions else None)
    return Cursor(frame, decision_at_frame(decisions, frame))


def frame_from_text(text: str | None, frames: int) -> tuple[int | None, str]:
    """Reads the `step` of a URL: the frame and an empty string, or None and an error. frames: their number."""
    if text is None:
        return None, ""
    last = max(frames - 1, 0)
    shown = safe_text(text, _MAX_ECHOED)
    if not _WHOLE_NUMBER.fullmatch(text):
        return None, f'Invalid step in the URL: "{shown}". Enter a whole number from 0 to {last:,}.'
    if len(text) > _MAX_DIGITS or int(text) > last:
        return None, f"Step {shown} is not in this episode, which has steps 0 to {last:,}."
    return int(text), ""
