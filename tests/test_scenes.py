"""Scenes survive packing; what cannot be packed or read is rejected with the reason."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import InvalidInput
from core.scenes import ITEMS, TEXTURES, concat_packed, pack_scenes, read_packed, unpack_scenes
from core.types import Scene, Sprite

GRID = (3, 2)
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no failure

NAMES = st.one_of(st.sampled_from(TEXTURES + ITEMS), st.text(min_size=1, max_size=3))
SCENES = st.builds(
    Scene,
    step=st.integers(0, 2**32 - 1),
    grid=st.just(GRID),
    materials=st.binary(min_size=6, max_size=6).map(tuple),
    sprites=st.lists(st.builds(Sprite, NAMES, st.integers(0, 2), st.integers(0, 1)), max_size=3).map(tuple),
    inventory=st.dictionaries(NAMES, st.integers(0, 254), max_size=4),
    sleeping=st.booleans(),
)

PLAIN = Scene(
    step=7,
    grid=GRID,
    materials=(0, 1, 2, 3, 4, 5),
    sprites=(Sprite("player-down", 1, 1), Sprite("cow", 2, 0)),
    inventory={"health": 9, "wood": 3},
    sleeping=True,
)


@patient
@given(st.lists(SCENES, max_size=4))
def test_packed_scenes_are_unpacked_equal(given_scenes: list[Scene]):
    assert unpack_scenes(pack_scenes(given_scenes)) == tuple(given_scenes)


@patient
@given(st.lists(st.lists(SCENES, max_size=2), max_size=3))
def test_joined_parts_equal_the_whole(parts: list[list[Scene]]):
    whole = concat_packed(pack_scenes(part) for part in parts)
    assert unpack_scenes(whole) == tuple(scene for part in parts for scene in part)


def test_joined_parts_have_the_bytes_of_packing_at_once():
    later = replace(PLAIN, step=8, sleeping=False, sprites=())
    assert concat_packed([pack_scenes([PLAIN]), pack_scenes([later])]) == pack_scenes([PLAIN, later])


def test_the_items_keep_the_order_in_which_crafter_draws_them():
    shuffled = replace(PLAIN, inventory={"wood": 3, "health": 9})
    assert list(unpack_scenes(pack_scenes([shuffled]))[0].inventory) == ["health", "wood"]


def test_columns_can_be_read_without_making_scenes():
    packed = read_packed(pack_scenes([PLAIN, replace(PLAIN, step=8, inventory={"health": 4})]))
    assert packed.steps.tolist() == [7, 8]
    assert packed.inventory[:, packed.items.index("health")].tolist() == [9, 4]
    assert packed.materials.shape == (2, 6)


def test_the_layout_of_version_1_is_stable():
    # Pinned byte by byte: stored episodes and the player in the browser both read it.
    expected = (
        b"CSCN\x01\x00\x03\x02\x01\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00"
        + b"\x07\x00\x00\x00"
        + b"\x01"
        + b"\x02\x00"
        + bytes([0, 1, 2, 3, 4, 5])
        + bytes([9, 255, 255, 255, 255, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255])
        + bytes([3, 5, 1, 2, 1, 0])
    )
    assert pack_scenes([PLAIN]) == expected


def test_an_empty_list_can_be_packed():
    assert unpack_scenes(pack_scenes([])) == ()
    assert unpack_scenes(concat_packed([])) == ()


@pytest.mark.parametrize(
    ("blob", "reason"),
    [
        (b"", "too short"),
        (b"PNG!" + pack_scenes([PLAIN])[4:], "first bytes"),
        (pack_scenes([PLAIN])[:-1], "expected"),
        (pack_scenes([PLAIN]) + b"\0", "expected"),
        (b"CSCN" + struct.pack("<H", 2) + pack_scenes([PLAIN])[6:], "format 2"),
        (pack_scenes([PLAIN])[:16] + b"\x02\0\0\0[]" + pack_scenes([PLAIN])[20:], "names"),
    ],
)
def test_a_corrupt_blob_is_rejected_with_the_reason(blob: bytes, reason: str):
    with pytest.raises(InvalidInput, match=reason):
        unpack_scenes(blob)


@pytest.mark.parametrize(
    "scene",
    [
        replace(PLAIN, materials=(1, 2)),
        replace(PLAIN, inventory={"wood": -1}),
        replace(PLAIN, sprites=(Sprite("cow", 300, 0),)),
    ],
)
def test_scenes_that_do_not_fit_the_format_are_rejected(scene: Scene):
    with pytest.raises(InvalidInput, match="does not fit the format"):
        pack_scenes([PLAIN, scene])


def test_scenes_of_different_views_cannot_be_joined():
    other = replace(PLAIN, grid=(2, 3))
    with pytest.raises(InvalidInput, match="Cannot join"):
        concat_packed([pack_scenes([PLAIN]), pack_scenes([other])])
