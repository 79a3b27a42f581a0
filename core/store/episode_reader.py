"""One episode read back from its rows and blobs: start, decisions, scenes, reward facts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from sqlalchemy import ColumnElement, Connection, select, true

from core.facts import EpisodeFacts, FactsWriter
from core.scenes import concat_packed, unpack_scenes
from core.store.blobs import Dictionary, decompress, from_json, typed
from core.store.codec import Layout, Payload, StartRecord, build_decision, decode_payload, decode_start, facts_of
from core.store.rows import as_store_corrupt, episode_key, in_parts
from core.store.tables import (
    AnyRow,
    AnySelect,
    columns_of,
    component_types,
    decision_payloads,
    decisions,
    episode_starts,
    request_parts,
    reward_components,
    scene_chunks,
)
from core.types import Decision, RewardComponent, Scene, StateRecord

Components = dict[int, list[RewardComponent]]


def numbers_of(row: AnyRow, what: str) -> dict[str, float]:
    """The agent's own numbers in a row of `decisions`. Raises StoreCorrupt."""
    return {} if row.numbers is None else from_json(row.numbers, dict[str, float], what)


class EpisodeReader:
    """Reads one episode within a transaction. Its methods raise StoreCorrupt and StoreTooNew, naming the episode."""

    def __init__(self, connection: Connection, episode_id: str) -> None:
        """Raises UnknownEpisode."""
        self._connection = connection
        self.key = episode_key(connection, episode_id)
        self.name = f"Episode {episode_id}"

    @cached_property
    def _start(self) -> StartRecord | None:
        blob = self._connection.scalar(select(episode_starts.c.blob).where(episode_starts.c.episode_id == self.key))
        return None if blob is None else decode_start(blob, f"The start of {self.name}")

    @property
    def _layout(self) -> Layout:
        return self._start.layout if self._start else Layout((), (), ())

    @cached_property
    def _dictionary(self) -> Dictionary | None:
        """The first decision, with which the others are compressed; None before there is one."""
        query = self.rows.where(decisions.c.idx == 0).with_only_columns(decision_payloads.c.blob)
        first = self._connection.scalar(query)
        return None if first is None else Dictionary(decompress(first, f"Decision 0 of {self.name}"))

    @property
    def rows(self) -> AnySelect:
        """The query for decisions with their payloads, unordered."""
        return (
            select(decisions, decision_payloads.c.blob)
            .join(decision_payloads, decision_payloads.c.decision_id == decisions.c.id)
            .where(decisions.c.episode_id == self.key)
        )

    def payload(self, row: AnyRow) -> Payload:
        """The payload of a decision's row."""
        name = f"Decision {row.idx} of {self.name}"
        return decode_payload(decompress(row.blob, name, self._dictionary if row.idx else None), name)

    def start_state(self, scene: Scene) -> StateRecord | None:
        """The world after reset, of which that is the scene; None before the episode has started."""
        return self._start.state(scene) if self._start else None

    def decisions(self, scenes: Sequence[Scene]) -> Iterator[Decision]:
        """All decisions in order. scenes: all of the episode, the one of the reset first."""
        components = self._components(decisions.c.episode_id == self.key)
        parts = self._request_parts()
        for row in self._connection.execute(self.rows.order_by(decisions.c.idx)):
            its_scenes = scenes[row.step_start + 1 : row.step_end + 1]
            yield self._build(row, self.payload(row), its_scenes, components[row.id], parts)

    def decision(self, row: AnyRow) -> Decision:
        """The decision of a row."""
        payload = self.payload(row)
        # The scene after step i stands at i + 1: the one of the reset comes first.
        scenes = self.scenes(row.step_start + 1, row.step_end + 1)
        components = self._components(reward_components.c.decision_id == row.id)[row.id]
        return self._build(row, payload, scenes, components, self.parts_of(payload))

    def reward_facts(self, *, known_end: bool) -> EpisodeFacts:
        """The reward facts of all decisions, recomputed."""
        components = self._components(decisions.c.episode_id == self.key)
        writer = FactsWriter()
        for row in self._connection.execute(self.rows.order_by(decisions.c.idx)):
            payload = self.payload(row)
            before, after = facts_of(payload, self._layout)
            writer.add(
                before,
                after,
                payload.unlocked,
                env_reward=row.env_reward,
                reward=row.reward,
                step_end=row.step_end,
                components=components[row.id],
            )
        return writer.facts(known_end=known_end)

    def parts_of(self, payload: Payload) -> dict[int, Any]:
        """The parts of requests that a decision refers to, of the thousands that its episode may have."""
        spans = (span for ranges in payload.request_parts.values() for span in ranges)
        numbers = sorted({number for span in spans for number in range(*span)})
        parts: dict[int, Any] = {}
        for some in in_parts(numbers):
            parts |= self._request_parts(request_parts.c.idx.in_(some))
        return parts

    def packed_scenes(self) -> bytes:
        """All scenes as one blob of `core.scenes`: the one of the reset first, then one a step."""
        rows = self._connection.scalars(
            select(scene_chunks.c.blob).where(scene_chunks.c.episode_id == self.key).order_by(scene_chunks.c.first)
        )
        name = f"A part of the scenes of {self.name}"
        with as_store_corrupt(name):
            return concat_packed(decompress(blob, name) for blob in rows)

    def scenes(self, start: int, end: int) -> tuple[Scene, ...]:
        """The scenes at positions start to end (exclusive)."""
        if start >= end:
            return ()
        rows = self._connection.execute(
            select(scene_chunks.c.first, scene_chunks.c.blob)
            .where(
                scene_chunks.c.episode_id == self.key,
                scene_chunks.c.first < end,
                scene_chunks.c.first + scene_chunks.c.n > start,
            )
            .order_by(scene_chunks.c.first)
        ).all()
        found = [scene for row in rows for scene in self.unpacked(row.blob)]
        first = rows[0].first if rows else start
        return tuple(found[start - first : end - first])

    def unpacked(self, blob: bytes) -> tuple[Scene, ...]:
        """The scenes of a stored chunk."""
        name = f"A part of the scenes of {self.name}"
        with as_store_corrupt(name):
            return unpack_scenes(decompress(blob, name))

    def _build(
        self,
        row: AnyRow,
        payload: Payload,
        scenes: Sequence[Scene],
        components: Sequence[RewardComponent],
        parts: dict[int, Any],
    ) -> Decision:
        return build_decision(
            payload,
            index=row.idx,
            step_start=row.step_start,
            layout=self._layout,
            scenes=scenes,
            components=tuple(components),
            store_ms=row.store_ms,
            request_parts=parts,
            value=row.value,
            logprob=row.logprob,
            numbers=numbers_of(row, f"Decision {row.idx} of {self.name}"),
        )

    def _components(self, condition: ColumnElement[bool]) -> Components:
        """By the key of their decision, in order."""
        query = (
            select(reward_components, component_types.c.kind, component_types.c.name)
            .join(component_types, component_types.c.id == reward_components.c.type_id)
            .join(decisions, decisions.c.id == reward_components.c.decision_id)
            .where(condition)
            .order_by(reward_components.c.decision_id, reward_components.c.k)
        )
        name = f"A part of a decision's reward in {self.name}"
        found: Components = defaultdict(list)
        for row in self._connection.execute(query):
            found[row.decision_id].append(typed(columns_of(row), RewardComponent, name))
        return found

    def _request_parts(self, condition: ColumnElement[bool] | None = None) -> dict[int, Any]:
        wanted = true() if condition is None else condition
        rows = self._connection.execute(
            select(request_parts.c.idx, request_parts.c.blob).where(request_parts.c.episode_id == self.key, wanted)
        )
        name = f"A message of {self.name}"
        return {row.idx: from_json(decompress(row.blob, name), object, name) for row in rows}
