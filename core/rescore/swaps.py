"""Which pairs of one world swap their order between two scorings: all counted, the clearest named.

A launch may play thousands of episodes in one world, which are millions of pairs. They are counted without looking at
each of them, and those that swap most clearly are looked for where they can be.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

# Groups up to this size are looked at pair by pair, all groups of one size at once.
_SMALL = 64
_PAIRS_AT_ONCE = 1_000_000


def swapped_pairs(
    groups: Sequence[Whole], before: Floats, after: Floats, *, rounding: float, most: int
) -> tuple[Floats, int, int]:
    """The clearest `most` of them, how many there are, and how many pairs there are in all.

    groups: the places of the episodes of each world. rounding: returns closer than this, measured by the largest of
    the group (or by 1), count as equal. Gives float64 (4, k), a column for each pair, those whose smaller gap is
    largest first: one episode's place, the other's, and the first one's lead over the other before and after.
    """
    found: list[Floats] = []
    n_swaps = n_found = 0
    for many in _of_one_size(groups):
        for part in _small(many, before, after, rounding):
            n_swaps += part.shape[1]
            n_found += part.shape[1]
            found.append(part)
            if n_found > 50 * most:
                found = [_clearest(found, most)]
                n_found = found[0].shape[1]
    for members in groups:
        if len(members) > _SMALL:
            best = _clearest(found, most)
            count, found = _large(members, before, after, rounding, best, most)
            n_swaps += count
    return _clearest(found, most), n_swaps, sum(len(members) * (len(members) - 1) // 2 for members in groups)


def _of_one_size(groups: Sequence[Whole]) -> Iterator[Whole]:
    """The small groups of several episodes, each size in blocks: int64 (groups, size)."""
    by_size: dict[int, list[Whole]] = defaultdict(list)
    for members in groups:
        if 1 < len(members) <= _SMALL:
            by_size[len(members)].append(members)
    for size, some in by_size.items():
        at_once = max(1, _PAIRS_AT_ONCE // size**2)
        for start in range(0, len(some), at_once):
            yield np.stack(some[start : start + at_once])


def _small(members: Whole, before: Floats, after: Floats, rounding: float) -> Iterator[Floats]:
    one, other = np.triu_indices(members.shape[1], 1)
    leads: list[Floats] = []
    least: list[Floats] = []
    for returns in (before[members], after[members]):
        leads.append(returns[:, one] - returns[:, other])
        least.append(rounding * np.maximum(1.0, np.max(np.abs(returns), axis=1, keepdims=True)))
    swapped = (leads[0] * leads[1] < 0) & (np.abs(leads[0]) > least[0]) & (np.abs(leads[1]) > least[1])
    group, pair = np.nonzero(swapped)
    if len(group):
        places = np.stack([members[group, one[pair]], members[group, other[pair]]]).astype(np.float64)
        yield np.concatenate([places, np.stack([leads[0][group, pair], leads[1][group, pair]])])


def _large(
    members: Whole, before: Floats, after: Floats, rounding: float, best: Floats, most: int
) -> tuple[int, list[Floats]]:
    """How many pairs of one large group swap, and `best` with the clearest of them.

    The leads of a pair, before and after, differ by as much as the two fall apart; so the smaller of them is at most
    half of that. With the episodes sorted by how far they fall, whole stretches cannot hold a clearer pair than those
    that are known.
    """
    fall = before[members] - after[members]
    members = members[np.argsort(-fall, kind="stable")]
    fall = before[members] - after[members]
    negated: list[float] = (-fall).tolist()
    old, new = (_levels(returns[members], rounding) for returns in (before, after))
    n_swaps = _count(old, new)
    found: list[Floats] = [best]
    n_found, n_seen = best.shape[1], 0
    floor = _smallest_gap(best) if best.shape[1] >= most else 0.0
    is_complete = floor == 0.0
    for at in range(len(members) - 1):
        if (is_complete and n_seen == n_swaps) or fall[at] - fall[-1] <= 2 * floor:
            break
        start = max(at + 1, bisect_left(negated, -(float(fall[at]) - 2 * floor)))
        others = start + np.flatnonzero((old[at] > old[start:]) & (new[at] < new[start:]))
        if not len(others):
            continue
        n_seen += len(others)
        n_found += len(others)
        ones = np.full(len(others), members[at])
        found.append(
            np.stack(
                [
                    ones.astype(np.float64),
                    members[others].astype(np.float64),
                    before[members[at]] - before[members[others]],
                    after[members[at]] - after[members[others]],
                ]
            )
        )
        if n_found > 10 * most:
            found = [_clearest(found, most)]
            n_found = found[0].shape[1]
            floor, is_complete = _smallest_gap(found[0]), False
    return n_swaps, found


def _levels(returns: Floats, rounding: float) -> Whole:
    """Whole numbers in the order of the returns; those that differ by rounding only have the same."""
    order = np.argsort(returns, kind="stable")
    is_above = np.diff(returns[order]) > rounding * max(1.0, float(np.max(np.abs(returns))))
    levels = np.zeros(len(returns), np.int64)
    levels[order[1:]] = np.cumsum(is_above)
    return levels


def _count(old: Whole, new: Whole) -> int:
    """Pairs that are in one strict order by `old` and in the other by `new`, in O(n log n): one pass for each bit.

    In the order of `old`, a pair swaps where an earlier one has the larger `new`; the two then agree in the upper bits
    up to one which only the earlier has.
    """
    values = new[np.lexsort((new, old))]  # equal ones of `old` in the order of `new`, where nothing swaps
    count = 0
    for bit in range(int(values.max()).bit_length()):
        upper = values >> (bit + 1)
        by_upper = np.argsort(upper, kind="stable")
        upper, has_bit = upper[by_upper], (values[by_upper] >> bit) & 1
        with_bit_before = np.cumsum(has_bit) - has_bit
        at_start = with_bit_before[np.searchsorted(upper, upper)]
        count += int(np.sum((with_bit_before - at_start)[has_bit == 0]))
    return count


def _clearest(found: Sequence[Floats], most: int) -> Floats:
    joined = np.concatenate([np.empty((4, 0)), *found], axis=1)
    order = np.argsort(-np.min(np.abs(joined[2:]), axis=0), kind="stable")
    return joined[:, order[:most]]


def _smallest_gap(sorted_pairs: Floats) -> float:
    return float(np.min(np.abs(sorted_pairs[2:, -1])))
