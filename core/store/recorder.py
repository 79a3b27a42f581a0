"""Records an episode while it runs: one short transaction for each decision, committed when `record` returns."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
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
_NEW_DECISION: Final = insert(decisions).returning(decisions.c.id)
_NEW_PAYLOAD: Final = insert(decision_payloads)
_NEW_COMPONENTS: Final = insert(reward_components)
_NEW_CHUNK: Final = insert(scene_chunks)

CHUNK_SCENES: Final = 512
"""Scenes in a merged chunk, at least. Until there are as many, each decision's scenes are a chunk of their own."""


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
        self._chunks: list[bytes] = []  # packed scenes that are not merged yet, a decision's in each
        self._first_scene = 0  # the position of the first of them; the one of the reset is at 0
        self._unsaved_store_ms: tuple[int, float] | None = None

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
        if self._layout is None or decision.index != len(self._rewards):
            raise InvalidInput(f"Decision {decision.index} of episode {self._id} is not the next one to record.")
        began = time.perf_counter()
        request, places, new_parts = self._request_parts.split(
            decision.model_call.request if decision.model_call else {}
        )
        text = encode_decision(decision, self._layout, (request, places))
        payload = compress(text, self._dictionary)
        unlocks = {name: at for name, at in first_unlocks(decision.steps).items() if name not in self._unlocked}
        n_steps = self._n_steps + len(decision.steps)
        packed = [pack_scenes([step.state.scene for step in decision.steps])] if decision.steps else []
        fills_chunk = n_steps + 1 - self._first_scene >= CHUNK_SCENES

        with self._database.writing() as connection:
            # First, so that nothing is stored if the episode is over or another recorder has written.
            self._update(
                connection,
                _COUNT,
                expected=decision.index,
                heartbeat_at=datetime.now(UTC),
                n_decisions=decision.index + 1,
                n_steps=n_steps,
                n_achievements=len(self._unlocked) + len(unlocks),
                env_return=math.fsum((*self._env_rewards, decision.env_reward)),
                shaped_return=math.fsum((*self._rewards, decision.reward.total)),
            )
            self._save_store_ms(connection)
            row = {"episode_id": self._key, **_decision_row(decision, self._n_steps)}
            key = connection.execute(_NEW_DECISION, row).scalar_one()
            connection.execute(_NEW_PAYLOAD, {"decision_id": key, "blob": payload})
            types = _insert_components(connection, key, decision.reward.components, self._component_types)
            if unlocks:
                rows = [{"episode_id": self._key, "name": name, "step": step} for name, step in unlocks.items()]
                connection.execute(insert(episode_achievements), rows)
            if new_parts:
                parts = [{"episode_id": self._key, "idx": n, "blob": compress(p)} for n, p in new_parts.items()]
                connection.execute(insert(request_parts), parts)
            if fills_chunk:
                self._merge(connection, [*self._chunks, *packed], n_steps)
            elif packed:
                connection.execute(_NEW_CHUNK, self._chunk(self._n_steps + 1, len(decision.steps), packed))

        self._dictionary = self._dictionary or Dictionary(text)
        for number, part in new_parts.items():
            self._request_parts.known(number, part)
        self._component_types = types
        self._count(decision, unlocks)
        if fills_chunk:
            self._chunks, self._first_scene = [], n_steps + 1
        else:
            self._chunks += packed
        stored_ms = decision.timing.store_ms  # known of one that was stored before
        self._unsaved_store_ms = (key, (time.perf_counter() - began) * 1000 if stored_ms is None else stored_ms)

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

    def _count(self, decision: Decision, unlocks: dict[str, int]) -> None:
        """Count a stored decision."""
        self._n_steps += len(decision.steps)
        self._env_rewards.append(decision.env_reward)
        self._rewards.append(decision.reward.total)
        self._unlocked.update(unlocks)
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
        if self._unsaved_store_ms is not None:
            key, store_ms = self._unsaved_store_ms
            connection.execute(_STORE_MS, {"key": key, "ms": store_ms})


def _insert_components(
    connection: Connection, key: int, components: Sequence[RewardComponent], types: dict[tuple[str, str], int]
) -> dict[tuple[str, str], int]:
    """Store a decision's reward components. Returns the known types: `types`, or all if there were new ones."""
    if not components:
        return types
    if missing := {(component.kind, component.name) for component in components} - types.keys():
        rows = [{"kind": kind, "name": name} for kind, name in sorted(missing)]
        connection.execute(insert_ignoring(connection, component_types), rows)
        types = {(row.kind, row.name): row.id for row in connection.execute(select(component_types))}
    connection.execute(
        _NEW_COMPONENTS,
        [
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
            for k, component in enumerate(components)
        ],
    )
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
