"""What another reward configuration changes: ranks, the order of pairs in the same world, signs of advantages."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from core.analysis.tolerance import is_equal, value_ranks
from core.store import EpisodeSummary
from core.types import Floats, Ints

MAX_PAIRS = 1_000

# The error of a group's mean, relative to its largest return.
_ROUNDING_OF_MEANS = 1e-12


@dataclass(frozen=True, slots=True)
class RankChange:
    """An episode (its index) and its ranks; 1 is the highest return, and equal returns share the best rank."""

    episode: int
    before: int
    after: int

    @property
    def climbed(self) -> int:
        """Ranks gained; negative if it fell."""
        return self.before - self.after


@dataclass(frozen=True, slots=True)
class SwappedPair:
    """Indices of two episodes of the same world: `ahead` earned more before and earns less now."""

    ahead: int
    behind: int


@dataclass(frozen=True, slots=True)
class Swaps:
    """pairs: the `MAX_PAIRS` clearest of n_swaps pairs whose order swaps, among n_pairs pairs of the same world.

    Of its two gaps, before and after, the clearest has the largest smaller one.
    """

    pairs: tuple[SwappedPair, ...]
    n_swaps: int
    n_pairs: int


@dataclass(frozen=True, slots=True)
class AdvantageChange:
    """An episode (its index) whose group-relative advantage changes its sign, or becomes or stops being 0."""

    episode: int
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two scorings of the same episodes compared.

    ranks, advantages: only those that change (their sign), the largest change first. n_groups: groups of several
    episodes. n_alone: episodes that are alone in their group, whose advantage is always 0.
    """

    ranks: tuple[RankChange, ...]
    swaps: Swaps
    advantages: tuple[AdvantageChange, ...]
    n_groups: int
    n_alone: int


def compare(episodes: Sequence[EpisodeSummary], before: Floats, after: Floats) -> Comparison:
    """`before` and `after`: float64 (E,), two returns of each episode."""
    group_sizes = np.bincount(_numbered([episode.group for episode in episodes]))
    return Comparison(
        ranks=_rank_changes(before, after),
        swaps=swaps(episodes, before, after),
        advantages=_advantage_changes(advantages(episodes, before), advantages(episodes, after)),
        n_groups=int(np.sum(group_sizes > 1)),
        n_alone=int(np.sum(group_sizes == 1)),
    )


def swaps(episodes: Sequence[EpisodeSummary], before: Floats, after: Floats, *, max_pairs: int = MAX_PAIRS) -> Swaps:
    """The pairs of the same world whose order swaps. `before` and `after`: any two float64 (E,)."""
    worlds = _numbered([episode.world for episode in episodes])
    old, new = value_ranks(before), value_ranks(after)
    order = np.lexsort((new, old, worlds))
    # Sorted like this, a pair swaps exactly if the later episode has the lower key: between worlds keys only rise, and
    # so they do between episodes that were equal before.
    _, key = np.unique(worlds[order] * len(order) + new[order], return_inverse=True)
    key = key.astype(np.int32)  # compared in half the time of int64
    earlier, later = before[order], after[order]
    found, gaps, n_swaps = np.empty((0, 2), np.int64), np.empty(0), 0
    sizes = np.bincount(worlds)
    # All pairs at one distance in this order are compared at once. The farthest come first: they have the largest gaps.
    for distance in range(int(sizes.max(initial=1)) - 1, 0, -1):
        first = np.flatnonzero(key[distance:] < key[:-distance])
        second = first + distance
        n_swaps += len(first)
        smaller = np.minimum(earlier[second] - earlier[first], later[first] - later[second])
        clear = smaller > (gaps[max_pairs - 1] if len(gaps) >= max_pairs else 0.0)
        if clear.any():
            gaps = np.concatenate([gaps, smaller[clear]])
            found = np.concatenate([found, np.column_stack([second, first])[clear]])
            clearest = np.argsort(-gaps, kind="stable")[:max_pairs]
            found, gaps = found[clearest], gaps[clearest]
    pairs = tuple(SwappedPair(*pair) for pair in order[found].tolist())
    return Swaps(pairs, n_swaps, int(np.sum(sizes * (sizes - 1) // 2)))


def ranks(returns: Floats) -> Ints:
    """1 for the highest return; equal returns share the best rank. int64 (E,)."""
    return rankdata(-value_ranks(returns), "min").astype(np.int64)


def advantages(episodes: Sequence[EpisodeSummary], returns: Floats) -> Floats:
    """Group-relative advantages, float64 (E,): (return - mean of its group) / population deviation of its group.

    A group is the same world in one run. 0 if all returns of the group are equal, so also for a single episode.
    Source: GRPO, Z. Shao et al., "DeepSeekMath", 2024, section 4.1.
    """
    groups = _numbered([episode.group for episode in episodes])
    counts = np.bincount(groups)
    lowest, highest = np.full(len(counts), np.inf), np.full(len(counts), -np.inf)
    np.minimum.at(lowest, groups, returns)
    np.maximum.at(highest, groups, returns)
    means = (np.bincount(groups, returns) / counts)[groups]
    above = returns - means
    deviations = np.sqrt(np.bincount(groups, above**2) / counts)[groups]
    largest = np.maximum(np.abs(lowest), np.abs(highest))[groups]
    # Rounding must not give an advantage its sign.
    is_mean = is_equal(returns, means) | (np.abs(above) <= _ROUNDING_OF_MEANS * largest)
    differs = ~is_equal(lowest, highest)[groups] & ~is_mean
    return np.divide(above, deviations, out=np.zeros(len(returns)), where=differs)


def _numbered(keys: Sequence[Hashable]) -> Ints:
    """For each key the number of the distinct one that it is, from 0."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)


def _rank_changes(before: Floats, after: Floats) -> tuple[RankChange, ...]:
    both = zip(ranks(before).tolist(), ranks(after).tolist(), strict=True)
    changes = [RankChange(at, old, new) for at, (old, new) in enumerate(both) if old != new]
    return tuple(sorted(changes, key=lambda change: (-abs(change.climbed), change.after)))


def _advantage_changes(before: Floats, after: Floats) -> tuple[AdvantageChange, ...]:
    changes = [
        AdvantageChange(int(at), float(before[at]), float(after[at]))
        for at in np.flatnonzero(np.sign(before) != np.sign(after))
    ]
    return tuple(sorted(changes, key=lambda change: -abs(change.after - change.before)))
