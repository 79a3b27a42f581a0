"""Whether reward facts are those of their episode: sound in themselves, and in agreement with its row.

Many episodes are looked at together, in joined arrays: one by one would take as long as reading them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from core.facts import ACHIEVEMENT_COUNT, UNLOCK, EpisodeFacts
from core.types import StopReason

_CLOSE: Final = 1e-9
"""Sums may differ by this part of what was added up: the row's are exact, these are not."""

Mask = NDArray[np.bool_]
Whole = NDArray[np.int64]


class Recorded(Protocol):
    """What an episode's row says of it."""

    @property
    def n_steps(self) -> int: ...
    @property
    def n_decisions(self) -> int: ...
    @property
    def env_return(self) -> float: ...
    @property
    def shaped_return(self) -> float: ...
    @property
    def stop_reason(self) -> StopReason | None: ...


def misfits(rows: Sequence[Recorded], facts: Sequence[EpisodeFacts]) -> list[str]:
    """For each episode what does not fit, as the end of a sentence; an empty text where all does."""
    found = [""] * len(facts)

    def mark(at: Sequence[int] | Whole, problem: str) -> None:
        for place in map(int, at):
            found[place] = found[place] or problem

    _check_heads(rows, facts, mark)
    with np.errstate(all="ignore"):
        _check_decisions(rows, facts, mark)
        _check_changes(facts, mark)
    return found


Mark = Callable[[Sequence[int] | Whole, str], None]


def _check_heads(rows: Sequence[Recorded], facts: Sequence[EpisodeFacts], mark: Mark) -> None:
    for at, (row, its) in enumerate(zip(rows, facts, strict=True)):
        if its.n_decisions != row.n_decisions:
            mark([at], f"they are of {its.n_decisions} decisions and it has {row.n_decisions}")
        if its.foreseen_end != (row.stop_reason is not None and row.stop_reason.is_foreseen):
            mark([at], "they are of an episode that ended in another way")
        if len(set(its.name_list)) != len(its.name_list):
            mark([at], "a name stands in them twice")
        if not all(math.isfinite(part.value) and part.decisions > 0 for part in its.components):
            mark([at], "what a part of the reward paid in them is not a finite number")


def _check_decisions(rows: Sequence[Recorded], facts: Sequence[EpisodeFacts], mark: Mark) -> None:
    counts = np.array([its.n_decisions for its in facts], np.int64)
    owner = np.repeat(np.arange(len(facts)), counts)
    firsts = np.cumsum(counts) - counts
    for name, shown in (("env_rewards", "env_return"), ("rewards", "shaped_return")):
        values = _joined(facts, name, np.float64)
        mark(owner[~np.isfinite(values)], "a reward in them is not a finite number")
        said = np.array([getattr(row, shown) for row in rows], np.float64)
        total = np.bincount(owner, values, len(facts))
        room = _CLOSE * (1 + np.bincount(owner, np.abs(values), len(facts)))
        for at in np.flatnonzero(~(np.abs(total - said) <= room)):
            mark([int(at)], f"their {shown} is {total[at]:g} and its own is {said[at]:g}")
    ends = _joined(facts, "step_ends", np.int64)
    before = np.zeros_like(ends)
    before[1:] = ends[:-1]
    played = counts > 0
    before[firsts[played]] = 0
    mark(owner[ends < before], "their steps are out of order")
    last = np.zeros(len(facts), np.int64)
    last[played] = ends[(firsts + counts - 1)[played]]
    steps = np.array([row.n_steps for row in rows], np.int64)
    mark(np.flatnonzero(last != steps), "they are of another number of steps")


def _check_changes(facts: Sequence[EpisodeFacts], mark: Mark) -> None:
    owner = np.repeat(np.arange(len(facts)), [len(its.decisions) for its in facts])
    decisions = _joined(facts, "decisions", np.int64)
    kinds, names = _joined(facts, "kinds", np.int64), _joined(facts, "names", np.int64)
    counts = np.array([its.n_decisions for its in facts], np.int64)
    mark(owner[(decisions < 0) | (decisions >= counts[owner])], "a change in them belongs to no decision")
    falls = (decisions[1:] < decisions[:-1]) & (owner[1:] == owner[:-1])
    mark(owner[1:][falls], "their changes are out of order")
    mark(owner[kinds > ACHIEVEMENT_COUNT], "a change in them is of a kind that nobody knows")
    n_names = np.array([len(its.name_list) for its in facts], np.int64)
    mark(owner[names >= n_names[owner]], "a change in them has no name")
    wrong = _wrong_ranks(owner, kinds, names, _joined(facts, "deltas", np.int64), _joined(facts, "ranks", np.int64))
    mark(owner[wrong], "their unlocks are counted wrongly")


def _wrong_ranks(owner: Whole, kinds: Whole, names: Whole, deltas: Whole, ranks: Whole) -> Mask:
    """An unlock is of one achievement, and says how often that one was unlocked before; other changes say 0."""
    unlocks = np.flatnonzero(kinds == UNLOCK)
    keys = (owner[unlocks] << 16) | names[unlocks]
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    places = np.arange(len(keys))
    is_first = np.ones(len(keys), np.bool_)
    is_first[1:] = keys[1:] != keys[:-1]
    expected = np.zeros(len(ranks), np.int64)
    expected[unlocks[order]] = places - np.maximum.accumulate(np.where(is_first, places, 0))
    wrong = ranks != expected
    wrong[unlocks] |= deltas[unlocks] != 1
    return wrong


def _joined(facts: Sequence[EpisodeFacts], name: str, kind: type[Any]) -> NDArray[Any]:
    return np.concatenate([np.empty(0, kind), *(getattr(its, name) for its in facts)]).astype(kind, copy=False)
