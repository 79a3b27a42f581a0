"""The packed reward facts say what each decision changed, and are the same however they are made."""

from __future__ import annotations

import pytest

from core.errors import StoreCorrupt
from core.store import RewardFacts, TraceStore
from core.store.packs import ACHIEVEMENT_COUNT, INVENTORY, UNLOCK, RewardFactsWriter, pack, unpack
from core.types import StateFacts
from tests.store.samples import make_decisions, make_run, record_episode


def rows(facts: RewardFacts) -> list[tuple[int, int, str, int, int]]:
    """(decision, kind, name, delta, rank) of each row."""
    columns = (facts.decisions, facts.kinds, facts.names, facts.deltas, facts.ranks)
    values = zip(*(column.tolist() for column in columns), strict=True)
    return [(decision, kind, facts.name_list[name], delta, rank) for decision, kind, name, delta, rank in values]


def test_each_change_is_a_row_and_unlocks_carry_their_rank():
    writer = RewardFactsWriter()
    nothing = StateFacts(inventory={"wood": 0})
    some = StateFacts(inventory={"wood": 2, "sapling": 1}, achievement_counts={"collect_wood": 2})
    writer.add(nothing, some, ["collect_wood"])
    writer.add(some, some, [])
    writer.add(some, nothing, ["collect_wood"])
    facts = unpack(pack(writer.facts()), "Facts")
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
    facts = unpack(pack(RewardFactsWriter().facts()), "Facts")
    assert (facts.n_decisions, rows(facts)) == (0, [])


def test_what_was_packed_at_the_end_equals_what_is_made_from_the_decisions(store: TraceStore):
    store.create_run(make_run("run-1", ["a-episode"]))
    record_episode(store, "a-episode", 25)
    packed = store.reward_facts("a-episode")
    with store._database.writing() as connection:
        assert connection.exec_driver_sql("DELETE FROM episode_packs").rowcount == 1
    assert rows(store.reward_facts("a-episode")) == rows(packed)
    writer = RewardFactsWriter()
    for decision in make_decisions(25)[1]:
        writer.add(decision.before, decision.after, decision.unlocked)
    assert rows(packed) == rows(writer.facts())
    assert packed.n_decisions == 25


@pytest.mark.parametrize("keep", [0, 3, 30])
def test_a_pack_that_was_cut_off_is_damage(keep: int):
    writer = RewardFactsWriter()
    writer.add(StateFacts(), StateFacts(inventory={"wood": 1}), [])
    with pytest.raises(StoreCorrupt, match="The facts is stored|The facts .*cannot be read"):
        unpack(pack(writer.facts())[:keep], "The facts")
