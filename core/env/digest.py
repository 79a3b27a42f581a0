"""The digests of a world's state: blake2b with 16 bytes, in hex, over the values of a `WorldState`.

All numbers are little-endian; i is int32, q is int64, d is float64, B is one byte.

    world digest = blake2b(situation)
    state digest = blake2b(situation + hidden)

    situation = "craftscope world 1" in ASCII
              + q seed, q episode, i width, i height
              + width * height B material ids, x-major
              + i number of things, then each in order of creation (the player first):
                    i kind, i x, i y, i health, i facing x, i facing y, i counter
              + i number of chunks, then each in order of first insertion:
                    i x, i y of its upper left cell, i number of members, i rank of each member among the things,
                    in the order in which they entered
              + 16 i inventory, 22 i achievement counts, B sleeping, i the player's last health
              + 22 B unlocked, i rewarded health
    hidden    = q step + 624 uint32 generator key + i generator position
              + d hunger, d thirst, d fatigue, d recover

The world digest leaves out what an observer cannot see: the clock, the generator and the player's slow counters.
`tests/env/test_digest.py` pins both. A change of this definition has to change "world 1" to "world 2", and makes every
stored digest incomparable.
"""

from __future__ import annotations

import hashlib
import struct
from itertools import chain
from typing import NamedTuple

from core.env.state import WorldState

_LABEL = b"craftscope world 1"
_DIGEST_BYTES = 16


class Digests(NamedTuple):
    """Both digests of one state, 32 hex digits each."""

    state: str
    world: str


def digests(state: WorldState) -> Digests:
    hasher = hashlib.blake2b(_situation(state), digest_size=_DIGEST_BYTES)
    world = hasher.hexdigest()
    hasher.update(_hidden(state))
    return Digests(hasher.hexdigest(), world)


def _situation(state: WorldState) -> bytes:
    player = state.player
    return b"".join(
        (
            _LABEL,
            struct.pack("<qqii", state.seed, state.episode, *state.area),
            state.materials.tobytes(),
            _ints(len(state.things), *chain.from_iterable(state.things)),
            _ints(len(state.chunks), *_chunk_numbers(state)),
            _ints(*player.inventory, *player.achievement_counts),
            struct.pack("<Bi", player.sleeping, player.last_health),
            bytes(state.unlocked),
            _ints(state.rewarded_health),
        )
    )


def _chunk_numbers(state: WorldState) -> list[int]:
    numbers: list[int] = []
    for x, y, members in state.chunks:
        numbers += (x, y, len(members))
        numbers += members
    return numbers


def _hidden(state: WorldState) -> bytes:
    player = state.player
    return b"".join(
        (
            struct.pack("<q", state.step),
            state.generator.key,
            _ints(state.generator.position),
            struct.pack("<dddd", player.hunger, player.thirst, player.fatigue, player.recover),
        )
    )


def _ints(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}i", *numbers)
