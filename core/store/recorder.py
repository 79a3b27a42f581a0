"""Records an episode while it runs: one short transaction for each decision, committed when `record` returns."""

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
from core.store.blobs import Dictionary, compress, decompress, to_json
from core.store.codec import Layout, RequestParts, encode_decision, encode_start
from core.store.database import Database
from core.store.episode_reader import EpisodeReader
from core.store.packs import pack
from core.store.rows import episode_key, insert_ignoring
from core.store.tables import (
    AnyRow,
    PlainText,
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
from core.types import Decision, EpisodeStatus, Outcome, RewardComponent, Scene, StateRecord, sum_known

# SQLite reuses the key of a deleted episode, so the uuid is compared too.
_ITSELF: Final = (episodes.c.id == bindparam("key"), episodes.c.uuid == bindparam("its_uuid"))
_OWN: Final = (
    *_ITSELF,
    episodes.c.worker == bindparam("its_worker"),
    episodes.c.status == EpisodeStatus.RUNNING.value,
)
_HERE: Final = update(episodes).where(*_OWN)
_COUNTERS: Final = (
    update(episodes)
    .where(*_OWN, episodes.c.n_decisions == bindparam("expected"))
    .values(
        {
            name: bindparam(name)
            for name in ("n_decisions", "n_steps", "n_achievements", "env_return", "shaped_return", "heartbeat_at")
        }
    )
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

ComponentTypes = dict[tuple[str, str], int]

CHUNK_SCENES: Final = 512
"""Scenes in a merged chunk, at least. Until there are as many, each decision's scenes are a chunk of their own."""


@dataclass(frozen=True)
class Tail:
    """The newest scenes, each decision's in a chunk of its own. first: the position of its first scene."""

    first: int = 0
    n: int = 0
    packed: tuple[bytes, ...] = ()

    @property
    def end(self) -> int:
        """Exclusive."""
        return self.first + self.n

    def followed_by(self, other: Tail) -> Tail:
        return Tail(self.first, self.n + other.n, (*self.packed, *other.packed))

    def merged(self) -> dict[str, Any]:
        """All of it as one row of `scene_chunks`."""
        packed = self.packed[0] if len(self.packed) == 1 else concat_packed(self.packed)
        return {"first": self.first, "n": self.n, "blob": compress(packed)}


def tail_of(first: int, scenes: Sequence[Scene]) -> Tail:
    """Scenes from position `first` on, as one piece."""
    return Tail(first, len(scenes), (pack_scenes(scenes),) if scenes else ())


@dataclass
class Progress:
    """What the recorder knows of its episode, updated after each committed decision."""

    layout: Layout | None = None
    dictionary: Dictionary | None = None
    tail: Tail = Tail()
    n_decisions: int = 0
    n_steps: int = 0
    env_rewards: list[float] = field(default_factory=list[float])
    rewards: list[float] = field(default_factory=list[float])
    unlock_steps: dict[str, int] = field(default_factory=dict[str, int])
    facts: FactsWriter = field(default_factory=FactsWriter)
    request_parts: RequestParts = field(default_factory=RequestParts)

    def add(self, decision: Decision) -> None:
        """Count a stored decision; the recorder sets tail, dictionary and request parts."""
        self.unlock_steps.update(self.new_unlocks(decision))
        self.n_decisions += 1
        self.n_steps += len(decision.steps)
        self.env_rewards.append(decision.env_reward)
        self.rewards.append(decision.reward.total)
        self.facts.add(
            decision.before,
            decision.after,
            decision.unlocked,
            env_reward=decision.env_reward,
            reward=decision.reward.total,
            step_end=self.n_steps,
            components=decision.reward.components,
        )

    def new_unlocks(self, decision: Decision) -> dict[str, int]:
        """Achievements that its steps show as unlocked for the first time, with the step."""
        unlocks: dict[str, int] = {}
        for step in decision.steps:
            for name, unlocked in step.state.facts.achievements.items():
                if unlocked and name not in self.unlock_steps:
                    unlocks.setdefault(name, step.index)
        return unlocks

    def counters_with(self, decision: Decision) -> dict[str, Any]:
        """The episode row's counters once this decision is stored. The sums are exact, as `Episode` computes them."""
        return {
            "n_decisions": self.n_decisions + 1,
            "n_steps": self.n_steps + len(decision.steps),
            "n_achievements": len(self.unlock_steps) + len(self.new_unlocks(decision)),
            "env_return": math.fsum((*self.env_rewards, decision.env_reward)),
            "shaped_return": math.fsum((*self.rewards, decision.reward.total)),
        }


@dataclass(frozen=True)
class _Prepared:
    """A decision as rows, built before the transaction begins."""

    counters: dict[str, Any]
    row: dict[str, Any]
    text: bytes
    blob: bytes
    unlocks: dict[str, int]
    new_parts: dict[int, bytes]
    scenes: Tail
    tail: Tail

    @property
    def fills_chunk(self) -> bool:
        """Whether the scenes that are not merged yet fill a chunk."""
        return self.tail.n >= CHUNK_SCENES


class EpisodeRecorder:
    """Records one running episode. For one thread at a time.

    `start` and `finish` may be called again, and `record` again for a decision that is stored: nothing happens then.
    Raises what `TraceStore` raises, UnknownEpisode where the episode was deleted, and StoreError where it is over,
    belongs to another worker by now, or another recorder writes it; nothing is stored then.
    """

    def __init__(self, database: Database, episode_id: str) -> None:
        """Go on after what is stored of the episode. Raises UnknownEpisode."""
        self._database = database
        self._component_types: ComponentTypes = {}
        self._unsaved_store_ms: tuple[int, float] | None = None
        with database.reading() as connection:
            self._key = episode_key(connection, episode_id)
            row = connection.execute(select(episodes.c.uuid, episodes.c.worker).where(episodes.c.id == self._key)).one()
            self._id: str = row.uuid
            self._worker: str = row.worker
            self._progress = _stored_progress(connection, self._key, self._id)

    def start(self, started_at: datetime, initial: StateRecord) -> None:
        """Store the world after reset. `started_at` is UTC."""
        if self._progress.layout is not None:
            return
        layout, blob = encode_start(initial)
        tail = tail_of(0, [initial.scene])
        with self._database.writing() as connection:
            if not self._change(connection, _NOT_STARTED.values(started_at=started_at, heartbeat_at=datetime.now(UTC))):
                raise self._refusal(connection)
            connection.execute(insert(episode_starts), [{"episode_id": self._key, "blob": blob}])
            connection.execute(insert(scene_chunks), [{"episode_id": self._key, **tail.merged()}])
        self._progress.layout = layout
        self._progress.tail = tail

    def record(self, decision: Decision) -> None:
        """Store a finished decision. It is committed when this returns.

        Raises InvalidInput for one that cannot be stored: out of order, or with a reward that is not finite.
        """
        if decision.index < self._progress.n_decisions:
            return
        began = time.perf_counter()
        self._check(decision)
        prepared = self._prepare(decision)
        with self._database.writing() as connection:
            self._advance(connection, prepared.counters)
            key, types = self._insert(connection, decision, prepared)
        self._advance_progress(decision, prepared, types)
        self._unsaved_store_ms = (key, (time.perf_counter() - began) * 1000)

    def finish(self, outcome: Outcome) -> None:
        """Store how the episode ended, merge its last scenes and write its reward facts."""
        ended = {
            "status": outcome.status.value,
            "stop_reason": outcome.stop_reason.value,
            "ended_at": outcome.finished_at,
            "error": None if outcome.error is None else to_json(outcome.error),
        }
        tail = self._progress.tail
        facts = pack(self._progress.facts.facts(foreseen_end=outcome.stop_reason.is_foreseen))
        with self._database.writing() as connection:
            if not self._change(connection, _HERE.values(**ended)):
                self._check_ended_as(connection, outcome)
                return
            self._save_store_ms(connection)
            if len(tail.packed) > 1:
                self._merge(connection, tail)
            connection.execute(insert(episode_packs), [{"episode_id": self._key, "blob": facts}])

    # ------------------------------------------------------------------------------------- before the transaction

    def _check(self, decision: Decision) -> None:
        progress = self._progress
        expected = range(progress.n_steps, progress.n_steps + len(decision.steps))
        if decision.index != progress.n_decisions or [step.index for step in decision.steps] != list(expected):
            raise InvalidInput(
                f"Decision {decision.index} with steps {[step.index for step in decision.steps]} does not follow on "
                f"{progress.n_decisions} decisions and {progress.n_steps} steps of episode {self._id}."
            )
        if wrong := _not_finite(decision):
            raise InvalidInput(
                f"Decision {decision.index} of episode {self._id} earned a reward that is not a finite number: "
                f"{wrong}. Look at the reward strategy and its weights."
            )

    def _prepare(self, decision: Decision) -> _Prepared:
        progress = self._progress
        request, places, new_parts = progress.request_parts.split(
            decision.model_call.request if decision.model_call else {}
        )
        text = encode_decision(decision, progress.layout, (request, places))
        own = tail_of(progress.tail.end, [step.state.scene for step in decision.steps])
        tail = progress.tail.followed_by(own)
        return _Prepared(
            counters=progress.counters_with(decision),
            row=_decision_row(decision, progress.n_steps),
            text=text,
            blob=compress(text, progress.dictionary),
            unlocks=progress.new_unlocks(decision),
            new_parts=new_parts,
            scenes=own,
            tail=tail,
        )

    # ------------------------------------------------------------------------------------- within the transaction

    def _advance(self, connection: Connection, counters: dict[str, Any]) -> None:
        """Comes first, so that nothing is stored if the episode is over or another recorder has written."""
        expected = {"expected": self._progress.n_decisions, "heartbeat_at": datetime.now(UTC)}
        if not self._change(connection, _COUNTERS, **expected, **counters):
            raise self._refusal(connection)

    def _change(self, connection: Connection, statement: Update, **values: Any) -> bool:
        """Change the episode's row; False if this recorder may no longer write it."""
        ours = {"key": self._key, "its_uuid": self._id, "its_worker": self._worker}
        return bool(connection.execute(statement, {**ours, **values}).rowcount)

    def _insert(self, connection: Connection, decision: Decision, prepared: _Prepared) -> tuple[int, ComponentTypes]:
        self._save_store_ms(connection)
        row = {"episode_id": self._key, **prepared.row}
        key = connection.execute(_NEW_DECISION, row).scalar_one()
        connection.execute(_NEW_PAYLOAD, {"decision_id": key, "blob": prepared.blob})
        components = decision.reward.components
        types = _types_for(connection, components, self._component_types)
        if components:
            rows = [_component_row(key, k, component, types) for k, component in enumerate(components)]
            connection.execute(_NEW_COMPONENTS, rows)
        if prepared.unlocks:
            unlocks = [{"episode_id": self._key, "name": n, "step": step} for n, step in prepared.unlocks.items()]
            connection.execute(insert(episode_achievements), unlocks)
        if prepared.new_parts:
            parts = [{"episode_id": self._key, "idx": n, "blob": compress(p)} for n, p in prepared.new_parts.items()]
            connection.execute(insert(request_parts), parts)
        if prepared.fills_chunk:
            self._merge(connection, prepared.tail)
        elif prepared.scenes.n:
            connection.execute(_NEW_CHUNK, {"episode_id": self._key, **prepared.scenes.merged()})
        return key, types

    def _merge(self, connection: Connection, tail: Tail) -> None:
        connection.execute(_UNMERGE, {"key": self._key, "start": tail.first})
        connection.execute(_NEW_CHUNK, {"episode_id": self._key, **tail.merged()})

    def _save_store_ms(self, connection: Connection) -> None:
        if self._unsaved_store_ms is not None:
            key, store_ms = self._unsaved_store_ms
            connection.execute(_STORE_MS, {"key": key, "ms": store_ms})

    # -------------------------------------------------------------------------------------- after the transaction

    def _advance_progress(self, decision: Decision, prepared: _Prepared, types: ComponentTypes) -> None:
        progress = self._progress
        progress.add(decision)
        progress.tail = Tail(prepared.tail.end) if prepared.fills_chunk else prepared.tail
        if progress.dictionary is None:
            progress.dictionary = Dictionary(prepared.text)
        for number, part in prepared.new_parts.items():
            progress.request_parts.known(number, part)
        self._component_types = types

    def _refusal(self, connection: Connection) -> StoreError:
        row = self._row(connection)
        if row is None:
            return UnknownEpisode(f"Episode {self._id} was deleted while it was recorded.")
        if row.worker != self._worker:
            return StoreError(
                f"Episode {self._id} belongs to another worker now ({quoted(row.worker)}). Nothing more can be "
                "recorded here."
            )
        if row.status != EpisodeStatus.RUNNING.value:
            return StoreError(f"Episode {self._id} is {row.status}; nothing more can be recorded.")
        if row.n_decisions == self._progress.n_decisions:
            return StoreError(f"Episode {self._id} was started already: another recorder writes it too.")
        return StoreError(
            f"Episode {self._id} has {row.n_decisions} decisions where {self._progress.n_decisions} were expected: "
            "another recorder writes it too."
        )

    def _check_ended_as(self, connection: Connection, outcome: Outcome) -> None:
        row = self._row(connection)
        if row is None or row.worker != self._worker or row.stop_reason != outcome.stop_reason.value:
            raise self._refusal(connection)

    def _row(self, connection: Connection) -> AnyRow | None:
        """What is stored of the episode; None where it was deleted."""
        columns = (episodes.c[name] for name in ("status", "stop_reason", "worker", "n_decisions"))
        itself = {"key": self._key, "its_uuid": self._id}
        return connection.execute(select(*columns).where(*_ITSELF), itself).one_or_none()


def _stored_progress(connection: Connection, key: int, episode_id: str) -> Progress:
    reader = EpisodeReader(connection, episode_id, key)
    progress = Progress(layout=reader.layout)
    if progress.layout is None:
        return progress
    for decision in reader.decisions(reader.all_scenes()):
        progress.add(decision)
    progress.tail = _stored_tail(connection, key)
    progress.dictionary = reader.dictionary
    for row in connection.execute(select(request_parts).where(request_parts.c.episode_id == key)):
        progress.request_parts.known(row.idx, decompress(row.blob, f"A message of episode {episode_id}"))
    return progress


def _stored_tail(connection: Connection, key: int) -> Tail:
    """The chunks after the last merged one."""
    tail = Tail()
    query = select(scene_chunks).where(scene_chunks.c.episode_id == key).order_by(scene_chunks.c.first)
    for row in connection.execute(query):
        packed = decompress(row.blob, "A part of the scenes")
        is_merged = row.n >= CHUNK_SCENES
        tail = Tail(row.first + row.n) if is_merged else Tail(tail.first, tail.n + row.n, (*tail.packed, packed))
    return tail


def _not_finite(decision: Decision) -> str:
    """The first number of its reward that is not finite, as a clause; empty if all are finite."""
    for component in decision.reward.components:
        for name in ("delta", "weight", "value"):
            if not math.isfinite(value := getattr(component, name)):
                return f"the {name} of {quoted(component.name)} is {value}"
    for step in decision.steps:
        if not math.isfinite(step.env_reward):
            return f"the environment paid {step.env_reward} for step {step.index}"
    sums = {"lambda": decision.reward.effective_lambda, "it": decision.reward.total, "the sum": decision.env_reward}
    return next((f"{name} is {value}" for name, value in sums.items() if not math.isfinite(value)), "")


def _types_for(connection: Connection, components: Sequence[RewardComponent], known: ComponentTypes) -> ComponentTypes:
    """The keys of the components' kinds and names; those that are new are stored."""
    missing = sorted(set(map(_type_of, components)) - known.keys())
    if not missing:
        return known
    rows = [{"kind": kind, "name": name} for kind, name in missing]
    connection.execute(insert_ignoring(connection, component_types), rows)
    return {(row.kind, row.name): row.id for row in connection.execute(select(component_types))}


def _type_of(component: RewardComponent) -> tuple[str, str]:
    """Its kind and name as they come back from the database, which cleans them."""
    return PlainText.cleaned(component.kind), PlainText.cleaned(component.name)


def _component_row(key: int, k: int, component: RewardComponent, types: ComponentTypes) -> dict[str, Any]:
    return {
        "decision_id": key,
        "k": k,
        "type_id": types[_type_of(component)],
        "delta": component.delta,
        "weight": component.weight,
        "value": component.value,
        "count_prior": component.count_prior,
        "count_limit": component.count_limit,
    }


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
    }
