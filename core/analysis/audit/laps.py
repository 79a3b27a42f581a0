"""Laps: ways in an episode that lead back to where they began, win nothing else, and are paid for."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from core.analysis.audit.crafter import VITALS
from core.analysis.audit.trail import TINY, Entry, Trail
from core.analysis.audit.unlocks import paid_beside, pay_for
from core.types import StateFacts, StateRecord

_AWAY = 0.5  # weight of a lap that leads away and back


@dataclass(frozen=True, slots=True)
class Lap:
    """From one visit of a place with the same things to the next.

    names: what was done on the way, as in `Cycle`. first_frame, last_frame: as in `Span`.
    paid: the decisions that it touches, and what each was paid for loops of these names.
    place: where it began, if it left another ground behind; else None.
    weight: how much it counts: half where it led to another place in between, as one step out of a shelter and back.
    """

    names: tuple[str, ...]
    first_frame: int
    last_frame: int
    paid: dict[Entry, float]
    place: Hashable | None = None
    weight: float = 1.0


def laps_of(trail: Trail, longest: int) -> Iterator[Lap]:
    """The laps of at most `longest` steps in order of their ends.

    The nearest earlier visit is where a lap begins, so they are the smallest. Where that left another ground behind,
    there may be a longer one from the nearest visit with the same ground, too.
    """
    on_same_ground: dict[Hashable, int] = {}
    on_any_ground: dict[Hashable, int] = {}
    for frame, state in enumerate(trail.states):
        place = None if state is None else _place(state)
        if state is None or place is None:
            continue
        place = (trail.worlds[frame], place)
        ground = (place, state.scene.materials)
        since = on_any_ground.get(place, -1)
        same = on_same_ground.get(ground, -1)
        on_any_ground[place] = on_same_ground[ground] = frame
        if since > same:
            yield from _lap(trail, since, frame, longest, place)
        yield from _lap(trail, same, frame, longest, None)


def _place(state: StateRecord) -> Hashable | None:
    """What has to be as it was: the place, what is carried (vitals apart), awake or asleep.

    Two states with one `world_digest` agree in all of it; where a record has no position, the digest alone decides.
    """
    facts = state.facts
    if facts.position is None:
        return state.world_digest or None
    carried = frozenset((name, n) for name, n in facts.inventory.items() if n and name not in VITALS)
    return facts.position, carried, state.scene.sleeping


def _lap(trail: Trail, since: int, frame: int, longest: int, place: Hashable | None) -> Iterator[Lap]:
    """The way between two visits, where it was paid for and won nothing else. since: -1 where it is the first."""
    if since < 0 or frame - since > longest:
        return
    before, after = trail.states[since], trail.states[frame]
    assert before is not None and after is not None
    entries = tuple(dict.fromkeys(trail.entry_of_step[since:frame]))
    if _is_better_off(before.facts, after.facts):
        return
    names = _counted(before.facts, after.facts)
    is_whole = entries[0].first_frame == since and entries[-1].last_frame == frame
    if not names and not is_whole:
        return  # what paid may have been the part of these decisions that is outside the lap
    names = names or tuple(sorted({name for entry in entries for _, name, pay in paid_beside(entry.decision) if pay}))
    paid = {entry: pay_for(entry.decision, names) for entry in entries}
    if math.fsum(paid.values()) > TINY:
        yield Lap(names, since, frame, paid, place, _AWAY if _leads_away(trail.states[since : frame + 1]) else 1.0)


def _leads_away(states: Sequence[StateRecord | None]) -> bool:
    """Whether one of them is at another place than the rest."""
    return len({state.facts.position for state in states if state is not None}) > 1


def _is_better_off(before: StateFacts, after: StateFacts) -> bool:
    """Whether a vital rose, as eating when hungry is no loop, or something was unlocked."""
    had = before.achievements
    if any(has and not had.get(name, False) for name, has in after.achievements.items()):
        return True
    return any(after.inventory.get(name, 0) > before.inventory.get(name, 0) for name in VITALS)


def _counted(before: StateFacts, after: StateFacts) -> tuple[str, ...]:
    counts = before.achievement_counts
    return tuple(sorted(name for name, n in after.achievement_counts.items() if n > counts.get(name, 0)))
