"""The digests are as `core.env.digest` defines them, and stay so."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import replace

import numpy as np

from core.env.digest import Digests, digests
from core.env.state import ARROW, COW, PLAYER, Chunk, GeneratorState, PlayerState, Thing, WorldState
from tests.support.worlds import EnvMaker, first_state

# A world of 3 x 2 cells in which every value differs from its neighbours, so that none can be left out or swapped.
STATE = WorldState(
    seed=2**31 - 1,
    episode=3,
    step=151,
    generator=GeneratorState(key=bytes(range(256)) * 9 + bytes(192), position=624),
    materials=np.array([[1, 2], [3, 4], [12, 6]], np.uint8),
    things=(
        Thing(PLAYER, 1, 0, health=7, facing_x=-1, facing_y=0, counter=0),
        Thing(COW, 0, 1, health=3, facing_x=0, facing_y=0, counter=0),
        Thing(ARROW, 2, 1, health=0, facing_x=0, facing_y=1, counter=0),
    ),
    chunks=(Chunk(12, 0, ()), Chunk(0, 0, (0, 2, 1))),
    player=PlayerState(
        inventory=(7, 8, 9, 6, *range(12)),
        achievement_counts=tuple(range(22)),
        sleeping=True,
        hunger=1.5,
        thirst=2.0,
        fatigue=-3.0,
        recover=0.5,
        last_health=8,
    ),
    unlocked=(True, False) * 11,
    rewarded_health=9,
)


def test_digests_follow_their_definition():
    situation = b"craftscope world 1" + struct.pack("<qqii", 2**31 - 1, 3, 3, 2) + bytes([1, 2, 3, 4, 12, 6])
    situation += struct.pack("<i7i7i7i", 3, 13, 1, 0, 7, -1, 0, 0, 14, 0, 1, 3, 0, 0, 0, 17, 2, 1, 0, 0, 1, 0)
    situation += struct.pack("<i3i6i", 2, 12, 0, 0, 0, 0, 3, 0, 2, 1)
    situation += struct.pack("<16i22iBi", 7, 8, 9, 6, *range(12), *range(22), 1, 8) + bytes([1, 0] * 11)
    situation += struct.pack("<i", 9)
    hidden = struct.pack("<q", 151) + STATE.generator.key + struct.pack("<i4d", 624, 1.5, 2.0, -3.0, 0.5)
    assert digests(STATE) == Digests(
        state=hashlib.blake2b(situation + hidden, digest_size=16).hexdigest(),
        world=hashlib.blake2b(situation, digest_size=16).hexdigest(),
    )


def test_the_digests_of_that_world_are_pinned():
    assert digests(STATE) == Digests(state="f3fc36762c1a352271146ccd0f2a9935", world="41fa49cc139ee71147747ffaf2ab8de2")


def test_the_digests_of_seed_42_are_pinned(env_at: EnvMaker):
    env = env_at(observe=False)
    assert (env.state_digest(), env.world_digest()) == (
        "57f679af8f7fb7ef6fa03fe25f7f170e",
        "1980b9a16b2086f35719c2f38dc3aaec",
    )
    for action in range(17):
        env.step(action)
    assert (env.state_digest(), env.world_digest()) == (
        "ce301db4efbb4b2e8fd52daaedc714ae",
        "61cafb0a2a79c9d4c328ff7e122e6baa",
    )


def test_what_an_observer_cannot_see_changes_the_state_digest_only():
    later = digests(replace(STATE, step=152))
    assert later.state != digests(STATE).state
    assert later.world == digests(STATE).world


def test_memory_layout_does_not_matter():
    state = first_state()
    turned = replace(state, materials=np.asfortranarray(state.materials))
    assert digests(turned) == digests(state)
