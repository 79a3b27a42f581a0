"""Blobs: what lies in them, what they refuse, and that files written earlier can still be read."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard

from core.errors import InvalidInput, StoreCorrupt, StoreTooNew
from core.store.blobs import Dictionary, compress, decompress, from_json, to_json
from core.store.codec import (
    VERSION,
    Layout,
    RequestParts,
    build_decision,
    decode_payload,
    decode_start,
    encode_decision,
    encode_start,
    start_state,
)
from core.types import Decision, StateFacts
from tests.support.records import make_decisions, make_state

GOLDEN = Path(__file__).parent.parent / "data" / "store_payload_v1.json"
LAYOUT = Layout.of([make_state(0, random.Random(1)).facts])


def encoded(decision: Decision, layout: Layout | None = LAYOUT) -> tuple[bytes, dict[int, Any]]:
    """A decision's JSON, and the parts of its request by number."""
    request = decision.model_call.request if decision.model_call else {}
    rest, places, new = RequestParts().split(request)
    return encode_decision(decision, layout, (rest, places)), {n: json.loads(part) for n, part in new.items()}


def decoded(text: bytes, parts: dict[int, Any], decision: Decision, layout: Layout | None = LAYOUT) -> Decision:
    """The decision of a JSON; scenes and components, which lie elsewhere, are taken from `decision`."""
    return build_decision(
        decode_payload(text, "A decision"),
        index=decision.index,
        step_start=decision.steps[0].index if decision.steps else 0,
        layout=layout,
        scenes=[step.state.scene for step in decision.steps],
        components=decision.reward.components,
        store_ms=decision.timing.store_ms,
        request_parts=parts,
    )


def test_a_payload_that_was_written_by_the_first_version_is_read():
    # Made once from make_decisions(2)[1] and not to be made again: a change here breaks databases that people have.
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    expected = make_decisions(4)[1][3]
    parts = {int(number): part for number, part in golden["request_parts"].items()}
    read = decoded(json.dumps(golden["payload"]).encode(), parts, expected)
    assert read == expected
    assert read.model_call is not None and read.model_call.parse_ms is None  # nobody measured it then


def test_a_payload_of_today_is_that_of_the_first_version():
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))["payload"]
    today = json.loads(encoded(make_decisions(4)[1][3])[0])
    # Fields may be added, with a default for what was written before; none may change or go.
    kept = {name: today["model_call"][name] for name in golden["model_call"]}
    assert {**today, "model_call": kept} == golden
    assert VERSION == 1


def test_names_are_not_repeated_and_states_not_stored_twice():
    _, decisions = make_decisions(30)
    decision = max(decisions, key=lambda decision: len(decision.steps))
    payload = json.loads(encoded(decision)[0])
    assert len(decision.steps) == 3
    assert set(payload) <= set(msgspec.structs.asdict(decode_payload(encoded(decision)[0], "")))
    assert not any(name in json.dumps(payload["steps"]) for name in ("sapling", "place_table"))
    assert "before" in payload and "after" not in payload and "scene" not in payload and "layout" not in payload


def test_facts_with_names_that_the_episode_did_not_begin_with_bring_their_own():
    _, (decision,) = make_decisions(1)
    odd = replace(decision, before=StateFacts(inventory={"torch": 2}, position=None))
    text, parts = encoded(odd)
    assert b"torch" in text
    assert decoded(text, parts, odd) == odd
    assert decoded(*encoded(odd, None), odd, None) == odd


def test_a_start_comes_back_equal():
    state = make_state(0, random.Random(5))
    layout, blob = encode_start(state)
    record = decode_start(blob, "The start")
    assert record.layout == layout
    assert start_state(record, state.scene) == state


def test_a_payload_of_a_newer_format_is_not_guessed_at():
    payload = json.loads(encoded(make_decisions(1)[1][0])[0])
    with pytest.raises(StoreTooNew, match="Decision 3 was written by a newer Craftscope .format 2"):
        decode_payload(json.dumps({**payload, "v": 2}).encode(), "Decision 3")


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"null", b'{"v": 1}', b'{"v": "one"}', b"\xff\xfe", b"[" * 100_000])
def test_invalid_payload_text_is_corrupt(text: bytes):
    with pytest.raises(StoreCorrupt, match="Decision 3 is stored but cannot be read"):
        decode_payload(text, "Decision 3")


def test_a_blob_with_a_wrong_byte_is_corrupt():
    blob = compress(b"some text that is long enough " * 20)
    for position in range(len(blob)):
        corrupt = blob[:position] + bytes([blob[position] ^ 0x55]) + blob[position + 1 :]
        try:
            assert decompress(corrupt, "A blob") == decompress(blob, "A blob")  # a bit that says nothing
        except StoreCorrupt as error:
            assert "A blob is stored but cannot be read" in str(error)


def test_a_blob_that_claims_to_be_enormous_is_corrupt():
    frame = bytes.fromhex("28b52ffde0") + (2**62).to_bytes(8, "little") + b"\x01\x00\x00"
    with pytest.raises(StoreCorrupt):
        decompress(frame, "A blob")


@pytest.mark.parametrize("states_its_size", [True, False])
@pytest.mark.parametrize("dictionary", [None, Dictionary(b"0123456789" * 20)])
def test_a_blob_that_unpacks_to_more_than_64_mib_is_corrupt(states_its_size: bool, dictionary: Dictionary | None):
    def packed(n_bytes: int) -> bytes:
        return zstandard.ZstdCompressor(write_content_size=states_its_size).compress(bytes(n_bytes))

    assert len(decompress(packed(64 * 2**20), "A blob", dictionary)) == 64 * 2**20
    with pytest.raises(StoreCorrupt, match="A blob is stored but cannot be read"):
        decompress(packed(64 * 2**20 + 1), "A blob", dictionary)


def test_a_blob_that_states_too_small_a_size_is_corrupt():
    whole = zstandard.ZstdCompressor().compress(bytes(2**17))
    assert whole[4:9] == bytes([0xA0]) + (2**17).to_bytes(4, "little")  # a size in four bytes
    with pytest.raises(StoreCorrupt):
        decompress(whole[:5] + (1000).to_bytes(4, "little") + whole[9:], "A blob")


def test_more_than_can_be_read_again_is_not_stored():
    with pytest.raises(InvalidInput, match="67,108,864 are the limit"):
        compress(bytes(64 * 2**20 + 1))


def test_a_dictionary_makes_alike_texts_small_and_is_needed_to_read_them():
    draw = random.Random(1)
    first = json.dumps([draw.random() for _ in range(100)]).encode()
    second = first[:1500] + b"x" + first[1500:]
    dictionary = Dictionary(first)
    blob = compress(second, dictionary)
    assert len(blob) < len(compress(second)) / 10
    assert decompress(blob, "A blob", Dictionary(first)) == second
    with pytest.raises(StoreCorrupt):
        decompress(blob, "A blob", Dictionary(first[::-1]))


def test_half_a_surrogate_pair_and_nul_survive_in_json():
    text = "a\ud83d\x00b\udc00"
    assert from_json(to_json([text, "é"]), list[str], "Text") == [text, "é"]
