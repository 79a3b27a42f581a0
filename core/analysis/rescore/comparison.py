"""What another reward configuration changes: ranks, the order of pairs on the same seed, signs of advantages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.analysis.numbers import is_equal, levels
from core.analysis.rescore.swaps import swapped_pairs
from core.store import EpisodeSummary

Floats = NDArray[np.float64]

MAX_PAIRS = 1_000
"""Pairs listed, the clearest swaps; all are counted."""

# How exactly a group's mean is known, relative to its largest return.
_ROUNDING_OF_MEANS = 1e-12


@dataclass(frozen=True, slots=True)
class RankChange:
    """An episode (its place in the list given) and its ranks, 1 the highest return; equal ones share the best."""

    episode: int
    before: int
    after: int

    @property
    def climbed(self) -> int:
        """Ranks gained; negative where it fell."""
        return self.before - self.after


@dataclass(frozen=True, slots=True)
class SwappedPair:
    """Two episodes of the same world: `ahead` earned more before and earns less now. The gaps are both positive."""

    ahead: int
    behind: int
    gap_before: float
    gap_after: float


class Swaps(NamedTuple):
    """The clearest `MAX_PAIRS` of n_swaps pairs, among n_pairs pairs of the same seed and world."""

    swaps: tuple[SwappedPair, ...]
    n_swaps: int
    n_pairs: int


@dataclass(frozen=True, slots=True)
class AdvantageChange:
    """An episode whose group-relative advantage has another sign now (or has become or stopped being 0)."""

    episode: int
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two scorings of the same episodes compared.

    ranks: those that change, by how far. swaps: the clearest `MAX_PAIRS` of n_swaps among n_pairs pairs of the same
    seed and world. advantages: those that change sign, the largest first. n_groups: groups of several episodes,
    n_alone: episodes that are alone in theirs, whose advantage is 0 under any rewards.
    """

    ranks: tuple[RankChange, ...]
    swaps: tuple[SwappedPair, ...]
    n_swaps: int
    n_pairs: int
    advantages: tuple[AdvantageChange, ...]
    n_groups: int
    n_alone: int


def compare(episodes: Sequence[EpisodeSummary], before: Floats, after: Floats) -> Comparison:
    """`before` and `after`: float64 (E,), two returns of each episode."""
    pairs = swaps(episodes, before, after)
    groups = _groups([episode.group for episode in episodes])
    return Comparison(
        ranks=_rank_changes(before, after),
        swaps=pairs.swaps,
        n_swaps=pairs.n_swaps,
        n_pairs=pairs.n_pairs,
        advantages=_advantage_changes(advantages(episodes, before), advantages(episodes, after)),
        n_groups=sum(len(members) > 1 for members in groups),
        n_alone=sum(len(members) == 1 for members in groups),
    )


def swaps(episodes: Sequence[EpisodeSummary], before: Floats, after: Floats) -> Swaps:
    """The pairs of the same world that swap their order. `before` and `after` are any two float64 (E,)."""
    worlds = _groups([episode.world for episode in episodes])
    pairs, n_swaps, n_pairs = swapped_pairs(worlds, before, after, most=MAX_PAIRS)
    return Swaps(tuple(_pair(*column) for column in pairs.T.tolist()), n_swaps, n_pairs)


def ranks(returns: Floats) -> NDArray[np.int64]:
    """1 for the highest return; equal ones share the best rank. int64 (E,)."""
    level = levels(returns)
    above = np.cumsum(np.bincount(level)[::-1])[::-1]  # how many stand on a level or on a higher one
    return (1 + np.append(above[1:], 0)[level]).astype(np.int64) if len(level) else level


def advantages(episodes: Sequence[EpisodeSummary], returns: Floats) -> Floats:
    """Group-relative advantages, float64 (E,): return minus its group's mean, over the group's population deviation.

    A group is one seed's world in one launch. 0 where all of a group earn the same, so also where one is alone.
    As GRPO has it: Z. Shao et al., "DeepSeekMath", 2024, section 4.1.
    """
    if not len(returns):
        return np.zeros(0)
    members = np.zeros(len(returns), np.int64)
    for number, its in enumerate(_groups([episode.group for episode in episodes])):
        members[its] = number
    counts = np.bincount(members)
    lowest, highest = np.full(len(counts), np.inf), np.full(len(counts), -np.inf)
    np.minimum.at(lowest, members, returns)
    np.maximum.at(highest, members, returns)
    means = (np.bincount(members, returns) / counts)[members]
    above = returns - means
    deviations = np.sqrt(np.bincount(members, above**2) / counts)[members]
    largest = np.maximum(np.abs(lowest), np.abs(highest))[members]
    is_mean = is_equal(returns, means) | (np.abs(above) <= _ROUNDING_OF_MEANS * largest)
    differs = ~is_equal(lowest, highest)[members] & ~is_mean
    return np.divide(above, deviations, out=np.zeros(len(returns)), where=differs)


def _groups(keys: Sequence[Hashable]) -> list[NDArray[np.int64]]:
    """The places of equal keys, in order of their first."""
    found: dict[Hashable, list[int]] = defaultdict(list)
    for at, key in enumerate(keys):
        found[key].append(at)
    return [np.array(members, np.int64) for members in found.values()]


def _rank_changes(before: Floats, after: Floats) -> tuple[RankChange, ...]:
    changes = [
        RankChange(at, int(old), int(new))
        for at, (old, new) in enumerate(zip(ranks(before), ranks(after), strict=True))
        if old != new
    ]
    return tuple(sorted(changes, key=lambda change: (-abs(change.climbed), change.after)))


def _pair(one: float, other: float, gap_before: float, gap_after: float) -> SwappedPair:
    ahead, behind = (one, other) if gap_before > 0 else (other, one)
    return SwappedPair(int(ahead), int(behind), abs(gap_before), abs(gap_after))


def _advantage_changes(before: Floats, after: Floats) -> tuple[AdvantageChange, ...]:
    changes = [
        AdvantageChange(int(at), float(before[at]), float(after[at]))
        for at in np.flatnonzero(np.sign(before) != np.sign(after))
    ]
    return tuple(sorted(changes, key=lambda change: -abs(change.after - change.before)))
