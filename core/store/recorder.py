"""Records an episode while it runs: each decision, or several, in one short transaction."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Connection, Update, bindparam, delete, exists, insert, select, update

from core.errors import InvalidInput, StoreError, UnknownEpisode
from core.facts import FactsWriter
from core.scenes import concat_packed, pack_scenes
from core.store.blobs import Dictionary, compress, to_json
from core.store.codec import Layout, RequestParts, encode_decision, encode_start
from core.store.database import Database, OneTransaction
from core.store.packs import pack
from core.store.rows import episode_key, insert_ignoring
from core.store.tables import (
    component_types,
    decision_payloads,
    decisions,
    episode_achievements,
    episode_packs,
    episode_starts,
    episodes,
    request_parts,
    reward_components,
    scene_chunks,
)
from core.text import quoted
from core.types import Decision, EpisodeStatus, Outcome, RewardComponent, StateRecord, first_unlocks, sum_known

# SQLite reuses the key of a deleted episode, so the uuid is compared too.
_ITSELF: Final = (episodes.c.id == bindparam("key"), episodes.c.uuid == bindparam("its_uuid"))
_OWN: Final = (*_ITSELF, episodes.c.worker == bindparam("its_worker"), episodes.c.status == EpisodeStatus.RUNNING.value)
_COUNTERS: Final = ("n_decisions", "n_steps", "n_achievements", "env_return", "shaped_return", "heartbeat_at")

# Built once: building a statement takes as long as running it.
_HERE: Final = update(episodes).where(*_OWN)
_COUNT: Final = _HERE.where(episodes.c.n_decisions == bindparam("expected")).values(
    {name: bindparam(name) for name in _COUNTERS}
)
_NOT_STARTED: Final = _HERE.where(~exists().where(episode_starts.c.episode_id == episodes.c.id))
_STORE_MS: Final = update(decisions).where(decisions.c.id == bindparam("key")).values(store_ms=bindparam("ms"))
_UNMERGE: Final = delete(scene_chunks).where(
    scene_chunks.c.episode_id == bindparam("key"), scene_chunks.c.first >= bindparam("start")
)
_NEW_DECISION: Final = insert(decisions).returning(decisions.c.id, decisions.c.idx)
_NEW_PAYLOAD: Final = insert(decision_payloads)
_NEW_COMPONENTS: Final = insert(reward_components)
_NEW_CHUNK: Final = insert(scene_chunks)

CHUNK_SCENES: Final = 512
"""Scenes in a merged chunk, at least. Until there are as many, those of each transaction are a chunk of their own."""


class EpisodeRecorder:
    """Records one running episode from its start to its end. For one thread at a time.

    Methods raise what `TraceStore` raises, UnknownEpisode where the episode was deleted, and StoreError where it is
    over, belongs to another worker by now, or is recorded by another recorder too; nothing is stored then.
    """

    def __init__(self, database: Database | OneTransaction, episode_id: str) -> None:
        """Raises UnknownEpisode."""
        self._database = database
        with database.reading() as connection:
            self._key = episode_key(connection, episode_id)
            row = connection.execute(select(episodes.c.uuid, episodes.c.worker).where(episodes.c.id == self._key)).one()
        self._id: str = row.uuid
        self._worker: str = row.worker

        # What is stored so far. It changes after each commit, so a decision that failed can be recorded again.
        self._layout: Layout | None = None
        self._dictionary: Dictionary | None = None
        self._request_parts = RequestParts()
        self._component_types: dict[tuple[str, str], int] = {}
        self._facts = FactsWriter()
        self._n_steps = 0
        self._env_rewards: list[float] = []
        self._rewards: list[float] = []
        self._unlocked = set[str]()
        self._chunks: list[bytes] = []  # packed scenes that are not merged yet, one of each transaction
        self._first_scene = 0  # the position of the first of them; the one of the reset is at 0
        self._unsaved_store_ms: list[dict[str, Any]] = []

    def start(self, started_at: datetime, initial: StateRecord) -> None:
        """Store the world after reset. `started_at` is UTC."""
        layout, blob = encode_start(initial)
        packed = pack_scenes([initial.scene])
        with self._database.writing() as connection:
            self._update(connection, _NOT_STARTED.values(started_at=started_at, heartbeat_at=datetime.now(UTC)))
            connection.execute(insert(episode_starts), [{"episode_id": self._key, "blob": blob}])
            connection.execute(_NEW_CHUNK, self._chunk(0, 1, [packed]))
        self._layout = layout
        self._chunks = [packed]

    def record(self, decision: Decision) -> None:
        """Store a finished decision. It is committed when this returns. Raises InvalidInput for one out of order."""
        self.record_all([decision])

    def record_all(self, batch: Sequence[Decision]) -> None:
        """Store several decisions in one transaction, in order: all of them or none."""
        n_known = len(self._rewards)
        if self._layout is None or [decision.index for decision in batch] != list(range(n_known, n_known + len(batch))):
            at = ", ".join(str(decision.index) for decision in batch)
            raise InvalidInput(f"Decision {at} of episode {self._id} is not the next one to record.")
        if not batch:
            return
        began = time.perf_counter()
        new = self._encode(batch, self._layout)
        steps = [step for decision in batch for step in decision.steps]
        n_steps = self._n_steps + len(steps)
        unlocks = {name: at for name, at in first_unlocks(steps).items() if name not in self._unlocked}
        packed = [pack_scenes([step.state.scene for step in steps])] if steps else []
        fills_chunk = n_steps + 1 - self._first_scene >= CHUNK_SCENES

        with self._database.writing() as connection:
            # First, so that nothing is stored if the episode is over or another recorder has written.
            self._update(
                connection,
                _COUNT,
                expected=n_known,
                heartbeat_at=datetime.now(UTC),
                n_decisions=n_known + len(batch),
                n_steps=n_steps,
                n_achievements=len(self._unlocked) + len(unlocks),
                env_return=math.fsum((*self._env_rewards, *(decision.env_reward for decision in batch))),
                shaped_return=math.fsum((*self._rewards, *(decision.reward.total for decision in batch))),
            )
            self._save_store_ms(connection)
            keys = {row.idx: row.id for row in connection.execute(_NEW_DECISION, new.rows)}
            payloads = zip(batch, new.payloads, strict=True)
            connection.execute(_NEW_PAYLOAD, [{"decision_id": keys[d.index], "blob": blob} for d, blob in payloads])
            components = [(keys[d.index], d.reward.components) for d in batch]
            types = _insert_components(connection, components, self._component_types)
            if unlocks:
                rows = [{"episode_id": self._key, "name": name, "step": step} for name, step in unlocks.items()]
                connection.execute(insert(episode_achievements), rows)
            if new.parts:
                parts = [{"episode_id": self._key, "idx": n, "blob": compress(p)} for n, p in new.parts.items()]
                connection.execute(insert(request_parts), parts)
            if fills_chunk:
                self._merge(connection, [*self._chunks, *packed], n_steps)
            elif packed:
                connection.execute(_NEW_CHUNK, self._chunk(self._n_steps + 1, len(steps), packed))

        self._dictionary, self._request_parts, self._component_types = new.dictionary, new.request_parts, types
        for decision in batch:
            self._count(decision)
        if fills_chunk:
            self._chunks, self._first_scene = [], n_steps + 1
        else:
            self._chunks += packed
        each_ms = (time.perf_counter() - began) * 1000 / len(batch)
        unknown = [keys[decision.index] for decision in batch if decision.timing.store_ms is None]
        self._unsaved_store_ms = [{"key": key, "ms": each_ms} for key in unknown]

    def finish(self, outcome: Outcome) -> None:
        """Store how the episode ended, merge its last scenes and write its reward facts."""
        ended = {
            "status": outcome.status.value,
            "stop_reason": outcome.stop_reason.value,
            "ended_at": outcome.finished_at,
            "error": None if outcome.error is None else to_json(outcome.error),
        }
        facts = pack(self._facts.facts(known_end=outcome.stop_reason.is_known_at_scoring))
        with self._database.writing() as connection:
            self._update(connection, _HERE.values(**ended))
            self._save_store_ms(connection)
            if len(self._chunks) > 1:
                self._merge(connection, self._chunks, self._n_steps)
            connection.execute(insert(episode_packs), [{"episode_id": self._key, "blob": facts}])

    def _encode(self, batch: Sequence[Decision], layout: Layout) -> _Encoded:
        """The rows of decisions, and what this recorder knows once they are stored."""
        known = self._request_parts.copy()
        new = _Encoded(self._dictionary, known)
        first_step = self._n_steps
        for decision in batch:
            request = decision.model_call.request if decision.model_call else {}
            rest, places, parts = known.split(request)
            for number, part in parts.items():
                known.known(number, part)
            text = encode_decision(decision, layout, (rest, places))
            new.payloads.append(compress(text, new.dictionary))
            new.dictionary = new.dictionary or Dictionary(text)
            new.rows.append({"episode_id": self._key, **_decision_row(decision, first_step)})
            new.parts |= parts
            first_step += len(decision.steps)
        return new

    def _count(self, decision: Decision) -> None:
        """Count a stored decision."""
        self._n_steps += len(decision.steps)
        self._env_rewards.append(decision.env_reward)
        self._rewards.append(decision.reward.total)
        self._unlocked.update(first_unlocks(decision.steps))
        self._facts.add(
            decision.before,
            decision.after,
            decision.unlocked,
            env_reward=decision.env_reward,
            reward=decision.reward.total,
            step_end=self._n_steps,
            components=decision.reward.components,
        )

    def _update(self, connection: Connection, statement: Update, **values: Any) -> None:
        """Update the episode's row. Raises StoreError if this recorder may no longer write it."""
        itself = {"key": self._key, "its_uuid": self._id}
        if connection.execute(statement, {**itself, "its_worker": self._worker, **values}).rowcount:
            return
        row = connection.execute(select(episodes.c.status, episodes.c.worker).where(*_ITSELF), itself).one_or_none()
        if row is None:
            raise UnknownEpisode(f"Episode {self._id} was deleted while it was recorded.")
        if row.worker != self._worker:
            raise StoreError(
                f"Episode {self._id} belongs to another worker now ({quoted(row.worker)}). Nothing more can be "
                "recorded here."
            )
        if row.status != EpisodeStatus.RUNNING.value:
            raise StoreError(f"Episode {self._id} is {row.status}; nothing more can be recorded.")
        raise StoreError(f"Episode {self._id} is recorded by another recorder too.")

    def _merge(self, connection: Connection, chunks: Sequence[bytes], n_steps: int) -> None:
        connection.execute(_UNMERGE, {"key": self._key, "start": self._first_scene})
        connection.execute(_NEW_CHUNK, self._chunk(self._first_scene, n_steps + 1 - self._first_scene, chunks))

    def _chunk(self, first: int, n: int, chunks: Sequence[bytes]) -> dict[str, Any]:
        """A row of `scene_chunks`."""
        packed = chunks[0] if len(chunks) == 1 else concat_packed(chunks)
        return {"episode_id": self._key, "first": first, "n": n, "blob": compress(packed)}

    def _save_store_ms(self, connection: Connection) -> None:
        if self._unsaved_store_ms:
            connection.execute(_STORE_MS, self._unsaved_store_ms)


@dataclass
class _Encoded:
    """Decisions that are about to be stored. dictionary, request_parts: with those of these decisions."""

    dictionary: Dictionary | None
    request_parts: RequestParts
    rows: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    payloads: list[bytes] = field(default_factory=list[bytes])
    parts: dict[int, bytes] = field(default_factory=dict[int, bytes])


def _insert_components(
    connection: Connection,
    components: Sequence[tuple[int, Sequence[RewardComponent]]],
    types: dict[tuple[str, str], int],
) -> dict[tuple[str, str], int]:
    """Store the reward components of decisions, given by their key. Returns the known types: `types`, or all if there
    were new ones."""
    found = {(component.kind, component.name) for _, parts in components for component in parts}
    if missing := found - types.keys():
        rows = [{"kind": kind, "name": name} for kind, name in sorted(missing)]
        connection.execute(insert_ignoring(connection, component_types), rows)
        types = {(row.kind, row.name): row.id for row in connection.execute(select(component_types))}
    rows = [
        {
            "decision_id": key,
            "k": k,
            "type_id": types[component.kind, component.name],
            "delta": component.delta,
            "weight": component.weight,
            "value": component.value,
            "count_prior": component.count_prior,
            "count_limit": component.count_limit,
        }
        for key, parts in components
        for k, component in enumerate(parts)
    ]
    if rows:
        connection.execute(_NEW_COMPONENTS, rows)
    return types


def _decision_row(decision: Decision, step_start: int) -> dict[str, Any]:
    timing, call = decision.timing, decision.model_call
    calls = call.all_calls if call else ()
    return {
        "idx": decision.index,
        "step_start": step_start,
        "step_end": step_start + len(decision.steps),
        "env_reward": decision.env_reward,
        "reward": decision.reward.total,
        "ok": decision.error is None,
        "error_kind": decision.error.kind if decision.error else None,
        "unlocked": " ".join(decision.unlocked) or None,
        "actions": " ".join(decision.actions),
        "inference_ms": timing.inference_ms,
        "env_step_ms": timing.env_step_ms,
        "overhead_ms": timing.overhead_ms,
        "store_ms": timing.store_ms,  # known of one that was stored elsewhere before
        "model": call.model if call else None,
        "tokens_in": sum_known(call.tokens_in for call in calls),
        "tokens_out": sum_known(call.tokens_out for call in calls),
        "latency_ms": sum_known(call.latency_ms for call in calls),
        "model_calls": len(calls) or None,
        "cost_usd": sum_known(call.cost_usd for call in calls),
        "waited_ms": sum(each.waited_ms for each in calls) if calls else None,
        "parse_ms": sum_known(call.parse_ms for call in calls),
        "value": decision.value,
        "logprob": decision.logprob,
        "numbers": to_json(decision.numbers) if decision.numbers else None,
    }
