"""A snapshot continues identically; anything else than a sound snapshot is refused with a sentence."""

from __future__ import annotations

import hashlib
import json
import pickle
import struct
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
import zstandard

from core.env import CrafterEnv
from core.env.digest import digests
from core.env.rules import ACTIONS
from core.env.snapshot import pack_snapshot, unpack_snapshot
from core.env.state import ARROW, PLANT, SKELETON, ZOMBIE, Chunk, Thing, WorldState
from core.errors import InvalidSeeds, InvalidSnapshot
from core.types import EnvConfig
from tests.support.worlds import EnvMaker, first_snapshot, first_state

CONFIG = EnvConfig()
HEADER = 23  # bytes before the zstd frame


def _crowded(state: WorldState) -> WorldState:
    """One more of each kind around the player, counters running, and a chunk that is empty."""
    x, y = state.position
    more = (
        Thing(ZOMBIE, x - 2, y, 4, 0, 0, 3),
        Thing(SKELETON, x + 2, y, 2, 0, 0, 4),
        Thing(ARROW, x, y - 2, 0, 0, -1, 0),
        Thing(PLANT, x, y + 2, 1, 0, 0, 298),
    )
    kept = tuple(thing for thing in state.things if abs(thing.x - x) + abs(thing.y - y) > 3 or thing == state.things[0])
    things = kept + more
    homes: dict[tuple[int, int], list[int]] = {(60, 60): []}
    for rank, thing in enumerate(things):
        homes.setdefault((thing.x // 12 * 12, thing.y // 12 * 12), []).insert(0, rank)
    chunks = tuple(Chunk(*cell, tuple(ranks)) for cell, ranks in homes.items())
    slow = replace(state.player, hunger=20.5, thirst=19.5, fatigue=-4.0, recover=24.0)
    return replace(state, things=things, chunks=chunks, player=slow)


@pytest.mark.parametrize("step", [5, 140, 268], ids=["across a balance tick", "into the night", "into the morning"])
def test_a_restored_snapshot_continues_identically(env_at: EnvMaker, step: int) -> None:
    env = env_at(step, change=_crowded)
    other = CrafterEnv()
    other.restore(env.snapshot())
    for action in [0, 6, 1, 5, 2, 5, 3, 4, 0, 5] * 4:
        here, there = env.step(action), other.step(action)
        assert np.array_equal(here[0], there[0])
        assert here[1:4] == there[1:4]
        assert env.state_digest() == other.state_digest()
        assert json.dumps(here[4]["inventory"]) == json.dumps(there[4]["inventory"])


def test_a_snapshot_in_the_middle_of_play_continues_identically(env_at: EnvMaker) -> None:
    env = env_at(130, observe=False)
    for step in range(60):
        env.step((step * 5) % 17)
    other = CrafterEnv(observe=False)
    other.restore(env.snapshot())
    assert other.snapshot() == env.snapshot()
    for step in range(25):
        env.step((step * 3) % 17)
        other.step((step * 3) % 17)
    assert env.state_digest() == other.state_digest()


def test_the_next_reset_after_a_restore_is_the_seeds_next_world() -> None:
    env, other = CrafterEnv(area=(16, 16)), CrafterEnv(area=(16, 16))
    env.reset(seed=8, options={"episode": 4})
    other.reset(seed=1)
    other.restore(env.snapshot())
    env.reset()
    other.reset()
    assert other.state_digest() == env.state_digest()
    assert other.scene() == env.scene()


def test_every_value_comes_back() -> None:
    state = _crowded(first_state())
    back = unpack_snapshot(pack_snapshot(state, CONFIG), CONFIG)
    assert digests(back) == digests(state)
    assert (back.things, back.chunks, back.player) == (state.things, state.chunks, state.player)
    assert back.chunks[0] == Chunk(60, 60, ())


def _refused(blob: Any, sentence: str, config: EnvConfig = CONFIG) -> None:
    with pytest.raises(InvalidSnapshot, match=sentence):
        unpack_snapshot(blob, config)


def test_a_corrupt_byte_anywhere_is_noticed() -> None:
    blob = first_snapshot()
    for place in [*range(HEADER + 4), *range(HEADER, len(blob), 97), len(blob) - 1]:
        corrupt = bytearray(blob)
        corrupt[place] ^= 0x20
        _refused(bytes(corrupt), r"Take another one|Give what snapshot\(\) returned|Restore it with")


@pytest.mark.parametrize("length", [0, 3, 7, 22, 23, 24, 1000])
def test_a_cut_off_snapshot_is_rejected(length: int) -> None:
    _refused(first_snapshot()[:length], r"cut off|corrupt|not a snapshot")


@pytest.mark.parametrize("blob", [b"", b"{}", pickle.dumps({"seed": 1}), "text", None, 5])
def test_other_bytes_are_rejected(blob: Any) -> None:
    _refused(blob, r"Give what snapshot\(\) returned")


def test_another_format_is_rejected() -> None:
    blob = first_snapshot()
    _refused(blob[:6] + b"\x02" + blob[7:], "has format 2; this program reads format 1")


@pytest.mark.parametrize("config", [EnvConfig(area=(32, 64)), EnvConfig(view=(9, 7)), EnvConfig(length=500)])
def test_a_snapshot_of_another_environment_is_rejected(config: EnvConfig) -> None:
    _refused(first_snapshot(), "Make an environment with the same area, view and length", config)


def test_a_refused_snapshot_leaves_the_environment_as_it_was(env_at: EnvMaker) -> None:
    env = env_at()
    env.step(0)
    before = env.state_digest()
    with pytest.raises(InvalidSnapshot):
        env.restore(first_snapshot()[:-1])
    assert env.state_digest() == before
    env.step(0)


def _forged(values: Any, arrays: bytes | None = None) -> bytes:
    """A snapshot with a right checksum around wrong content."""
    state = first_state()
    text = json.dumps(values).encode()
    rest = state.materials.tobytes() + state.generator.key if arrays is None else arrays
    packed = zstandard.compress(struct.pack("<I", len(text)) + text + rest)
    return first_snapshot()[:7] + hashlib.blake2b(packed, digest_size=16).digest() + packed


def _values() -> dict[str, Any]:
    payload = zstandard.decompress(first_snapshot()[HEADER:])
    (length,) = struct.unpack_from("<I", payload)
    return json.loads(payload[4 : 4 + length])


def test_a_forged_snapshot_of_the_right_values_is_accepted() -> None:
    """So that the refusals below are for the values and not for the forging."""
    assert digests(unpack_snapshot(_forged(_values()), CONFIG)) == digests(first_state())


WRONG: dict[str, Callable[[dict[str, Any]], object]] = {
    "a missing value": lambda v: v.pop("player"),
    "a missing inventory entry": lambda v: v["player"]["inventory"].pop(),
    "too much in the inventory": lambda v: v["player"]["inventory"].__setitem__(9, 10),
    "text for a number": lambda v: v.update(step="5"),
    "a truth value for a number": lambda v: v.update(step=True),
    "a number too large": lambda v: v.update(step=2**80),
    "not a number": lambda v: v["player"].update(hunger=float("nan")),
    "a generator position out of range": lambda v: v.update(generator_position=625),
    "nothing in the world": lambda v: v.update(things=[], chunks=[]),
    "two players": lambda v: v["things"][1].__setitem__(0, 13),
    "an unknown kind": lambda v: v["things"][1].__setitem__(0, 19),
    "outside the world": lambda v: v["things"][1].__setitem__(1, 64),
    "another health in the inventory": lambda v: v["player"]["inventory"].__setitem__(0, 3),
    "a player who looks nowhere": lambda v: v["things"][0].__setitem__(5, 0),
    "a cow that looks somewhere": lambda v: v["things"][1].__setitem__(5, 1),
    "two things in one cell": lambda v: v["things"].__setitem__(2, v["things"][1]),
    "a member that does not exist": lambda v: v["chunks"][0][2].append(999),
    "a thing in a chunk twice": lambda v: v["chunks"].append(v["chunks"][0]),
    "a chunk that is none": lambda v: v["chunks"].append([5, 5, []]),
    "an empty list": lambda v: v.clear(),
}


@pytest.mark.parametrize("name", WRONG)
def test_inconsistent_values_are_rejected(name: str) -> None:
    values = _values()
    WRONG[name](values)
    _refused(_forged(values), "does not describe a Crafter world")


@pytest.mark.parametrize("values", [[], None, 5, {"engine": []}])
def test_json_of_another_shape_is_rejected(values: Any) -> None:
    _refused(_forged(values), "does not describe a Crafter world|taken with engine")


def test_wrong_arrays_are_rejected() -> None:
    _refused(_forged(_values(), b""), "its arrays have another size")
    _refused(_forged(_values(), bytes(64 * 64 + 2496)), "an unknown material")


def test_a_snapshot_of_another_engine_is_rejected() -> None:
    _refused(_forged({**_values(), "engine": "crafter-9/other"}), "taken with engine 'crafter-9/other'")


def test_a_snapshot_that_unpacks_without_end_is_rejected() -> None:
    bomb = zstandard.compress(bytes(70 * 2**20))
    blob = first_snapshot()[:7] + hashlib.blake2b(bomb, digest_size=16).digest() + bomb
    _refused(blob, "larger than any Crafter world")


def test_a_snapshot_is_small_and_names_its_environment() -> None:
    assert len(first_snapshot()) < 8_000
    assert _values()["config"] == json.loads(json.dumps(asdict(CONFIG)))


def test_a_snapshot_that_is_too_large_is_rejected_before_it_is_unpacked(env_at: EnvMaker) -> None:
    text = json.dumps({"engine": "x", "things": [[]] * 200_000}).encode()
    payload = struct.pack("<I", len(text)) + text
    packed = zstandard.ZstdCompressor().compress(payload)
    blob = b"CRSNAP\x01" + hashlib.blake2b(packed, digest_size=16).digest() + packed
    with pytest.raises(InvalidSnapshot, match="larger than any"):
        env_at().restore(blob)


def test_the_last_world_of_a_seed_has_none_after_it() -> None:
    env = CrafterEnv(area=(9, 9), observe=False)
    env.reset(seed=1, options={"episode": 2**31 - 1})
    env.restore(env.snapshot())
    with pytest.raises(InvalidSeeds, match="from 1 to"):
        env.reset()


def _walked(env: CrafterEnv, steps: range) -> Iterator[str]:
    """A walk with long sleeps, through the seed's next world after each death; the state digest after each step."""
    for step in steps:
        action = ACTIONS.index("sleep") if step % 300 >= 120 else int(np.random.RandomState(step).randint(17))
        terminated = env.step(action)[2]
        if terminated:
            env.reset()
        yield env.state_digest()


def test_from_twenty_points_a_restored_episode_goes_on_for_500_steps_as_it_did() -> None:
    env = CrafterEnv(area=(40, 40), observe=False)
    env.reset(seed=8)
    points, digests, met = {}, [], set()
    for start in range(0, 2_000, 100):
        points[start] = env.snapshot()
        met |= _circumstances(unpack_snapshot(points[start], env.config))
        digests += _walked(env, range(start, start + 100))
    digests += _walked(env, range(2_000, 2_500))
    assert met == {"night", "day", "asleep", "awake", "emptied chunk", "later world"}
    for start, blob in points.items():
        restored = CrafterEnv(area=(40, 40), observe=False)
        restored.restore(blob)
        assert list(_walked(restored, range(start, start + 500))) == digests[start : start + 500]


def _circumstances(state: WorldState) -> set[str]:
    return {
        "night" if 148 <= state.step % 300 <= 272 else "day",
        "asleep" if state.player.sleeping else "awake",
        *(["emptied chunk"] if any(not chunk.members for chunk in state.chunks) else []),
        *(["later world"] if state.episode > 1 else []),
    }
