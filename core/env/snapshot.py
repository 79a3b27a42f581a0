"""A world's state as bytes, and back.

    b"CRSNAP" + uint8 format + 16 bytes blake2b of the rest + zstd of
        uint32 n + n bytes of JSON + materials (uint8, x-major) + generator key (624 uint32); little-endian

The JSON holds the engine version, the environment's configuration, and the remaining values of `WorldState`, each
under its name. Nothing is unpickled, and every value is validated: a snapshot may come from a hostile source.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Annotated

import msgspec
import numpy as np
import zstandard
from msgspec import Meta

from core.env.generator import KEY_WORDS
from core.env.rules import ACHIEVEMENTS, CHUNK_SIZE, DIRECTIONS, ENGINE_VERSION, MATERIALS, MAX_ITEM
from core.env.state import (
    ARROW,
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
_MAX_COUNT = 10**9  # steps, achievements, counters: still fits the digest's int32 after a long game

_Amount = Annotated[int, Meta(ge=0, le=_INT32)]


class _Origin(msgspec.Struct):
    """The part of the JSON that another engine's snapshot has too."""

    engine: str
    config: EnvConfig


class _Values(_Origin):
    """The JSON: a `WorldState` without its arrays, and what it was taken from."""

    seed: _Amount
    episode: Annotated[int, Meta(ge=1, le=_INT32)]
    step: Annotated[int, Meta(ge=0, le=_MAX_COUNT)]
    generator_position: Annotated[int, Meta(ge=0, le=KEY_WORDS)]
    things: Annotated[tuple[Thing, ...], Meta(min_length=1)]
    chunks: tuple[Chunk, ...]
    player: PlayerState
    unlocked: Annotated[tuple[bool, ...], Meta(min_length=len(ACHIEVEMENTS), max_length=len(ACHIEVEMENTS))]
    rewarded_health: _Amount


# The fields of `_Values` that are fields of `WorldState` too.
_SHARED = ("seed", "episode", "step", "things", "chunks", "player", "unlocked", "rewarded_health")


def pack_snapshot(state: WorldState, config: EnvConfig) -> bytes:
    """config: of the environment that `state` belongs to."""
    shared = {name: getattr(state, name) for name in _SHARED}
    values = _Values(engine=ENGINE_VERSION, config=config, generator_position=state.generator.position, **shared)
    text = msgspec.json.encode(values)
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
        text, arrays = payload[4 : 4 + length], payload[4 + length :]
        _check_origin(msgspec.json.decode(text, type=_Origin), config)
        state = _state(msgspec.json.decode(text, type=_Values), arrays, config)
        _check_world(state)
    except (ValueError, RecursionError, struct.error) as error:
        raise InvalidSnapshot(
            f"The snapshot does not describe a Crafter world ({error}); it was not written by this program. "
            "Take another one."
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
        limit = _TEXT_BYTES + (1 + _TEXT_BYTES_PER_CELL) * cells + _KEY_BYTES
        if zstandard.frame_content_size(packed) > limit:
            raise InvalidSnapshot("The snapshot is larger than any Crafter world. Take another one.")
        return zstandard.ZstdDecompressor().decompress(packed, max_output_size=limit)
    except zstandard.ZstdError as error:
        raise InvalidSnapshot(f"The snapshot is corrupt: it cannot be unpacked ({error}). Take another one.") from error


def _checksum(packed: bytes) -> bytes:
    return hashlib.blake2b(packed, digest_size=_CHECKSUM_BYTES).digest()


def _check_origin(origin: _Origin, config: EnvConfig) -> None:
    if origin.engine != ENGINE_VERSION:
        raise InvalidSnapshot(
            f"The snapshot was taken with engine {origin.engine!r}; this is {ENGINE_VERSION!r}, which would continue "
            "differently. Restore it with the engine that wrote it."
        )
    for name in EnvConfig.__slots__:
        there, here = getattr(origin.config, name), getattr(config, name)
        if there != here:
            raise InvalidSnapshot(
                f"The snapshot is of an environment with {name} {there}; this one has {name} {here}. Make an "
                "environment with the same area, view and length."
            )


def _state(values: _Values, arrays: bytes, config: EnvConfig) -> WorldState:
    cells = config.area[0] * config.area[1]
    _expect(len(arrays) == cells + _KEY_BYTES, "its arrays have another size")
    return WorldState(
        generator=GeneratorState(arrays[cells:], values.generator_position),
        materials=np.frombuffer(arrays[:cells], np.uint8).reshape(config.area),
        **{name: getattr(values, name) for name in _SHARED},
    )


def _check_world(state: WorldState) -> None:
    """Raises ValueError for inconsistent values, which would fail later and elsewhere."""
    player, counts = state.player, state.player.achievement_counts
    _expect(bool(((state.materials >= 1) & (state.materials <= len(MATERIALS))).all()), "an unknown material")
    _expect(all(0 <= n <= limit for n, limit in zip(player.inventory, MAX_ITEM.values(), strict=True)), "inventory")
    _expect(len(counts) == len(ACHIEVEMENTS) and all(0 <= n <= _MAX_COUNT for n in counts), "achievement counts")
    _expect(0 <= player.last_health <= _INT32, "last health")
    kinds = [thing.kind for thing in state.things]
    _expect(kinds[0] == PLAYER and kinds.count(PLAYER) == 1, "its first thing is not the only player")
    _expect(state.things[0].health == player.inventory[0], "the player has two different healths")
    _expect(set(kinds) <= {PLAYER, COW, ZOMBIE, SKELETON, ARROW, PLANT}, "an unknown kind of thing")
    width, height = state.area
    _expect(all(0 <= thing.x < width and 0 <= thing.y < height for thing in state.things), "a thing outside the world")
    _expect(len({(thing.x, thing.y) for thing in state.things}) == len(kinds), "two things in one cell")
    for thing in state.things:
        facing = (thing.facing_x, thing.facing_y)
        _expect(facing in DIRECTIONS.values() if thing.kind in (PLAYER, ARROW) else facing == (0, 0), "facing")
        _expect(0 <= thing.health <= _INT32 and 0 <= thing.counter <= _MAX_COUNT, "a health or counter out of range")
    _check_chunks(state)


def _check_chunks(state: WorldState) -> None:
    (width, height), (step_x, step_y) = state.area, CHUNK_SIZE
    inside: dict[tuple[int, int], list[int]] = {
        (x, y): [] for x in range(0, width, step_x) for y in range(0, height, step_y)
    }
    for rank, thing in enumerate(state.things):
        inside[thing.x - thing.x % step_x, thing.y - thing.y % step_y].append(rank)
    for chunk in state.chunks:
        # Taken out, so that a chunk that is listed twice is found.
        _expect(inside.pop((chunk.x, chunk.y), None) == sorted(chunk.members), "a chunk has other members")
    _expect(not any(inside.values()), "a thing is in no chunk")


def _expect(is_so: bool, otherwise: str) -> None:
    if not is_so:
        raise ValueError(otherwise)
