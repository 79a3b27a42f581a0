"""Blobs: decisions, reward facts, what is corrupt, and that blobs of earlier versions can still be read."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import zstandard

from core.errors import InvalidInput, StoreCorrupt, StoreTooNew
from core.facts import ACHIEVEMENT_COUNT, INVENTORY, UNLOCK, EpisodeFacts, FactsWriter
from core.store import TraceStore
from core.store.blobs import Dictionary, compress, decompress, from_json, to_json
from core.store.codec import (
    VERSION,
    Layout,
    RequestParts,
    build_decision,
    decode_payload,
    encode_decision,
)
from core.store.packs import pack, unpack
from core.store.tables import episode_packs
from core.types import Decision, StateFacts
from tests.support.records import make_decisions, make_state, record_run

GOLDEN = Path(__file__).parent.parent / "data" / "store_payload_v1.json"
LAYOUT = Layout.of([make_state(0, random.Random(1)).facts])


def encoded(decision: Decision) -> tuple[bytes, dict[int, Any]]:
    """A decision's JSON, and the parts of its request by number."""
    request = decision.model_call.request if decision.model_call else {}
    rest, places, new = RequestParts().split(request)
    return encode_decision(decision, LAYOUT, (rest, places)), {n: json.loads(part) for n, part in new.items()}


def decoded(text: bytes, parts: dict[int, Any], decision: Decision) -> Decision:
    """The decision from its JSON; scenes and components, which other tables hold, are taken from `decision`."""
    return build_decision(
        decode_payload(text, "A decision"),
        index=decision.index,
        step_start=decision.steps[0].index if decision.steps else 0,
        layout=LAYOUT,
        scenes=[step.state.scene for step in decision.steps],
        components=decision.reward.components,
        store_ms=decision.timing.store_ms,
        request_parts=parts,
    )


def test_a_payload_of_the_first_version_is_read():
    # Written once, from make_decisions(4)[1][3]. It must stay as it is: users have databases of that version.
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    expected = make_decisions(4)[1][3]
    parts = {int(number): part for number, part in golden["request_parts"].items()}
    read = decoded(json.dumps(golden["payload"]).encode(), parts, expected)
    assert read == expected
    assert read.model_call is not None and read.model_call.parse_ms is None  # not measured then


def test_the_payload_format_has_not_changed():
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))["payload"]
    today = json.loads(encoded(make_decisions(4)[1][3])[0])
    # Fields may be added, with a default for what was written before; none may change or go.
    kept = {name: today["model_call"][name] for name in golden["model_call"]}
    assert {**today, "model_call": kept} == golden
    assert VERSION == 1


def test_facts_with_unknown_names_carry_their_own_layout():
    _, (decision,) = make_decisions(1)
    odd = replace(decision, before=StateFacts(inventory={"torch": 2}, position=None))
    text, parts = encoded(odd)
    assert b"torch" in text
    assert decoded(text, parts, odd) == odd


def test_a_payload_of_a_newer_format_is_refused():
    payload = json.loads(encoded(make_decisions(1)[1][0])[0])
    with pytest.raises(StoreTooNew, match="Decision 3 was written by a newer Craftscope .format 2"):
        decode_payload(json.dumps({**payload, "v": 2}).encode(), "Decision 3")


@pytest.mark.parametrize("text", [b"", b"[]", b'{"v": "one"}', b"\xff\xfe", b"[" * 100_000])
def test_invalid_payload_text_is_corrupt(text: bytes):
    with pytest.raises(StoreCorrupt, match="Decision 3 is stored but cannot be read"):
        decode_payload(text, "Decision 3")


def test_a_blob_with_a_wrong_byte_is_corrupt():
    blob = compress(b"some text that is long enough " * 20)
    for position in range(len(blob)):
        corrupt = blob[:position] + bytes([blob[position] ^ 0x55]) + blob[position + 1 :]
        try:
            assert decompress(corrupt, "A blob") == decompress(blob, "A blob")  # an unused bit
        except StoreCorrupt as error:
            assert "A blob is stored but cannot be read" in str(error)


@pytest.mark.parametrize("states_its_size", [True, False])
@pytest.mark.parametrize("dictionary", [None, Dictionary(b"0123456789" * 20)])
def test_a_blob_that_unpacks_to_more_than_64_mib_is_corrupt(states_its_size: bool, dictionary: Dictionary | None):
    def packed(n_bytes: int) -> bytes:
        return zstandard.ZstdCompressor(write_content_size=states_its_size).compress(bytes(n_bytes))

    assert len(decompress(packed(64 * 2**20), "A blob", dictionary)) == 64 * 2**20
    with pytest.raises(StoreCorrupt, match="A blob is stored but cannot be read"):
        decompress(packed(64 * 2**20 + 1), "A blob", dictionary)


def test_a_blob_that_states_a_wrong_size_is_corrupt():
    whole = zstandard.ZstdCompressor().compress(bytes(2**17))
    assert whole[4:9] == bytes([0xA0]) + (2**17).to_bytes(4, "little")  # a size in four bytes
    enormous = bytes.fromhex("28b52ffde0") + (2**62).to_bytes(8, "little") + b"\x01\x00\x00"
    for blob in (whole[:5] + (1000).to_bytes(4, "little") + whole[9:], enormous):
        with pytest.raises(StoreCorrupt):
            decompress(blob, "A blob")


def test_a_value_too_large_to_be_read_again_is_not_stored():
    with pytest.raises(InvalidInput, match="67,108,864 are the limit"):
        compress(bytes(64 * 2**20 + 1))


def test_a_dictionary_makes_similar_texts_small_and_is_needed_to_read_them():
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


# ------------------------------------------------------------------------------------------------- reward facts


def rows(facts: EpisodeFacts) -> list[tuple[int, int, str, int, int]]:
    """(decision, kind, name, delta, rank) of each row."""
    columns = (facts.decisions, facts.kinds, facts.names, facts.deltas, facts.ranks)
    values = zip(*(column.tolist() for column in columns), strict=True)
    return [(decision, kind, facts.name_list[name], delta, rank) for decision, kind, name, delta, rank in values]


def test_each_change_is_a_row_and_unlocks_carry_their_rank():
    writer = FactsWriter()
    nothing = StateFacts(inventory={"wood": 0})
    some = StateFacts(inventory={"wood": 2, "sapling": 1}, achievement_counts={"collect_wood": 2})
    writer.add(nothing, some, ["collect_wood"])
    writer.add(some, some, [])
    writer.add(some, nothing, ["collect_wood"])
    facts = unpack(pack(writer.facts()), "Facts")
    assert facts is not None and facts.n_decisions == 3
    assert rows(facts) == [
        (0, UNLOCK, "collect_wood", 1, 0),
        (0, INVENTORY, "wood", 2, 0),
        (0, INVENTORY, "sapling", 1, 0),
        (0, ACHIEVEMENT_COUNT, "collect_wood", 2, 0),
        (2, UNLOCK, "collect_wood", 1, 1),
        (2, INVENTORY, "wood", -2, 0),
        (2, INVENTORY, "sapling", -1, 0),
        (2, ACHIEVEMENT_COUNT, "collect_wood", -2, 0),
    ]


@pytest.mark.parametrize("keep", [0, 3, 30])
def test_a_truncated_pack_is_corrupt(keep: int):
    writer = FactsWriter()
    writer.add(StateFacts(), StateFacts(inventory={"wood": 1}), [])
    with pytest.raises(StoreCorrupt, match="The facts is stored but cannot be read"):
        unpack(pack(writer.facts())[:keep], "The facts")


def test_reward_facts_that_are_missing_or_of_the_first_version_are_rebuilt(store: TraceStore):
    record_run(store, "a-episode", decisions=25)
    stored = store.rewards.facts("a-episode")
    writer = FactsWriter()
    for decision in make_decisions(25)[1]:
        writer.add(decision.before, decision.after, decision.unlocked, components=decision.reward.components)
    assert rows(stored) == rows(writer.facts())
    assert stored.components == writer.facts().components
    header = b'{"v":1,"n_decisions":0,"n":0,"names":[]}'
    first_version = compress(len(header).to_bytes(4, "little") + header)
    for change in (episode_packs.update().values(blob=first_version), episode_packs.delete()):
        with store._database.writing() as connection:
            assert connection.execute(change).rowcount == 1
        assert pack(store.rewards.facts("a-episode")) == pack(stored)
