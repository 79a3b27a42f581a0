"""The packed reward facts say what each decision changed, and are the same however they are made."""

from __future__ import annotations

import pytest

from core.errors import StoreCorrupt
from core.facts import ACHIEVEMENT_COUNT, INVENTORY, UNLOCK, EpisodeFacts, FactsWriter
from core.store import TraceStore
from core.store.blobs import compress
from core.store.packs import pack, unpack
from core.store.tables import episode_packs
from core.types import StateFacts
from tests.support.records import make_decisions, make_run, record_episode


def rows(facts: EpisodeFacts) -> list[tuple[int, int, str, int, int]]:
    """(decision, kind, name, delta, rank) of each row."""
    columns = (facts.decisions, facts.kinds, facts.names, facts.deltas, facts.ranks)
    values = zip(*(column.tolist() for column in columns), strict=True)
    return [(decision, kind, facts.name_list[name], delta, rank) for decision, kind, name, delta, rank in values]


def unpacked(writer: FactsWriter) -> EpisodeFacts:
    facts = unpack(pack(writer.facts()), "Facts")
    assert facts is not None
    return facts


def test_each_change_is_a_row_and_unlocks_carry_their_rank():
    writer = FactsWriter()
    nothing = StateFacts(inventory={"wood": 0})
    some = StateFacts(inventory={"wood": 2, "sapling": 1}, achievement_counts={"collect_wood": 2})
    writer.add(nothing, some, ["collect_wood"])
    writer.add(some, some, [])
    writer.add(some, nothing, ["collect_wood"])
    facts = unpacked(writer)
    assert facts.n_decisions == 3
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


def test_an_episode_without_decisions_has_no_rows():
    facts = unpacked(FactsWriter())
    assert (facts.n_decisions, rows(facts)) == (0, [])


def test_stored_facts_equal_facts_rebuilt_from_the_decisions(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode"]))
    record_episode(store, "a-episode", 25)
    packed = store.rewards.facts("a-episode")
    with store._database.writing() as connection:
        assert connection.exec_driver_sql("DELETE FROM episode_packs").rowcount == 1
    assert rows(store.rewards.facts("a-episode")) == rows(packed)
    writer = FactsWriter()
    for decision in make_decisions(25)[1]:
        writer.add(decision.before, decision.after, decision.unlocked)
    assert rows(packed) == rows(writer.facts())
    assert packed.n_decisions == 25


@pytest.mark.parametrize("keep", [0, 3, 30])
def test_a_truncated_pack_is_corrupt(keep: int):
    writer = FactsWriter()
    writer.add(StateFacts(), StateFacts(inventory={"wood": 1}), [])
    with pytest.raises(StoreCorrupt, match="The facts is stored|The facts .*cannot be read"):
        unpack(pack(writer.facts())[:keep], "The facts")


def test_a_pack_of_the_first_version_is_rebuilt_from_the_decisions(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode"]))
    record_episode(store, "a-episode", 4)
    packed = store.rewards.facts("a-episode")
    header = b'{"v":1,"n_decisions":0,"n":0,"names":[]}'
    old = compress(len(header).to_bytes(4, "little") + header)
    with store._database.writing() as connection:
        connection.execute(episode_packs.update().values(blob=old))
    assert rows(store.rewards.facts("a-episode")) == rows(packed)
    ((_, rebuilt),) = store.rewards.played(["a-episode"]).rows
    assert rebuilt.rewards.tolist() == packed.rewards.tolist()
    assert rebuilt.env_rewards.tolist() == packed.env_rewards.tolist()
    assert rebuilt.step_ends.tolist() == packed.step_ends.tolist()
    assert (rebuilt.initial, rebuilt.foreseen_end, rebuilt.components) == (
        packed.initial,
        packed.foreseen_end,
        packed.components,
    )


def test_what_the_components_paid_stands_beside_the_changes(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode"]))
    record_episode(store, "a-episode", 25)
    decisions = make_decisions(25)[1]
    paid: dict[tuple[str, str], list[float]] = {}
    for part in (part for decision in decisions for part in decision.reward.components):
        paid.setdefault((part.kind, part.name), []).append(part.value)
    totals = {(part.kind, part.name): part for part in store.rewards.facts("a-episode").components}
    assert totals.keys() == paid.keys()
    for key, values in paid.items():
        assert totals[key].value == pytest.approx(sum(values))
        assert totals[key].decisions == len(values)
