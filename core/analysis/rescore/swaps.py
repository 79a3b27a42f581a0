"""Which pairs of one world swap their order between two scorings: all counted, the clearest named.

A launch may play thousands of episodes in one world, which are millions of pairs. They are counted without looking at
each of them, and those that swap most clearly are looked for where they can be.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.analysis.numbers import levels

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

# Groups up to this size are looked at pair by pair, all groups of one size at once.
_SMALL = 64
_PAIRS_AT_ONCE = 1_000_000

# Two levels are at least 1e-9 of their size apart, and rounding moves a difference by less than a millionth of that.
_SURELY = 1 - 1e-6


class _Scored(NamedTuple):
    """Every episode's number before and after, and the levels of those, which say what is ahead of what."""

    before: Floats
    after: Floats
    old: Places
    new: Places


def swapped_pairs(groups: Sequence[Places], before: Floats, after: Floats, *, most: int) -> tuple[Floats, int, int]:
    """The clearest `most` of them, how many there are, and how many pairs there are in all.

    groups: the places of the episodes of each world. before, after: what `core.analysis.numbers` puts on one
    level does not swap. Gives float64 (4, k), a column for each pair, those whose smaller gap is largest first: one
    episode's place, the other's, and the first one's lead over the other before and after.
    """
    scored = _Scored(before, after, levels(before), levels(after))
    n_swaps, found = _of_small_groups(groups, scored, most)
    for members in groups:
        if len(members) > _SMALL:
            count, found = _large(members, scored, _clearest([found], most), most)
            n_swaps += count
    return _clearest([found], most), n_swaps, sum(len(members) * (len(members) - 1) // 2 for members in groups)


def _of_small_groups(groups: Sequence[Places], scored: _Scored, most: int) -> tuple[int, Floats]:
    """How many pairs swap, and at least the clearest `most` of them."""
    found: list[Floats] = []
    n_swaps = n_found = 0
    for many in _of_one_size(groups):
        part = _small(many, scored)
        n_swaps += part.shape[1]
        n_found += part.shape[1]
        found.append(part)
        if n_found > 50 * most:
            found = [_clearest(found, most)]
            n_found = found[0].shape[1]
    return n_swaps, _clearest(found, most)


def _of_one_size(groups: Sequence[Places]) -> Iterator[Places]:
    """The small groups of several episodes, each size in blocks: int64 (groups, size)."""
    by_size: dict[int, list[Places]] = defaultdict(list)
    for members in groups:
        if 1 < len(members) <= _SMALL:
            by_size[len(members)].append(members)
    for size, some in by_size.items():
        at_once = max(1, _PAIRS_AT_ONCE // size**2)
        for start in range(0, len(some), at_once):
            yield np.stack(some[start : start + at_once])


def _small(members: Places, scored: _Scored) -> Floats:
    one, other = np.triu_indices(members.shape[1], 1)
    old, new = scored.old[members], scored.new[members]
    group, pair = np.nonzero((old[:, one] - old[:, other]) * (new[:, one] - new[:, other]) < 0)
    return _leads(members[group, one[pair]], members[group, other[pair]], scored)


def _leads(ones: Places, others: Places, scored: _Scored) -> Floats:
    """float64 (4, k): the places of k pairs, and the leads of the first over the other."""
    leads = [numbers[ones] - numbers[others] for numbers in (scored.before, scored.after)]
    return np.stack([ones.astype(np.float64), others.astype(np.float64), *leads])


def _large(members: Places, scored: _Scored, best: Floats, most: int) -> tuple[int, Floats]:
    """How many pairs of one large group swap, and `best` with the clearest of them.

    The leads of a pair, before and after, differ by as much as the two fall apart; so the smaller of them is at most
    half of that. With the episodes sorted by how far they fall, whole stretches cannot hold a clearer pair than those
    that are known.
    """
    fall = scored.before[members] - scored.after[members]
    by_fall = np.argsort(-fall, kind="stable")
    members, fall = members[by_fall], fall[by_fall]
    negated: list[float] = (-fall).tolist()
    old, new = scored.old[members], scored.new[members]
    n_swaps = _count(old, new)
    found: list[Floats] = [best]
    n_found, n_seen = best.shape[1], 0
    floor = _smallest_gap(best) if best.shape[1] >= most else 0.0
    is_complete = floor == 0.0
    for at in range(len(members) - 1):
        apart = 2 * floor * _SURELY
        if (is_complete and n_seen == n_swaps) or fall[at] - fall[-1] <= apart:
            break
        start = max(at + 1, bisect_left(negated, apart - float(fall[at])))
        others = start + np.flatnonzero((old[at] > old[start:]) & (new[at] < new[start:]))
        if not len(others):
            continue
        n_seen += len(others)
        n_found += len(others)
        found.append(_leads(np.full(len(others), members[at]), members[others], scored))
        if n_found > 10 * most:
            found = [_clearest(found, most)]
            n_found = found[0].shape[1]
            floor, is_complete = _smallest_gap(found[0]), False
    return n_swaps, _clearest(found, most)


def _count(old: Places, new: Places) -> int:
    """Pairs that are in one strict order by `old` and in the other by `new`, in O(n log n): one pass for each bit.

    In the order of `old`, a pair swaps where an earlier one has the larger `new`; the two then agree in the upper bits
    up to one which only the earlier has.
    """
    _, new = np.unique(new, return_inverse=True)  # as few bits as can be
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
