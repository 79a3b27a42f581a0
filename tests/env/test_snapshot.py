"""A restored snapshot continues identically; an invalid one is refused with a sentence."""

from __future__ import annotations

import hashlib
import json
import pickle
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
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
def test_a_restored_snapshot_continues_identically(env_at: EnvMaker, step: int):
    env = env_at(step, change=_crowded)
    other = CrafterEnv()
    other.restore(env.snapshot())
    for action in [0, 6, 1, 5, 2, 5, 3, 4, 0, 5] * 4:
        here, there = env.step(action), other.step(action)
        assert np.array_equal(here[0], there[0])
        assert here[1:4] == there[1:4]
        assert env.state_digest() == other.state_digest()
        assert json.dumps(here[4]["inventory"]) == json.dumps(there[4]["inventory"])


def test_the_next_reset_after_a_restore_is_the_seeds_next_world():
    env, other = CrafterEnv(area=(16, 16)), CrafterEnv(area=(16, 16))
    env.reset(seed=8, options={"episode": 4})
    other.reset(seed=1)
    other.restore(env.snapshot())
    env.reset()
    other.reset()
    assert other.state_digest() == env.state_digest()
    assert other.scene() == env.scene()


def test_every_value_comes_back():
    state = _crowded(first_state())
    back = unpack_snapshot(pack_snapshot(state, CONFIG), CONFIG)
    assert digests(back) == digests(state)
    assert (back.things, back.chunks, back.player) == (state.things, state.chunks, state.player)
    assert back.chunks[0] == Chunk(60, 60, ())


def _signed(packed: bytes) -> bytes:
    """A snapshot with a correct checksum around any content."""
    return first_snapshot()[:7] + hashlib.blake2b(packed, digest_size=16).digest() + packed


def _forged(values: Any, arrays: bytes | None = None) -> bytes:
    state = first_state()
    text = json.dumps(values).encode()
    rest = state.materials.tobytes() + state.generator.key if arrays is None else arrays
    return _signed(zstandard.compress(struct.pack("<I", len(text)) + text + rest))


def _values() -> dict[str, Any]:
    payload = zstandard.decompress(first_snapshot()[HEADER:])
    (length,) = struct.unpack_from("<I", payload)
    return json.loads(payload[4 : 4 + length])


def _flipped(place: int) -> bytes:
    corrupt = bytearray(first_snapshot())
    corrupt[place] ^= 0x20
    return bytes(corrupt)


CORRUPT: dict[str, tuple[Callable[[], Any], str]] = {
    "empty": (lambda: b"", r"Give what snapshot\(\) returned"),
    "a pickle": (lambda: pickle.dumps({"seed": 1}), r"Give what snapshot\(\) returned"),
    "text": (lambda: "text", r"Give what snapshot\(\) returned"),
    "cut off in the header": (lambda: first_snapshot()[:HEADER], "cut off after 23 bytes"),
    "cut off in the content": (lambda: first_snapshot()[:1000], "checksum is wrong"),
    "another byte in the checksum": (lambda: _flipped(8), "checksum is wrong"),
    "another last byte": (lambda: _flipped(-1), "checksum is wrong"),
    "another format": (lambda: first_snapshot()[:6] + b"\x02" + first_snapshot()[7:], "has format 2; this .* format 1"),
    "not compressed": (lambda: _signed(b"{}"), "cannot be unpacked"),
    "unpacks without end": (lambda: _signed(zstandard.compress(bytes(70 * 2**20))), "larger than any Crafter world"),
    "no arrays": (lambda: _forged(_values(), b""), "its arrays have another size"),
    "unknown materials": (lambda: _forged(_values(), bytes(64 * 64 + 2496)), "an unknown material"),
    "another shape": (lambda: _forged([]), "does not describe a Crafter world"),
    "another engine": (
        lambda: _forged({**_values(), "engine": "crafter-9/other"}),
        "taken with engine 'crafter-9/other'",
    ),
}


@pytest.mark.parametrize("name", CORRUPT)
def test_a_corrupt_snapshot_is_refused_and_the_environment_stays_as_it_was(env_at: EnvMaker, name: str):
    blob, sentence = CORRUPT[name]
    env = env_at()
    before = env.state_digest()
    with pytest.raises(InvalidSnapshot, match=sentence):
        env.restore(blob())
    assert env.state_digest() == before


@pytest.mark.parametrize("config", [EnvConfig(area=(32, 64)), EnvConfig(view=(9, 7)), EnvConfig(length=500)])
def test_a_snapshot_of_another_environment_is_refused(config: EnvConfig):
    with pytest.raises(InvalidSnapshot, match="Make an environment with the same area, view and length"):
        unpack_snapshot(first_snapshot(), config)


WRONG: dict[str, Callable[[dict[str, Any]], object]] = {
    "a missing value": lambda v: v.pop("player"),
    "a missing inventory entry": lambda v: v["player"]["inventory"].pop(),
    "too much in the inventory": lambda v: v["player"]["inventory"].__setitem__(9, 10),
    "text for a number": lambda v: v.update(step="5"),
    "a bool for a number": lambda v: v.update(step=True),
    "a number too large": lambda v: v["things"][1].__setitem__(3, 2**80),
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
    "a chunk listed twice": lambda v: v["chunks"].append(v["chunks"][0]),
    "a cell where no chunk begins": lambda v: v["chunks"].append([5, 5, []]),
    "a thing in no chunk": lambda v: v["chunks"].pop(0),
}


@pytest.mark.parametrize("name", WRONG)
def test_inconsistent_values_are_refused(name: str):
    values = _values()
    assert digests(unpack_snapshot(_forged(values), CONFIG)) == digests(first_state())
    WRONG[name](values)
    with pytest.raises(InvalidSnapshot, match="does not describe a Crafter world"):
        unpack_snapshot(_forged(values), CONFIG)


def test_a_snapshot_is_small():
    assert len(first_snapshot()) < 8_000


def test_the_last_world_of_a_seed_has_no_next_one():
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


def test_an_episode_restored_at_any_of_twenty_points_continues_identically_for_500_steps():
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
