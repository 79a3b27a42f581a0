"""One episode read back: its start, decisions and scenes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, select

from core.errors import InvalidInput, StoreCorrupt, UnknownEpisode
from core.scenes import concat_packed, unpack_scenes
from core.store.arguments import in_parts, whole
from core.store.blobs import Dictionary, damaged, decompress, from_json, typed
from core.store.browse import one
from core.store.codec import Layout, Payload, build_decision, decode_payload, decode_start, start_state
from core.store.damage import UNFIT, named
from core.store.ids import episode_key
from core.store.records import DecisionSummary
from core.store.tables import (
    AnyRow,
    AnySelect,
    columns_of,
    component_types,
    decision_payloads,
    decisions,
    episode_starts,
    episodes,
    request_parts,
    reward_components,
    scene_chunks,
)
from core.types import Decision, Episode, Outcome, RewardComponent, Scene, StateRecord

_INT_MAX: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class PayloadReader:
    """What all decisions of an episode need to be read: how to call it, its names, its dictionary."""

    key: int
    what: str
    layout: Layout | None
    dictionary: Dictionary | None

    @classmethod
    def of(cls, connection: Connection, key: int, episode_id: str) -> PayloadReader:
        """That of an episode."""
        what = f"Episode {episode_id}"
        first = connection.scalar(payloads(key).where(decisions.c.idx == 0).with_only_columns(decision_payloads.c.blob))
        dictionary = None if first is None else Dictionary(decompress(first, f"Decision 0 of {what}"))
        return cls(key, what, stored_layout(connection, key, what), dictionary)

    def payload(self, index: int, blob: bytes | None) -> Payload:
        """The payload of a decision. The first one of an episode is the dictionary of those that follow.

        Raises StoreCorrupt, StoreTooNew.
        """
        what = f"Decision {index} of {self.what}"
        if blob is None:
            raise damaged(what, LookupError("its content is missing"))
        return decode_payload(decompress(blob, what, self.dictionary if index else None), what)


def initial(connection: Connection, episode_id: str) -> StateRecord | None:
    """The world after reset, or None."""
    key = episode_key(connection, episode_id)
    return _initial(connection, key, f"Episode {episode_id}", lambda: _scenes(connection, key, 0, 1, episode_id)[0])


def decision_summaries(connection: Connection, episode_id: str) -> tuple[DecisionSummary, ...]:
    """All decisions in order."""
    key = episode_key(connection, episode_id)
    rows = connection.execute(select(decisions).where(decisions.c.episode_id == key).order_by(decisions.c.idx))
    return tuple(
        typed(
            {
                **columns_of(row),
                "index": row.idx,
                "unlocked": row.unlocked.split() if row.unlocked else (),
                "actions": row.actions.split(),
            },
            DecisionSummary,
            f"Decision {row.idx} of episode {episode_id}",
        )
        for row in rows
    )


def decision(connection: Connection, episode_id: str, index: int) -> Decision:
    """One decision. Raises UnknownEpisode, InvalidInput."""
    index = whole(index, "The number of a decision")
    key = episode_key(connection, episode_id)
    row = None
    if 0 <= index <= _INT_MAX:
        row = connection.execute(payloads(key).where(decisions.c.idx == index)).one_or_none()
    if row is None:
        raise UnknownEpisode(f"Episode {episode_id} has no decision {index}.{_how_many(connection, episode_id)}")
    reader = PayloadReader.of(connection, key, episode_id)
    payload = reader.payload(index, row.blob)
    return _build(
        reader,
        row,
        payload,
        # The scene after step i stands at i + 1: the one of the reset comes first.
        scenes=_scenes(connection, key, row.step_start + 1, row.step_end + 1, episode_id),
        components=components_of(connection, reward_components.c.decision_id == row.id, reader.what)[row.id],
        parts=parts_of(connection, key, payload, reader.what),
    )


def decision_at_step(connection: Connection, episode_id: str, step: int) -> int:
    """The index of the decision that a step belongs to. Raises UnknownEpisode, InvalidInput."""
    step = whole(step, "The number of a step")
    key = episode_key(connection, episode_id)
    index: int | None = None
    if 0 <= step <= _INT_MAX:
        around = (decisions.c.step_start <= step, decisions.c.step_end > step)
        index = connection.scalar(select(decisions.c.idx).where(decisions.c.episode_id == key, *around))
    if index is None:
        raise UnknownEpisode(f"Episode {episode_id} has no step {step}.{_how_many(connection, episode_id)}")
    return index


def load(connection: Connection, episode_id: str) -> Episode:
    """The whole episode. Raises UnknownEpisode, StoreCorrupt."""
    summary = one(connection, episode_id)
    key = episode_key(connection, summary.id)
    scenes = unpacked(packed_scenes(connection, summary.id), summary.id)
    outcome = None
    if summary.stop_reason is not None and summary.ended_at is not None:
        outcome = Outcome(summary.stop_reason, summary.ended_at, summary.error)
    return Episode(
        id=summary.id,
        run_id=summary.run_id,
        spec=summary.spec,
        initial=_initial(connection, key, f"Episode {summary.id}", lambda: scenes[0]),
        decisions=tuple(read_decisions(connection, key, summary.id, scenes)),
        started_at=summary.started_at or summary.created_at,
        outcome=outcome,
    )


def read_decisions(connection: Connection, key: int, episode_id: str, scenes: Sequence[Scene]) -> Iterable[Decision]:
    """All decisions in order. scenes: all of the episode, that of the reset first."""
    reader = PayloadReader.of(connection, key, episode_id)
    components = components_of(connection, decisions.c.episode_id == key, reader.what)
    parts = _request_parts(connection, key, reader.what)
    rows = connection.execute(payloads(key).order_by(decisions.c.idx)).all()
    expected = connection.scalar(select(episodes.c.n_decisions).where(episodes.c.id == key))
    if len(rows) != expected:
        raise damaged(reader.what, LookupError(f"{len(rows)} decisions are stored, and it made {expected}"))
    end = 0
    for index, row in enumerate(rows):
        with named(reader.what):
            refuse_gap(row, index, end, reader.what)
            its_scenes = scenes[row.step_start + 1 : row.step_end + 1]
        yield _build(reader, row, reader.payload(row.idx, row.blob), its_scenes, components[row.id], parts)
        end = row.step_end


def refuse_gap(row: AnyRow, index: int, step: int, what: str) -> None:
    """Raises StoreCorrupt where a decision is not the one of that index, or does not begin with that step."""
    if row.idx != index:
        raise damaged(what, LookupError(f"its decision {index} is missing"))
    if row.step_start != step or row.step_end < step:
        raise damaged(what, LookupError(f"its decision {index} does not follow on {step} steps"))


def packed_scenes(connection: Connection, episode_id: str) -> bytes:
    """All scenes as one blob, that of the reset first."""
    key = episode_key(connection, episode_id)
    rows = connection.execute(
        select(scene_chunks.c.blob).where(scene_chunks.c.episode_id == key).order_by(scene_chunks.c.first)
    )
    what = f"A part of the scenes of episode {episode_id}"
    try:
        return concat_packed(decompress(row.blob, what) for row in rows)
    except InvalidInput as error:
        raise StoreCorrupt(f"The scenes of episode {episode_id} cannot be read: {error}") from error


def latest_scene(connection: Connection, episode_id: str) -> Scene | None:
    """The newest scene, or None."""
    key = episode_key(connection, episode_id)
    blob = connection.scalar(
        select(scene_chunks.c.blob)
        .where(scene_chunks.c.episode_id == key)
        .order_by(scene_chunks.c.first.desc())
        .limit(1)
    )
    if blob is None:
        return None
    return unpacked(decompress(blob, f"The latest scenes of episode {episode_id}"), episode_id)[-1]


def parts_of(connection: Connection, key: int, payload: Payload, what: str) -> dict[int, Any]:
    """Those parts of requests that a decision refers to, of the thousands that its episode may have."""
    spans = (span for ranges in payload.request_parts.values() for span in ranges)
    numbers = sorted({number for span in spans for number in range(*span)})
    parts: dict[int, Any] = {}
    for some in in_parts(numbers):
        parts |= _request_parts(connection, key, what, request_parts.c.idx.in_(some))
    return parts


def payloads(key: int) -> AnySelect:
    """The decisions of an episode with their payloads (None where that is missing), unordered."""
    names = ("id", "idx", "step_start", "step_end", "store_ms", "env_reward", "reward")
    return (
        select(*(decisions.c[name] for name in names), decision_payloads.c.blob)
        .select_from(decisions)
        .outerjoin(decision_payloads, decision_payloads.c.decision_id == decisions.c.id)
        .where(decisions.c.episode_id == key)
    )


def _build(
    reader: PayloadReader,
    row: AnyRow,
    payload: Payload,
    scenes: Sequence[Scene],
    components: Sequence[RewardComponent],
    parts: dict[int, Any],
) -> Decision:
    what = f"Decision {row.idx} of {reader.what}"
    try:
        return build_decision(
            payload,
            index=row.idx,
            step_start=row.step_start,
            layout=reader.layout,
            scenes=scenes,
            components=tuple(components),
            store_ms=row.store_ms,
            request_parts=parts,
        )
    except UNFIT as error:
        raise StoreCorrupt(f"{what} does not fit together with its rewards, scenes or messages ({error}).") from error


def _initial(connection: Connection, key: int, what: str, scene: Callable[[], Scene]) -> StateRecord | None:
    blob = connection.scalar(select(episode_starts.c.blob).where(episode_starts.c.episode_id == key))
    if blob is None:
        return None
    record = decode_start(blob, f"The start of {what}")
    with named(f"The start of {what}"):
        return start_state(record, scene())


def components_of(
    connection: Connection, condition: ColumnElement[bool], what: str
) -> dict[int, list[RewardComponent]]:
    """By decision key. Raises StoreCorrupt, which names `what`: the episode."""
    query = (
        select(reward_components, component_types.c.kind, component_types.c.name)
        .outerjoin(component_types, component_types.c.id == reward_components.c.type_id)
        .join(decisions, decisions.c.id == reward_components.c.decision_id)
        .where(condition)
        .order_by(reward_components.c.decision_id, reward_components.c.k)
    )
    found = defaultdict[int, list[RewardComponent]](list)
    what = f"A part of a decision's reward in {what[:1].lower()}{what[1:]}"
    with named(what):
        rows = connection.execute(query).all()
    for row in rows:
        if row.k != len(found[row.decision_id]):
            raise damaged(what, LookupError("it is missing"))
        found[row.decision_id].append(typed(columns_of(row), RewardComponent, what))
    return found


def _request_parts(connection: Connection, key: int, what: str, *conditions: ColumnElement[bool]) -> dict[int, Any]:
    rows = connection.execute(
        select(request_parts.c.idx, request_parts.c.blob).where(request_parts.c.episode_id == key, *conditions)
    )
    what = f"A message of {what}"
    return {row.idx: from_json(decompress(row.blob, what), object, what) for row in rows}


def _scenes(connection: Connection, key: int, start: int, end: int, episode_id: str) -> tuple[Scene, ...]:
    """The scenes at positions start to end (exclusive)."""
    if start >= end:
        return ()
    rows = connection.execute(
        select(scene_chunks.c.first, scene_chunks.c.blob)
        .where(
            scene_chunks.c.episode_id == key,
            scene_chunks.c.first < end,
            scene_chunks.c.first + scene_chunks.c.n > start,
        )
        .order_by(scene_chunks.c.first)
    ).all()
    what = f"A part of the scenes of episode {episode_id}"
    found = [scene for row in rows for scene in unpacked(decompress(row.blob, what), episode_id)]
    first = rows[0].first if rows else start
    return tuple(found[start - first : end - first])


def stored_layout(connection: Connection, key: int, what: str) -> Layout | None:
    """The names of the episode's facts; None where it has not started."""
    start = connection.scalar(select(episode_starts.c.blob).where(episode_starts.c.episode_id == key))
    return None if start is None else decode_start(start, f"The start of {what}").layout


def unpacked(blob: bytes, episode_id: str) -> tuple[Scene, ...]:
    """The scenes of a blob. Raises StoreCorrupt."""
    try:
        return unpack_scenes(blob)
    except InvalidInput as error:
        raise StoreCorrupt(f"The scenes of episode {episode_id} cannot be read: {error}") from error


def _how_many(connection: Connection, episode_id: str) -> str:
    summary = one(connection, episode_id)
    if not summary.n_decisions:
        return " Nothing of it was recorded."
    return f" It has {summary.n_decisions} decisions and {summary.n_steps} steps, which count from 0."
