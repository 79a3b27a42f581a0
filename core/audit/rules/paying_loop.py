"""A loop that pays: back where it was, no better off, and paid for the way."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from core.audit.crafter import VITALS
from core.audit.records import Alert, Cycle, Rule, Severity, Span
from core.audit.thresholds import AuditThresholds
from core.audit.trail import TINY, Entry, Trail, most_telling, runs, span, total
from core.audit.words import amount, listing, times, unlocks_worth
from core.types import StateFacts, StateRecord


@dataclass(frozen=True, slots=True)
class _Lap:
    """From one visit of a situation to the next. entries: the decisions that it touches."""

    names: tuple[str, ...]
    first_frame: int
    last_frame: int
    entries: tuple[Entry, ...]


def find(trail: Trail, thresholds: AuditThresholds) -> Iterator[Alert]:
    """One alert for each kind of loop that was walked often enough and paid enough, the one that pays most first."""
    least = max(TINY, thresholds.loop_worth * trail.unlock_worth)
    loops: dict[tuple[str, ...], list[_Lap]] = defaultdict(list)
    for lap in _laps(trail, thresholds.loop_lap_steps):
        laps = loops[lap.names]
        if not laps or lap.first_frame >= laps[-1].last_frame:  # each step belongs to one lap of a loop
            laps.append(lap)
    found = [laps for laps in loops.values() if _is_farmed(laps, thresholds, least)]
    for laps in sorted(found, key=_pay, reverse=True):
        yield _alert(trail, laps, thresholds, least)


def _laps(trail: Trail, longest: int) -> Iterator[_Lap]:
    """The laps in order of their ends; the nearest earlier visit is where a lap begins, so they are the smallest."""
    visits: dict[Hashable, int] = {}
    for frame, state in enumerate(trail.states):
        situation = None if state is None else _situation(state)
        if state is None or situation is None:
            continue
        key = (trail.worlds[frame], situation)
        since = visits.get(key)
        visits[key] = frame
        if since is not None and frame - since <= longest:
            lap = _lap(trail, since, frame)
            if lap is not None:
                yield lap


def _situation(state: StateRecord) -> Hashable | None:
    """What has to be as it was: the place, what is carried (vitals apart), the ground in view, awake or asleep.

    The ground tells a loop from work: digging, felling and bridging also lead back to the same place with the same
    things, but leave another world behind. Two states with one `world_digest` agree in all of it; where a record has
    no position, the digest alone decides.
    """
    facts = state.facts
    if facts.position is None:
        return state.world_digest or None
    carried = frozenset((name, n) for name, n in facts.inventory.items() if n and name not in VITALS)
    return facts.position, carried, state.scene.materials, state.scene.sleeping


def _lap(trail: Trail, since: int, frame: int) -> _Lap | None:
    """The way between two visits, where it was paid for and won nothing else."""
    before, after = trail.states[since], trail.states[frame]
    assert before is not None and after is not None
    entries = tuple(dict.fromkeys(trail.entry_of_step[since:frame]))
    if any(entry.unlocked for entry in entries) or total(entries) <= TINY or _is_better_off(before.facts, after.facts):
        return None
    names = _counted(before.facts, after.facts)
    is_whole = entries[0].first_frame == since and entries[-1].last_frame == frame
    if not names and not is_whole:
        return None  # what paid may have been the part of these decisions that is outside the lap
    return _Lap(names or _paid(entries), since, frame, entries)


def _is_better_off(before: StateFacts, after: StateFacts) -> bool:
    """Whether a vital rose: eating when hungry is no loop."""
    return any(after.inventory.get(name, 0) > before.inventory.get(name, 0) for name in VITALS)


def _counted(before: StateFacts, after: StateFacts) -> tuple[str, ...]:
    counts = before.achievement_counts
    return tuple(sorted(name for name, n in after.achievement_counts.items() if n > counts.get(name, 0)))


def _paid(entries: Sequence[Entry]) -> tuple[str, ...]:
    parts = (part for entry in entries for part in entry.decision.reward.components)
    return tuple(sorted({part.name for part in parts if part.value}))


def _is_farmed(laps: Sequence[_Lap], thresholds: AuditThresholds, least: float) -> bool:
    """Whether enough laps lie within one window and pay enough there."""
    first = 0
    for last, lap in enumerate(laps):
        while lap.last_frame - laps[first].first_frame > thresholds.loop_window and first < last:
            first += 1
        if last - first + 1 >= thresholds.loop_laps and _pay(laps[first : last + 1]) >= least:
            return True
    return False


def _entries(laps: Sequence[_Lap]) -> list[Entry]:
    """The decisions of laps, each once: one may hold several laps."""
    return list(dict.fromkeys(entry for lap in laps for entry in lap.entries))


def _pay(laps: Sequence[_Lap]) -> float:
    return total(_entries(laps))


def _alert(trail: Trail, laps: Sequence[_Lap], thresholds: AuditThresholds, least: float) -> Alert:
    pay = _pay(laps)
    example = _example(laps)
    steps = example.last_frame - example.first_frame
    cycle = Cycle(example.names, steps, pay / len(laps), len(laps), _span_of(example))
    what = listing(example.names)
    return Alert(
        rule=RULE.id,
        severity=Severity.ALERT,
        sentence=f"{times(len(laps), 'lap')} of a loop ({what}) paid {amount(pay)}, {amount(cycle.gain)} each: back at "
        f"the same place with the same things, no better off. The one that pays best takes {times(steps, 'step')} and "
        f"begins after step {example.first_frame}.",
        criterion=f"At least {times(thresholds.loop_laps, 'lap')} of at most "
        f"{times(thresholds.loop_lap_steps, 'step')} each, within {times(thresholds.loop_window, 'step')}, that pay at "
        f"least {amount(least)} together: "
        f"{unlocks_worth(thresholds.loop_worth, is_paid=trail.pays_unlocks)}.",
        reward=pay,
        evidence=most_telling(span(run, what) for run in runs(_entries(laps))),
        cycle=cycle,
    )


def _example(laps: Sequence[_Lap]) -> _Lap:
    """The lap that pays most for each step of its decisions; of equals the shortest, of those the first."""

    def merit(lap: _Lap) -> tuple[float, int]:
        steps = lap.entries[-1].last_frame - lap.entries[0].first_frame
        return round(total(lap.entries) / steps, 9), lap.first_frame - lap.last_frame

    return max(laps, key=merit)


def _span_of(lap: _Lap) -> Span:
    pay = math.fsum(entry.pay for entry in lap.entries)
    first, last = lap.entries[0].index, lap.entries[-1].index
    return Span(first, last, lap.first_frame, lap.last_frame, pay, "one lap")


RULE: Rule[Trail] = Rule(
    id="paying_loop",
    name="A loop that pays",
    description="The player comes back to the same place with the same things on the same ground, no vital higher, "
    "nothing unlocked, and was paid on the way, again and again: drink and drink, place and collect. An honest player "
    "drinks to refill, digs to get on, and rarely does the same thing twice for nothing.",
    find=find,
)
