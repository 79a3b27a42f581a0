"""How much of a plan may be carried out before looking again."""

from __future__ import annotations

from core.env.rules import DIRECTIONS
from core.policies.scripted.situation import CREATURES, HOSTILE, Situation, around, step_towards

_HOSTILE_NEAR = 7
_CREATURE_NEAR = 8
_LAVA_NEAR = 2
_MOVES_BY_LAVA = 4  # nothing appears or arrives nearer than that many steps ahead


def safe_prefix(situation: Situation, actions: tuple[str, ...], most: int) -> tuple[str, ...]:
    """The first actions of a plan: one only where something could get in the way, never one that walks into lava."""
    near_lava = situation.where("lava")
    for _ in range(_LAVA_NEAR):
        near_lava = around(near_lava)
    most = 1 if situation.creatures(*HOSTILE, within=_HOSTILE_NEAR) else most
    kept: list[str] = []
    position, passes_lava = situation.position, False
    for action in actions[:most]:
        direction = DIRECTIONS.get(action.removeprefix("move_"))
        if direction is not None:
            ahead = step_towards(position, direction)
            if situation.at(ahead) == "lava":
                break
            if situation.is_free(ahead) or "do" in kept[-1:]:  # dug away just before
                position = ahead
        passes_lava |= bool(near_lava[position])
        kept.append(action)
    if passes_lava:  # a creature in the way would put every later move one cell off
        kept = kept[: 1 if situation.creatures(*CREATURES, within=_CREATURE_NEAR) else _MOVES_BY_LAVA]
    return tuple(kept) or ("noop",)
