"""A world's state as bytes, and back.

    b"CRSNAP" + uint8 format + 16 bytes blake2b of the rest + zstd of
        uint32 n + n bytes of JSON + materials (uint8, x-major) + generator key (624 uint32); little-endian

The JSON holds the engine version, the environment's configuration, and the remaining values of `WorldState`, each
under its name. Nothing is unpickled, and every value is validated: a blob may be hostile.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from dataclasses import asdict
from typing import Any, cast

import numpy as np
import zstandard

from core.env.generator import KEY_WORDS
from core.env.rules import ACHIEVEMENTS, DIRECTIONS, ENGINE_VERSION, ITEMS, MATERIALS, MAX_ITEM
from core.env.state import (
    ARROW,
    CHUNK_SIZE,
    COW,
    PLANT,
    PLAYER,
    SKELETON,
    ZOMBIE,
    Chunk,
    GeneratorState,
    PlayerState,
    Thing,
    WorldState,
)
from core.errors import InvalidSnapshot
from core.types import EnvConfig

FORMAT = 1
_MAGIC = b"CRSNAP"
_CHECKSUM_BYTES = 16
_HEADER_BYTES = len(_MAGIC) + 1 + _CHECKSUM_BYTES
_TEXT_BYTES_PER_CELL = 128  # of JSON: a cell holds at most one thing, and a thing is seven numbers
_TEXT_BYTES = 16_384
_KEY_BYTES = 4 * KEY_WORDS
_INT32 = 2**31 - 1
_MAX_COUNT = 10**9  # steps, achievements, counters: far from where a digest could not hold the next one


def pack_snapshot(state: WorldState, config: EnvConfig) -> bytes:
    """config: of the environment that `state` belongs to."""
    values = {
        "engine": ENGINE_VERSION,
        "config": asdict(config),
        "seed": state.seed,
        "episode": state.episode,
        "step": state.step,
        "generator_position": state.generator.position,
        "things": state.things,
        "chunks": state.chunks,
        "player": asdict(state.player),
        "unlocked": state.unlocked,
        "rewarded_health": state.rewarded_health,
    }
    text = json.dumps(values, separators=(",", ":")).encode()
    payload = struct.pack("<I", len(text)) + text + state.materials.tobytes() + state.generator.key
    packed = zstandard.ZstdCompressor(level=3).compress(payload)
    return _MAGIC + bytes([FORMAT]) + _checksum(packed) + packed


def unpack_snapshot(blob: bytes, config: EnvConfig) -> WorldState:
    """The state in `blob`, for an environment of `config`.

    Raises InvalidSnapshot if the blob is corrupt, of another version, or of another environment.
    """
    payload = _payload(blob, config)
    try:
        (length,) = struct.unpack_from("<I", payload)
        values = cast(dict[str, Any], json.loads(payload[4 : 4 + length]))
        _check_origin(values, config)
        state = _state(values, payload[4 + length :], config)
        _check_world(state)
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError, struct.error) as error:
        raise InvalidSnapshot(
            f"The snapshot does not describe a Crafter world ({error or type(error).__name__}); it was not written by "
            "this program. Take another one."
        ) from error
    return state


def _payload(blob: bytes, config: EnvConfig) -> bytes:
    if not isinstance(blob, (bytes, bytearray, memoryview)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidSnapshot(f"A snapshot is bytes; this is {type(blob).__name__}. Give what snapshot() returned.")
    blob = bytes(blob)
    if not blob.startswith(_MAGIC):
        raise InvalidSnapshot("These bytes are not a snapshot of a Crafter world. Give what snapshot() returned.")
    if len(blob) <= _HEADER_BYTES:
        raise InvalidSnapshot(f"The snapshot is cut off after {len(blob)} bytes. Take another one.")
    if blob[len(_MAGIC)] != FORMAT:
        raise InvalidSnapshot(
            f"The snapshot has format {blob[len(_MAGIC)]}; this program reads format {FORMAT}. Restore it with the "
            "version of Craftscope that wrote it."
        )
    packed = blob[_HEADER_BYTES:]
    if blob[len(_MAGIC) + 1 : _HEADER_BYTES] != _checksum(packed):
        raise InvalidSnapshot("The snapshot is corrupt: its checksum is wrong. Take another one.")
    try:
        cells = config.area[0] * config.area[1]
        most = _TEXT_BYTES + (1 + _TEXT_BYTES_PER_CELL) * cells + _KEY_BYTES
        if zstandard.frame_content_size(packed) > most:
            raise InvalidSnapshot("The snapshot is larger than any Crafter world. Take another one.")
        return zstandard.ZstdDecompressor().decompress(packed, max_output_size=most)
    except zstandard.ZstdError as error:
        raise InvalidSnapshot(f"The snapshot is corrupt: it cannot be unpacked ({error}). Take another one.") from error


def _checksum(packed: bytes) -> bytes:
    return hashlib.blake2b(packed, digest_size=_CHECKSUM_BYTES).digest()


def _check_origin(values: dict[str, Any], config: EnvConfig) -> None:
    if values["engine"] != ENGINE_VERSION:
        raise InvalidSnapshot(
            f"The snapshot was taken with engine {values['engine']!r}; this is {ENGINE_VERSION!r}, which would go on "
            "differently. Restore it with the engine that wrote it."
        )
    for name, here in cast(dict[str, Any], json.loads(json.dumps(asdict(config)))).items():
        there = values["config"][name]
        if there != here:
            raise InvalidSnapshot(
                f"The snapshot is of an environment with {name} {there}; this one has {name} {here}. Make an "
                "environment with the same area, view and length."
            )


def _state(values: dict[str, Any], arrays: bytes, config: EnvConfig) -> WorldState:
    cells = config.area[0] * config.area[1]
    _expect(len(arrays) == cells + _KEY_BYTES, "its arrays have another size")
    player = values["player"]
    return WorldState(
        seed=_int(values["seed"], 0),
        episode=_int(values["episode"], 1),
        step=_int(values["step"], 0, _MAX_COUNT),
        generator=GeneratorState(arrays[cells:], _int(values["generator_position"], 0, KEY_WORDS)),
        materials=np.frombuffer(arrays[:cells], np.uint8).reshape(config.area),
        things=tuple(Thing(*(_int(number, -_INT32) for number in thing)) for thing in values["things"]),
        chunks=tuple(Chunk(_int(x), _int(y), tuple(map(_int, members))) for x, y, members in values["chunks"]),
        player=PlayerState(
            inventory=_ints(player["inventory"], len(ITEMS)),
            achievement_counts=_ints(player["achievement_counts"], len(ACHIEVEMENTS), _MAX_COUNT),
            sleeping=_bool(player["sleeping"]),
            hunger=_float(player["hunger"]),
            thirst=_float(player["thirst"]),
            fatigue=_float(player["fatigue"]),
            recover=_float(player["recover"]),
            last_health=_int(player["last_health"]),
        ),
        unlocked=_unlocked(values["unlocked"]),
        rewarded_health=_int(values["rewarded_health"]),
    )


def _check_world(state: WorldState) -> None:
    """Raises ValueError for inconsistent values, which would fail later and elsewhere."""
    _expect(bool(((state.materials >= 1) & (state.materials <= len(MATERIALS))).all()), "an unknown material")
    _expect(all(n <= limit for n, limit in zip(state.player.inventory, MAX_ITEM.values(), strict=True)), "inventory")
    kinds = [thing.kind for thing in state.things]
    _expect(bool(kinds) and kinds[0] == PLAYER and kinds.count(PLAYER) == 1, "its first thing is not the only player")
    _expect(state.things[0].health == state.player.inventory[0], "the player's health stands there twice")
    _expect(set(kinds) <= {PLAYER, COW, ZOMBIE, SKELETON, ARROW, PLANT}, "an unknown kind of thing")
    places = {(thing.x, thing.y) for thing in state.things}
    width, height = state.area
    _expect(len(places) == len(state.things), "two things in one cell")
    _expect(all(0 <= x < width and 0 <= y < height for x, y in places), "a thing outside the world")
    for thing in state.things:
        facing = (thing.facing_x, thing.facing_y)
        _expect(facing in DIRECTIONS.values() if thing.kind in (PLAYER, ARROW) else facing == (0, 0), "facing")
        _expect(thing.health >= 0 and 0 <= thing.counter <= _MAX_COUNT, "a health or counter that cannot be")
    _check_chunks(state)


def _check_chunks(state: WorldState) -> None:
    cells = [(chunk.x, chunk.y) for chunk in state.chunks]
    _expect(len(set(cells)) == len(cells), "a chunk is there twice")
    width, height = state.area
    _expect(all(x < width and y < height and x % CHUNK_SIZE[0] == y % CHUNK_SIZE[1] == 0 for x, y in cells), "a chunk")
    members = [rank for chunk in state.chunks for rank in chunk.members]
    _expect(sorted(members) == list(range(len(state.things))), "the chunks' members are not the things")
    for chunk in state.chunks:
        for thing in (state.things[rank] for rank in chunk.members):
            home = (thing.x - thing.x % CHUNK_SIZE[0], thing.y - thing.y % CHUNK_SIZE[1])
            _expect(home == (chunk.x, chunk.y), "a thing is in a chunk where it does not stand")


def _expect(is_so: bool, otherwise: str) -> None:
    if not is_so:
        raise ValueError(otherwise)


def _int(value: Any, low: int = 0, high: int = _INT32) -> int:
    _expect(type(value) is int and low <= value <= high, f"{value!r} in the place of a number from {low} to {high}")
    return value


def _ints(values: Any, count: int, high: int = _INT32) -> tuple[int, ...]:
    _expect(len(values) == count, f"{len(values)} numbers in the place of {count}")
    return tuple(_int(value, 0, high) for value in values)


def _unlocked(values: Any) -> tuple[bool, ...]:
    _expect(len(values) == len(ACHIEVEMENTS), f"{len(values)} achievements in the place of {len(ACHIEVEMENTS)}")
    return tuple(map(_bool, values))


def _bool(value: Any) -> bool:
    _expect(type(value) is bool, f"{value!r} in the place of true or false")
    return value


def _float(value: Any) -> float:
    _expect(type(value) in (int, float) and math.isfinite(value), f"{value!r} in the place of a number")
    return float(value)
