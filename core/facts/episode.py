"""The reward facts of one episode: which decision changed what by how much, and which unlock it was."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.types import RewardComponent, StateFacts

UNLOCK: Final = 0
INVENTORY: Final = 1
ACHIEVEMENT_COUNT: Final = 2

CHANGE_COLUMNS: Final = (("decisions", "<i4"), ("kinds", "u1"), ("names", "<u2"), ("deltas", "<i4"), ("ranks", "<i4"))
DECISION_COLUMNS: Final = (("env_rewards", "<f8"), ("rewards", "<f8"), ("step_ends", "<i4"))


@dataclass(frozen=True)
class Change:
    """One decision as reward strategies see it: the facts before and after.

    env_reward: what the environment paid for its steps. is_end: the world is over after it, or a limit was reached.
    """

    before: StateFacts
    after: StateFacts
    env_reward: float = 0.0
    is_end: bool = False

    @cached_property
    def unlocked(self) -> tuple[str, ...]:
        """Achievements that are false or absent before and true after, in the order of `after`."""
        had = self.before.achievements
        return tuple(name for name, has in self.after.achievements.items() if has and not had.get(name, False))


class ComponentTotal(NamedTuple):
    """What one component paid in a whole episode as it was played, before lambda, over `decisions` of them."""

    kind: str
    name: str
    value: float
    decisions: int


@dataclass(frozen=True, slots=True)
class EpisodeFacts:
    """n decisions, and m rows: one for each quantity that a decision changed, in order of decisions.

    decisions: int32 (m,), the decision's index. kinds: uint8 (m,), UNLOCK, INVENTORY or ACHIEVEMENT_COUNT.
    names: uint16 (m,), numbers into `name_list`. deltas: int32 (m,), after minus before; 1 for an unlock.
    ranks: int32 (m,), for an unlock how often that achievement was unlocked before in this episode; 0 for others.
    env_rewards, rewards: float64 (n,), what the environment and the shaping paid. step_ends: int32 (n,), exclusive.
    initial: the facts before the first decision. known_end: whether the last decision was known to be the last one
    when it was scored. components: what each component paid in the whole episode.
    """

    n_decisions: int
    name_list: tuple[str, ...]
    decisions: NDArray[np.int32]
    kinds: NDArray[np.uint8]
    names: NDArray[np.uint16]
    deltas: NDArray[np.int32]
    ranks: NDArray[np.int32]
    env_rewards: NDArray[np.float64]
    rewards: NDArray[np.float64]
    step_ends: NDArray[np.int32]
    initial: StateFacts
    known_end: bool
    components: tuple[ComponentTotal, ...]


@dataclass
class FactsWriter:
    """Collects the facts of one episode, decision by decision."""

    _initial: StateFacts | None = None
    _changes: list[tuple[int, int, int, int, int]] = field(default_factory=list[tuple[int, int, int, int, int]])
    _rewards: list[tuple[float, float, int]] = field(default_factory=list[tuple[float, float, int]])
    _names: dict[str, int] = field(default_factory=dict[str, int])
    _unlocks: dict[str, int] = field(default_factory=dict[str, int])
    _parts: dict[tuple[str, str], list[float]] = field(
        default_factory=lambda: defaultdict[tuple[str, str], list[float]](list)
    )

    def add(
        self,
        before: StateFacts,
        after: StateFacts,
        unlocked: Iterable[str],
        *,
        env_reward: float = 0.0,
        reward: float = 0.0,
        step_end: int = 0,
        components: Iterable[RewardComponent] = (),
    ) -> None:
        if self._initial is None:
            self._initial = replace(before, position=None)  # later positions are not stored
        for name in unlocked:
            rank = self._unlocks.get(name, 0)
            self._unlocks[name] = rank + 1
            self._change(UNLOCK, name, 1, rank)
        for name, delta in _deltas(before.inventory, after.inventory):
            self._change(INVENTORY, name, delta, 0)
        for name, delta in _deltas(before.achievement_counts, after.achievement_counts):
            self._change(ACHIEVEMENT_COUNT, name, delta, 0)
        for component in components:
            self._parts[component.kind, component.name].append(component.value)
        self._rewards.append((env_reward, reward, step_end))

    def facts(self, *, known_end: bool = False) -> EpisodeFacts:
        """Raises OverflowError for a number that its column cannot hold."""
        columns: dict[str, Any] = {}
        for rows, table in ((self._changes, CHANGE_COLUMNS), (self._rewards, DECISION_COLUMNS)):
            for i, (name, kind) in enumerate(table):
                columns[name] = np.array([row[i] for row in rows], kind)  # not `astype`, which wraps around
        return EpisodeFacts(
            n_decisions=len(self._rewards),
            name_list=tuple(self._names),
            initial=self._initial or StateFacts(),
            known_end=known_end,
            components=tuple(
                ComponentTotal(kind, name, math.fsum(values), len(values))
                for (kind, name), values in self._parts.items()
            ),
            **columns,
        )

    def _change(self, kind: int, name: str, delta: int, rank: int) -> None:
        number = self._names.setdefault(name, len(self._names))
        self._changes.append((len(self._rewards), kind, number, delta, rank))


def _deltas(before: dict[str, int], after: dict[str, int]) -> Iterable[tuple[str, int]]:
    for name, value in after.items():
        if delta := value - before.get(name, 0):
            yield name, delta
    for name, value in before.items():
        if name not in after and value:
            yield name, -value
