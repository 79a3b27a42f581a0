"""The reward facts of an episode as a blob.

Derived from the decisions, and rebuilt where it is missing or of an older version. Little endian, one zstd
frame: a u32 with the length of a JSON header, the header, then the columns one after the other.
Version 1 had no columns for each decision, no start and no totals.
"""

from __future__ import annotations

import struct
from typing import Annotated, Any, Final

import msgspec
import numpy as np

from core.errors import StoreCorrupt
from core.facts import ComponentTotal, EpisodeFacts
from core.facts.episode import CHANGE_COLUMNS, DECISION_COLUMNS
from core.store.blobs import check_version, compress, decompress, from_json, to_json
from core.types import StateFacts

VERSION: Final = 2

_LENGTH: Final = struct.Struct("<I")

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
_Amount = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]


class _Header(msgspec.Struct, frozen=True):
    """n: how many changes there are. achieved: unlocked before the first decision."""

    v: int
    n_decisions: _Count
    n: _Count
    names: tuple[str, ...]
    inventory: dict[str, _Amount] = {}
    counts: dict[str, _Amount] = {}
    achievements: dict[str, bool] = {}
    foreseen_end: bool = False  # `EpisodeFacts.known_end`
    components: tuple[ComponentTotal, ...] = ()


def pack(facts: EpisodeFacts) -> bytes:
    """The facts as a blob."""
    header = to_json(
        _Header(
            v=VERSION,
            n_decisions=facts.n_decisions,
            n=len(facts.decisions),
            names=facts.name_list,
            inventory=facts.initial.inventory,
            counts=facts.initial.achievement_counts,
            achievements=facts.initial.achievements,
            foreseen_end=facts.known_end,
            components=facts.components,
        )
    )
    columns = (getattr(facts, name).astype(kind).tobytes() for name, kind in (*CHANGE_COLUMNS, *DECISION_COLUMNS))
    return compress(b"".join((_LENGTH.pack(len(header)), header, *columns)))


def unpack(blob: bytes, what: str) -> EpisodeFacts | None:
    """What `pack` was given; None for a blob of an older version. Raises StoreCorrupt, StoreTooNew."""
    data = decompress(blob, what)
    try:
        (length,) = _LENGTH.unpack_from(data)
        header = from_json(data[_LENGTH.size : _LENGTH.size + length], _Header, what)
        check_version(header.v, VERSION, what)
        if header.v < VERSION:
            return None
        columns: dict[str, Any] = {}
        offset = _LENGTH.size + length
        for table, n in ((CHANGE_COLUMNS, header.n), (DECISION_COLUMNS, header.n_decisions)):
            for name, kind in table:
                columns[name] = np.frombuffer(data, kind, n, offset)
                offset += columns[name].nbytes
        if offset != len(data):
            raise ValueError(f"{len(data) - offset} bytes follow after its end")
    except (struct.error, ValueError) as error:
        raise StoreCorrupt(f"{what} is stored but cannot be read ({error}).") from error
    return EpisodeFacts(
        n_decisions=header.n_decisions,
        name_list=header.names,
        initial=StateFacts(header.achievements, header.inventory, header.counts),
        known_end=header.foreseen_end,
        components=header.components,
        **columns,
    )
