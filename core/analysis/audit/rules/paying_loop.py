"""A loop that pays: back at the same place, no better off, but paid on the way."""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from core.analysis.audit.pay import paid_beside, pay_for
from core.analysis.audit.records import Alert, PayingLoop, Rule, Severity, amount, unlocks_worth
from core.analysis.audit.thresholds import AuditThresholds
from core.analysis.audit.trail import TINY, Entry, Trail, runs, span, strongest
from core.env.rules import VITALS
from core.text import join, plural
from core.types import StateFacts, StateRecord

_AWAY = 0.5  # weight of a loop that leads to another place and back


@dataclass(frozen=True, slots=True)
class Loop:
    """The steps from one visit of a place to the next, with the same inventory.

    names: as in `PayingLoop`. first_frame, last_frame: as in `Span`.
    paid: the decisions that it is a part of, and what each was paid for loops of these names.
    place: where it began, if the ground changed; else None.
    weight: `_AWAY` if it led to another place in between, such as a step out of a shelter and back; else 1.
    """

    names: tuple[str, ...]
    first_frame: int
    last_frame: int
    paid: dict[Entry, float]
    place: Hashable | None = None
    weight: float = 1.0


def find_loops(trail: Trail, max_steps: int) -> Iterator[Loop]:
    """The paid loops of at most `max_steps` steps, in order of their ends.

    A loop begins at the latest earlier visit. If the ground has changed since then, there may also be a longer one
    from the latest visit with the same ground.
    """
    on_same_ground: dict[Hashable, int] = {}
    on_any_ground: dict[Hashable, int] = {}
    for frame, state in enumerate(trail.states):
        if state is None:
            continue
        place = (trail.worlds[frame], _place(state))
        ground = (place, state.scene.materials)
        since = on_any_ground.get(place, -1)
        same = on_same_ground.get(ground, -1)
        on_any_ground[place] = on_same_ground[ground] = frame
        if since > same:
            yield from _paid_loop(trail, since, frame, max_steps, place)
        yield from _paid_loop(trail, same, frame, max_steps, None)


def _place(state: StateRecord) -> Hashable:
    """What a loop does not change: position, inventory without vitals, asleep or awake."""
    facts = state.facts
    carried = frozenset((name, n) for name, n in facts.inventory.items() if n and name not in VITALS)
    return facts.position, carried, state.scene.sleeping


def _paid_loop(trail: Trail, since: int, frame: int, max_steps: int, place: Hashable | None) -> Iterator[Loop]:
    """The loop between two visits, if it gained nothing but pay. since: -1 for the first visit."""
    if since < 0 or frame - since > max_steps:
        return
    before, after = trail.states[since], trail.states[frame]
    assert before is not None and after is not None  # both are visits
    entries = tuple(dict.fromkeys(trail.entry_of_step[since:frame]))
    if _is_better_off(before.facts, after.facts):
        return
    names = _counted(before.facts, after.facts)
    is_whole = entries[0].first_frame == since and entries[-1].last_frame == frame
    if not names and not is_whole:
        return  # the pay may be for the part of these decisions that is outside the loop
    names = names or tuple(sorted({name for entry in entries for _, name, pay in paid_beside(entry.decision) if pay}))
    paid = {entry: pay_for(entry.decision, names) for entry in entries}
    if math.fsum(paid.values()) > TINY:
        positions = {state.facts.position for state in trail.states[since : frame + 1] if state is not None}
        yield Loop(names, since, frame, paid, place, _AWAY if len(positions) > 1 else 1.0)


def _is_better_off(before: StateFacts, after: StateFacts) -> bool:
    """Whether a vital rose (eating when hungry is not farming) or something was unlocked."""
    had = before.achievements
    if any(has and not had.get(name, False) for name, has in after.achievements.items()):
        return True
    return any(after.inventory.get(name, 0) > before.inventory.get(name, 0) for name in VITALS)


def _counted(before: StateFacts, after: StateFacts) -> tuple[str, ...]:
    counts = before.achievement_counts
    return tuple(sorted(name for name, n in after.achievement_counts.items() if n > counts.get(name, 0)))


def find(trail: Trail, thresholds: AuditThresholds) -> Iterator[Alert]:
    """One alert for each kind of loop that was repeated and paid enough, the best-paid first.

    No decision is evidence for two kinds: the best-paid claims its decisions, and the others are tested without them.
    """
    min_pay = max(TINY, thresholds.loop_worth * trail.unlock_worth)
    kinds: dict[tuple[str, ...], list[Loop]] = defaultdict(list)
    for loop in _counting(list(find_loops(trail, thresholds.loop_steps)), thresholds.loop_repeats):
        kinds[loop.names].append(loop)
    claimed: set[Entry] = set()
    while True:
        free = [_free(loops, claimed) for loops in kinds.values()]
        farmed = [loops for loops in free if _is_farmed(loops, thresholds, min_pay)]
        if not farmed:
            return
        best = max(farmed, key=_merit)
        yield _alert(trail, best, thresholds, min_pay)
        claimed.update(_paid(best))


def _counting(loops: Sequence[Loop], min_visits: int) -> Iterator[Loop]:
    """Drops loops that changed the ground, unless many began at the same place.

    Digging and bridging also lead back to a place with the same inventory, but not many times.
    """
    visits = Counter((loop.names, loop.place) for loop in loops)
    return (loop for loop in loops if loop.place is None or visits[loop.names, loop.place] >= min_visits)


def _free(loops: Iterable[Loop], claimed: set[Entry]) -> list[Loop]:
    """The loops without a claimed decision and without those that overlap an earlier one."""
    free: list[Loop] = []
    for loop in loops:
        if claimed.isdisjoint(loop.paid) and (not free or loop.first_frame >= free[-1].last_frame):
            free.append(loop)
    return free


def _merit(loops: Sequence[Loop]) -> tuple[float, int]:
    """The pay; for two kinds in the same decisions, how many of their steps each takes."""
    return round(_pay(loops), 9), sum(loop.last_frame - loop.first_frame for loop in loops)


def _is_farmed(loops: Iterable[Loop], thresholds: AuditThresholds, min_pay: float) -> bool:
    """Whether enough loops, by their weights, are within one window and pay enough there."""
    window: deque[Loop] = deque()
    n_loops: Counter[Entry] = Counter()  # a decision may hold several loops, but is paid once
    pay = weight = 0.0
    for loop in loops:
        window.append(loop)
        weight += loop.weight
        pay += sum(pay for entry, pay in loop.paid.items() if not n_loops[entry])
        n_loops.update(loop.paid.keys())
        while loop.last_frame - window[0].first_frame > thresholds.loop_window and len(window) > 1:
            gone = window.popleft()
            weight -= gone.weight
            n_loops.subtract(gone.paid.keys())
            pay -= sum(pay for entry, pay in gone.paid.items() if not n_loops[entry])
        if weight >= thresholds.loop_repeats and pay >= min_pay:
            return True
    return False


def _paid(loops: Iterable[Loop]) -> dict[Entry, float]:
    """Each decision of these loops with its pay."""
    return {entry: pay for loop in loops for entry, pay in loop.paid.items()}


def _pay(loops: Iterable[Loop]) -> float:
    return math.fsum(_paid(loops).values())


def _alert(trail: Trail, loops: Sequence[Loop], thresholds: AuditThresholds, min_pay: float) -> Alert:
    paid = _paid(loops)
    pay = math.fsum(paid.values())
    example = max(loops, key=_pay_per_step)
    steps = example.last_frame - example.first_frame
    loop = PayingLoop(example.names, steps, pay / len(loops), len(loops))
    what = join([name.replace("_", " ") for name in example.names])
    return Alert(
        rule=RULE.id,
        severity=Severity.ALERT,
        sentence=f"A loop ({what}) paid {amount(pay)} in {plural(len(loops), 'repeat')}, {amount(loop.gain)} each: "
        "back at the same place with the same inventory, no better off. The one that pays best takes "
        f"{plural(steps, 'step')} and begins after step {example.first_frame}.",
        criterion=f"At least {plural(thresholds.loop_repeats, 'repeat')} of at most "
        f"{plural(thresholds.loop_steps, 'step')} each, within {plural(thresholds.loop_window, 'step')}, that pay "
        f"at least {amount(min_pay)} together: "
        f"{unlocks_worth(thresholds.loop_worth, is_paid=trail.pays_unlocks)}. "
        "A repeat that leads to another place and back counts half.",
        reward=pay,
        evidence=strongest(span(run, what, reward=math.fsum(paid[entry] for entry in run)) for run in runs(paid)),
        loop=loop,
    )


def _pay_per_step(loop: Loop) -> tuple[float, int]:
    """The pay per step of its decisions; of two that pay the same, the shorter is greater."""
    entries = list(loop.paid)
    steps = entries[-1].last_frame - entries[0].first_frame
    return round(_pay([loop]) / steps, 9), loop.first_frame - loop.last_frame


RULE: Rule[Trail] = Rule(
    id="paying_loop",
    name="A loop that pays",
    description="The character returns many times to the same place with the same inventory, no vital higher and "
    "nothing unlocked, but was paid on the way: drink and drink, place and collect. If each repeat changes the ground, "
    "as digging does, only many repeats from one place count. A repeat that leads to another place and back counts "
    "half, such as a step out of a shelter and back. An honest policy drinks to refill, digs to get on and rarely does "
    "the same thing twice for nothing. Only the pay of the loop itself counts, not that of unlocks.",
    thresholds=("loop_repeats", "loop_worth", "loop_window", "loop_steps"),
    find=find,
)
