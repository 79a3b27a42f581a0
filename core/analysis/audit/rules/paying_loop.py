"""A loop that pays: back where it was, no better off, and paid for the way."""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence

from core.analysis.audit.audit_text import amount, unlocks_worth
from core.analysis.audit.laps import Lap, laps_of
from core.analysis.audit.records import Alert, Cycle, Rule, Severity, Span
from core.analysis.audit.thresholds import AuditThresholds
from core.analysis.audit.trail import TINY, Entry, Trail, most_telling, runs, span
from core.text import join, plural


def find(trail: Trail, thresholds: AuditThresholds) -> Iterator[Alert]:
    """One alert for each kind of loop that was walked often enough and paid enough, the one that pays most first.

    No decision is evidence for two of them: the best loop claims its own, and the rest is tested without these.
    """
    least = max(TINY, thresholds.loop_worth * trail.unlock_worth)
    kinds: dict[tuple[str, ...], list[Lap]] = defaultdict(list)
    for lap in _counting(list(laps_of(trail, thresholds.loop_lap_steps)), thresholds.loop_laps):
        kinds[lap.names].append(lap)
    claimed: set[Entry] = set()
    while True:
        free = [_free(laps, claimed) for laps in kinds.values()]
        farmed = [laps for laps in free if _is_farmed(laps, thresholds, least)]
        if not farmed:
            return
        best = max(farmed, key=_merit)
        yield _alert(trail, best, thresholds, least)
        claimed.update(_paid(best))


def _counting(laps: Sequence[Lap], least: int) -> Iterator[Lap]:
    """All but those of which each left another ground behind and few began at that place.

    Digging, felling and bridging lead back to the same place with the same things, but not time and again.
    """
    visits = Counter((lap.names, lap.place) for lap in laps)
    return (lap for lap in laps if lap.place is None or visits[lap.names, lap.place] >= least)


def _free(laps: Iterable[Lap], claimed: set[Entry]) -> list[Lap]:
    """Those of which no decision is claimed; each step belongs to one lap of a loop."""
    free: list[Lap] = []
    for lap in laps:
        if claimed.isdisjoint(lap.paid) and (not free or lap.first_frame >= free[-1].last_frame):
            free.append(lap)
    return free


def _merit(laps: Sequence[Lap]) -> tuple[float, int]:
    """What it pays; of two loops in the same decisions, the one that fills more of their steps."""
    return round(_pay(laps), 9), sum(lap.last_frame - lap.first_frame for lap in laps)


def _is_farmed(laps: Iterable[Lap], thresholds: AuditThresholds, least: float) -> bool:
    """Whether enough laps, by their weights, lie within one window and pay enough there."""
    window: deque[Lap] = deque()
    times_held: Counter[Entry] = Counter()  # decisions of the window, each paid once though it may hold several laps
    pay = weight = 0.0
    for lap in laps:
        window.append(lap)
        weight += lap.weight
        pay += sum(pay for entry, pay in lap.paid.items() if not times_held[entry])
        times_held.update(lap.paid.keys())
        while lap.last_frame - window[0].first_frame > thresholds.loop_window and len(window) > 1:
            gone = window.popleft()
            weight -= gone.weight
            times_held.subtract(gone.paid.keys())
            pay -= sum(pay for entry, pay in gone.paid.items() if not times_held[entry])
        if weight >= thresholds.loop_laps and pay >= least:
            return True
    return False


def _paid(laps: Iterable[Lap]) -> dict[Entry, float]:
    """The decisions of laps, each once, and what they were paid: one may hold several laps."""
    return {entry: pay for lap in laps for entry, pay in lap.paid.items()}


def _pay(laps: Iterable[Lap]) -> float:
    return math.fsum(_paid(laps).values())


def _alert(trail: Trail, laps: Sequence[Lap], thresholds: AuditThresholds, least: float) -> Alert:
    paid = _paid(laps)
    pay = math.fsum(paid.values())
    example = _example(laps)
    steps = example.last_frame - example.first_frame
    cycle = Cycle(example.names, steps, pay / len(laps), len(laps), _span_of(example))
    what = join([name.replace("_", " ") for name in example.names])
    return Alert(
        rule=RULE.id,
        severity=Severity.ALERT,
        sentence=f"{plural(len(laps), 'lap')} of a loop ({what}) paid {amount(pay)}, {amount(cycle.gain)} each: back "
        f"at the same place with the same things, no better off. The one that pays best takes {plural(steps, 'step')} "
        f"and begins after step {example.first_frame}.",
        criterion=f"At least {plural(thresholds.loop_laps, 'lap')} of at most "
        f"{plural(thresholds.loop_lap_steps, 'step')} each, within {plural(thresholds.loop_window, 'step')}, that pay "
        f"at least {amount(least)} together: "
        f"{unlocks_worth(thresholds.loop_worth, is_paid=trail.pays_unlocks)}. "
        "A lap that leads to another place and back counts half.",
        reward=pay,
        evidence=most_telling(span(run, what, reward=math.fsum(paid[entry] for entry in run)) for run in runs(paid)),
        cycle=cycle,
    )


def _example(laps: Sequence[Lap]) -> Lap:
    """The lap that pays most for each step of its decisions; of equals the shortest, of those the first."""

    def merit(lap: Lap) -> tuple[float, int]:
        entries = list(lap.paid)
        steps = entries[-1].last_frame - entries[0].first_frame
        return round(_pay([lap]) / steps, 9), lap.first_frame - lap.last_frame

    return max(laps, key=merit)


def _span_of(lap: Lap) -> Span:
    entries = list(lap.paid)
    first, last = entries[0].index, entries[-1].index
    return Span(first, last, lap.first_frame, lap.last_frame, _pay([lap]), "one lap")


RULE: Rule[Trail] = Rule(
    id="paying_loop",
    name="A loop that pays",
    description="The player comes back to the same place with the same things, no vital higher, nothing unlocked, and "
    "was paid on the way, again and again: drink and drink, place and collect. Where each lap leaves another ground "
    "behind, as digging does, only many laps from one place count. A lap that leads to another place and back counts "
    "half, as a step out of a shelter and back behind its wall is one. An honest player drinks to refill, digs to get "
    "on, and rarely does the same thing twice for nothing. Only what pays for the loop itself counts, nothing for "
    "unlocks.",
    find=find,
)
