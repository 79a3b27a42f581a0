"""What re-scoring looks at, as columns: which decision changed what by how much, and which unlock it was.

Derived from the decisions and made anew from them where it is missing. Little endian, one zstd frame: a u32 with the
length of a JSON header (`v`, `n_decisions`, `n`, `names`), the header, then the columns one after the other.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from core.errors import StoreCorrupt, StoreTooNew
from core.store.blobs import compress, decompress, from_json, to_json
from core.types import StateFacts

VERSION: Final = 1

UNLOCK: Final = 0
INVENTORY: Final = 1
ACHIEVEMENT_COUNT: Final = 2

_LENGTH: Final = struct.Struct("<I")
_COLUMNS: Final = (("decisions", "<i4"), ("kinds", "u1"), ("names", "<u2"), ("deltas", "<i4"), ("ranks", "<i4"))


@dataclass(frozen=True, slots=True)
class RewardFacts:
    """One row for each thing that a decision changed; n rows, in order of decisions.

    decisions: int32 (n,), the decision's index. kinds: uint8 (n,), UNLOCK, INVENTORY or ACHIEVEMENT_COUNT.
    names: uint16 (n,), numbers into `name_list`. deltas: int32 (n,), after minus before (falls too; 1 for an unlock).
    ranks: int32 (n,), for an unlock how often that achievement was unlocked before in this episode; 0 for others.
    """

    n_decisions: int
    name_list: tuple[str, ...]
    decisions: NDArray[np.int32]
    kinds: NDArray[np.uint8]
    names: NDArray[np.uint16]
    deltas: NDArray[np.int32]
    ranks: NDArray[np.int32]


class _Header(msgspec.Struct, frozen=True):
    v: int
    n_decisions: int
    n: int
    names: tuple[str, ...]


class RewardFactsWriter:
    """Gathers the rows of one episode, decision by decision."""

    def __init__(self) -> None:
        self._n_decisions = 0
        self._rows: list[tuple[int, int, int, int, int]] = []
        self._names: dict[str, int] = {}
        self._unlocks: dict[str, int] = {}

    def add(self, before: StateFacts, after: StateFacts, unlocked: Iterable[str]) -> None:
        """The next decision."""
        for name in unlocked:
            rank = self._unlocks.get(name, 0)
            self._unlocks[name] = rank + 1
            self._row(UNLOCK, name, 1, rank)
        for name, delta in _deltas(before.inventory, after.inventory):
            self._row(INVENTORY, name, delta, 0)
        for name, delta in _deltas(before.achievement_counts, after.achievement_counts):
            self._row(ACHIEVEMENT_COUNT, name, delta, 0)
        self._n_decisions += 1

    def facts(self) -> RewardFacts:
        """What was gathered."""
        rows = np.array(self._rows, np.int64).reshape(-1, len(_COLUMNS))
        columns: dict[str, Any] = {name: rows[:, i].astype(kind) for i, (name, kind) in enumerate(_COLUMNS)}
        return RewardFacts(n_decisions=self._n_decisions, name_list=tuple(self._names), **columns)

    def _row(self, kind: int, name: str, delta: int, rank: int) -> None:
        number = self._names.setdefault(name, len(self._names))
        self._rows.append((self._n_decisions, kind, number, delta, rank))


def pack(facts: RewardFacts) -> bytes:
    """The facts as a blob."""
    header = to_json(_Header(VERSION, facts.n_decisions, len(facts.decisions), facts.name_list))
    columns = (getattr(facts, name).astype(kind).tobytes() for name, kind in _COLUMNS)
    return compress(b"".join((_LENGTH.pack(len(header)), header, *columns)))


def unpack(blob: bytes, what: str) -> RewardFacts:
    """What `pack` was given. Raises StoreCorrupt, StoreTooNew."""
    data = decompress(blob, what)
    try:
        (length,) = _LENGTH.unpack_from(data)
        header = from_json(data[_LENGTH.size : _LENGTH.size + length], _Header, what)
        if header.v > VERSION:
            raise StoreTooNew(f"{what} was written by a newer Craftscope (format {header.v}). Update Craftscope.")
        columns: dict[str, Any] = {}
        offset = _LENGTH.size + length
        for name, kind in _COLUMNS:
            columns[name] = np.frombuffer(data, kind, header.n, offset)
            offset += columns[name].nbytes
    except (struct.error, ValueError) as error:
        raise StoreCorrupt(f"{what} is stored but cannot be read ({error}).") from error
    return RewardFacts(n_decisions=header.n_decisions, name_list=header.names, **columns)


def _deltas(before: dict[str, int], after: dict[str, int]) -> Iterable[tuple[str, int]]:
    for name, value in after.items():
        if delta := value - before.get(name, 0):
            yield name, delta
    for name, value in before.items():
        if name not in after and value:
            yield name, -value
