"""The reward facts of many episodes, joined into columns, so that a million decisions are scored in one go."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from core.facts.episode import CHANGE_COLUMNS, DECISION_COLUMNS, INVENTORY, UNLOCK, Change, EpisodeFacts
from core.types import Floats, StateFacts

Kind = TypeVar("Kind", bound=np.generic)

_ARRAYS = tuple(name for name, _ in (*CHANGE_COLUMNS, *DECISION_COLUMNS))


class Feature(NamedTuple):
    """A quantity that can rise: `kind` and name as in `EpisodeFacts`; for an unlock its rank, else 0."""

    kind: int
    name: str
    rank: int


class FactColumns:
    """E episodes with N decisions in all, in the order given. All arrays, those of the episodes
    included, are shared and therefore read-only.

    starts: int64 (E + 1,), where each episode's decisions begin. env_rewards, logged: float64 (N,), what the
    environment and the shaping paid when they were played. step_ends: int32 (N,), exclusive, within the episode.
    is_end: bool (N,), decisions that were known to be their episode's last when they were scored.
    """

    def __init__(self, episodes: Sequence[EpisodeFacts]) -> None:
        self.episodes = tuple(episodes)
        for facts in episodes:
            _make_read_only(*(getattr(facts, name) for name in _ARRAYS))
        self.starts = np.zeros(len(episodes) + 1, np.int64)
        np.cumsum([facts.n_decisions for facts in episodes], out=self.starts[1:])
        self.env_rewards = _joined([facts.env_rewards for facts in episodes], np.float64)
        self.logged = _joined([facts.rewards for facts in episodes], np.float64)
        self.step_ends = _joined([facts.step_ends for facts in episodes], np.int32)
        self.is_end = np.zeros(self.n_decisions, np.bool_)
        # A decision without a step is no end, whatever limit came after it: the loop scores it so too.
        ends = [at for at, facts in enumerate(episodes) if facts.known_end and facts.step_ends.any()]
        self.is_end[self.starts[1:][ends] - 1] = True
        _make_read_only(self.starts, self.env_rewards, self.logged, self.step_ends, self.is_end)
        self._join_changes()

    @property
    def n_episodes(self) -> int:
        return len(self.episodes)

    @property
    def n_decisions(self) -> int:
        return int(self.starts[-1])

    def decisions_of(self, episode: int) -> slice:
        """The positions of an episode's decisions."""
        return slice(int(self.starts[episode]), int(self.starts[episode + 1]))

    def sums(self, values: Floats) -> Floats:
        """The sum of (N,) values over each episode: float64 (E,), 0 where an episode has no decision."""
        sums = np.zeros(self.n_episodes)
        played = np.flatnonzero(np.diff(self.starts))
        if len(played):  # an empty slice would take its neighbour's first value
            sums[played] = np.add.reduceat(values, self.starts[played])
        _make_read_only(sums)
        return sums

    def weighted_rises(self, weight: Callable[[Feature], float]) -> Floats:
        """For each decision the sum of weight x rise over all that rose: float64 (N,). Decreases do not count."""
        weights = np.array([weight(feature) for feature in self._features], np.float64)
        rises = np.asarray(self._rises @ weights, np.float64)
        _make_read_only(rises)
        return rises

    @cached_property
    def unlocks(self) -> Floats:
        """How many achievements each decision unlocked: float64 (N,)."""
        return self.weighted_rises(lambda feature: float(feature.kind == UNLOCK))

    def levels(self, kind: int, name: str) -> tuple[Floats, Floats]:
        """How much of something there was before and after each decision: two float64 (N,).

        For an achievement (kind UNLOCK) 1 where it has been unlocked, else 0.
        """
        if (kind, name) not in self._levels:
            self._levels[kind, name] = self._level(kind, name)
        return self._levels[kind, name]

    def unlocked_counts(self) -> tuple[Floats, Floats]:
        """How many achievements had been unlocked before and after each decision: two float64 (N,).

        Each counts once and for good: facts keep no loss, for Crafter takes no achievement away.
        """
        first = self.weighted_rises(lambda feature: float(feature.kind == UNLOCK and feature.rank == 0))
        initial = np.array([sum(map(bool, facts.initial.achievements.values())) for facts in self.episodes], float)
        return self._running(first, initial)

    def changes(self, episode: int) -> Iterator[Change]:
        """An episode's decisions as states, for rewards that cannot be computed from columns.

        The states share their mappings with the stored facts: `RewardShaper.score` shows them to strategies read-only.
        """
        facts = self.episodes[episode]
        state = facts.initial
        bounds = np.searchsorted(facts.decisions, np.arange(facts.n_decisions + 1))
        ends = self.is_end[self.decisions_of(episode)]
        for index in range(facts.n_decisions):
            rows = range(int(bounds[index]), int(bounds[index + 1]))
            before, after = _changed(facts, state, rows)
            yield Change(before, after, float(facts.env_rewards[index]), bool(ends[index]))
            state = after

    # ---------------------------------------------------------------------------------------------------- inside

    def _join_changes(self) -> None:
        numbers: dict[str, int] = {}
        names: list[NDArray[np.uint16]] = []
        for facts in self.episodes:
            own = [numbers.setdefault(name, len(numbers)) for name in facts.name_list]
            names.append(np.array(own, np.uint16)[facts.names])
        self._names = tuple(numbers)
        self._change_names = _joined(names, np.uint16)
        self._change_kinds = _joined([facts.kinds for facts in self.episodes], np.uint8)
        self._deltas = _joined([facts.deltas for facts in self.episodes], np.int32)
        lengths = [len(facts.decisions) for facts in self.episodes]
        self._places = _joined([facts.decisions for facts in self.episodes], np.int64)
        self._places += np.repeat(self.starts[:-1], lengths)
        self._join_rises(_joined([facts.ranks for facts in self.episodes], np.int32))
        self._levels: dict[tuple[int, str], tuple[Floats, Floats]] = {}

    def _join_rises(self, ranks: NDArray[np.int32]) -> None:
        rising = np.flatnonzero(self._deltas > 0)
        keys = (
            (ranks[rising].astype(np.int64) << 24)
            | (self._change_kinds[rising].astype(np.int64) << 16)
            | self._change_names[rising]
        )
        distinct, columns = np.unique(keys, return_inverse=True)
        self._features = tuple(
            Feature((key >> 16) & 0xFF, self._names[key & 0xFFFF], key >> 24) for key in map(int, distinct)
        )
        row_starts = np.zeros(self.n_decisions + 1, np.int32)  # as wide as `columns`, or scipy copies both
        np.cumsum(np.bincount(self._places[rising], minlength=self.n_decisions), out=row_starts[1:])
        self._rises = csr_array(
            (self._deltas[rising].astype(np.float64), columns.astype(np.int32), row_starts),
            shape=(self.n_decisions, len(self._features)),
        )

    def _level(self, kind: int, name: str) -> tuple[Floats, Floats]:
        if name not in self._names:
            change = np.zeros(self.n_decisions)
        else:
            its = (self._change_kinds == kind) & (self._change_names == self._names.index(name))
            change = np.asarray(np.bincount(self._places[its], self._deltas[its], self.n_decisions), np.float64)
        initial = np.array([float(_table(facts.initial, kind).get(name, 0)) for facts in self.episodes], np.float64)
        before, after = self._running(change, initial)
        if kind == UNLOCK:
            before, after = np.minimum(before, 1.0), np.minimum(after, 1.0)
        _make_read_only(before, after)
        return before, after

    def _running(self, change: Floats, initial: Floats) -> tuple[Floats, Floats]:
        """The amounts before and after each decision, from what each changes and each episode's initial amount."""
        after = np.cumsum(change)
        before = after - change
        lengths = np.diff(self.starts)
        played = lengths > 0
        offset = np.repeat(initial[played] - before[self.starts[:-1][played]], lengths[played])
        before, after = before + offset, after + offset
        _make_read_only(before, after)
        return before, after


def _make_read_only(*arrays: NDArray[Any]) -> None:
    """Makes them read-only. A write into a shared array would go unnoticed."""
    for array in arrays:
        array.setflags(write=False)


def _joined(parts: Sequence[NDArray[Any]], kind: type[Kind]) -> NDArray[Kind]:
    return np.concatenate([np.empty(0, kind), *parts]).astype(kind, copy=False)


def _table(state: StateFacts, kind: int) -> Mapping[str, int]:
    if kind == UNLOCK:
        return state.achievements
    return state.inventory if kind == INVENTORY else state.achievement_counts


def _changed(facts: EpisodeFacts, state: StateFacts, rows: range) -> tuple[StateFacts, StateFacts]:
    """The states before and after the changes of one decision."""
    had, has = dict(state.achievements), dict(state.achievements)
    inventory, counts = dict(state.inventory), dict(state.achievement_counts)
    for row in rows:
        kind, name, delta = int(facts.kinds[row]), facts.name_list[int(facts.names[row])], int(facts.deltas[row])
        if kind == UNLOCK:
            had[name], has[name] = False, True  # it may have been lost before
        else:
            table = inventory if kind == INVENTORY else counts
            table[name] = table.get(name, 0) + delta
    return StateFacts(had, state.inventory, state.achievement_counts), StateFacts(has, inventory, counts)
