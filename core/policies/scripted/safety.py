"""How much of a plan may be carried out before looking again."""

from __future__ import annotations

from core.env.rules import DIRECTIONS
from core.policies.scripted.situation import CREATURES, HOSTILE, Situation, step_towards

_HOSTILE_NEAR = 7
_CREATURE_NEAR = 8
_LAVA_NEAR = 2


def safe_prefix(situation: Situation, actions: tuple[str, ...], most: int) -> tuple[str, ...]:
    """The first actions of a plan: one only where something could get in the way, never one that walks into lava."""
    kept: list[str] = []
    position = situation.position
    lava_near = False
    for action in actions[: _allowed(situation, most)]:
        direction = DIRECTIONS.get(action.removeprefix("move_"))
        if direction is not None:
            ahead = step_towards(position, direction)
            if situation.at(ahead) == "lava":
                break
            if situation.is_free(ahead) or "do" in kept[-1:]:
                position = ahead
        x, y = position
        lava_near |= bool(
            (situation.where("lava")[max(0, x - _LAVA_NEAR) : x + 3, max(0, y - _LAVA_NEAR) : y + 3]).any()
        )
        kept.append(action)
    if lava_near and situation.creatures(*CREATURES, within=_CREATURE_NEAR):
        return tuple(kept[:1])
    return tuple(kept) or ("noop",)


def _allowed(situation: Situation, most: int) -> int:
    return 1 if situation.creatures(*HOSTILE, within=_HOSTILE_NEAR) else most
