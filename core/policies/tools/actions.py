"""What a model calls an action, and which action it means."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from core.env.rules import ACTIONS
from core.errors import did_you_mean
from core.policies.tools.untrusted import key_of, short, str_of
from core.types import DroppedAction

_DIRECTIONS = {
    "left": "move_left",
    "right": "move_right",
    "up": "move_up",
    "down": "move_down",
    "west": "move_left",
    "east": "move_right",
    "north": "move_up",
    "south": "move_down",
}
_ACTION_BY_KEY = {key_of(action): action for action in ACTIONS}
_LONGEST = 60  # characters a spelling may have
_MAX_REPORTED = 50  # dropped actions reported one by one; a hostile list may hold millions


def sort_out(names: Iterable[object], max_actions: int | None) -> tuple[tuple[str, ...], tuple[DroppedAction, ...]]:
    """The valid actions, at most `max_actions`, and what was dropped of the names with the reason, both in order."""
    actions: list[str] = []
    dropped: list[DroppedAction] = []
    more = 0
    for name in names:
        action = _known(name) if isinstance(name, str) and len(name) <= _LONGEST else None
        if action is not None and (max_actions is None or len(actions) < max_actions):
            actions.append(action)
        elif len(dropped) == _MAX_REPORTED:
            more += 1
        elif action is None:
            dropped.append(_unknown(short(str_of(name))))
        else:
            dropped.append(DroppedAction(str_of(name), f"A call may hold at most {max_actions} actions."))
    if more:
        dropped.append(DroppedAction("...", f"{more} more actions were dropped."))
    return tuple(actions), tuple(dropped)


@lru_cache(maxsize=1024)
def _known(name: str) -> str | None:
    """The action meant by a name, without regard to case, spaces and hyphens; compass words mean moves."""
    key = key_of(name)
    if key in _ACTION_BY_KEY:
        return _ACTION_BY_KEY[key]
    for prefix in ("move", "go", "walk"):
        key = key.removeprefix(prefix)
    return _DIRECTIONS.get(key)


@lru_cache(maxsize=1024)
def _unknown(name: str) -> DroppedAction:
    hint = did_you_mean(name, ACTIONS)
    return DroppedAction(name, f'"{name}" is no action{hint}. Accepted: {", ".join(ACTIONS)}.')
