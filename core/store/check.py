"""What `python -m core.store check` looks at: whether rows decode, and whether those of an episode agree."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, func, select

from core.env.rules import ACHIEVEMENTS, ACTIONS
from core.errors import InvalidInput, StoreCorrupt, StoreTooNew
from core.scenes import read_packed
from core.store.blobs import Dictionary, decompress, from_json
from core.store.codec import Payload, decode_payload, decode_start
from core.store.database import Database
from core.store.episode_reader import numbers_of
from core.store.packs import unpack
from core.store.rows import read_spec
from core.store.tables import (
    AnyRow,
    AnySelect,
    columns_of,
    component_types,
    decision_payloads,
    decisions,
    episode_achievements,
    episode_packs,
    episode_starts,
    episodes,
    model_profiles,
    request_parts,
    reward_components,
    reward_configs,
    runs,
    saved_rewards,
    scene_chunks,
    seed_descriptions,
)
from core.text import join, plural, quoted
from core.types import EpisodeStatus, ModelProfile, RewardConfig, SeedDescription

_ROWS_AT_ONCE: Final = 100
_NAMED: Final = frozenset(("achievement", "achievement_count"))  # kinds of reward components with an achievement's name
_WHAT_TO_DO: Final = "Restore a backup, or delete the episode."

# Rows outside of episodes: what they are called, the query for their name and JSON, and what that decodes to.
_RECORDS: Final[tuple[tuple[str, AnySelect, Any], ...]] = (
    ("The configuration of run", select(runs.c.uuid, runs.c.config), dict[str, Any]),
    (
        "The reward configuration",
        select(func.coalesce(saved_rewards.c.name, reward_configs.c.hash), reward_configs.c.config).outerjoin(
            saved_rewards, saved_rewards.c.config_hash == reward_configs.c.hash
        ),
        RewardConfig,
    ),
    ("The description of seed", select(seed_descriptions.c.seed, seed_descriptions.c.description), SeedDescription),
    ("The profile", select(model_profiles.c.name, model_profiles.c.profile), ModelProfile),
)


@dataclass
class Checked:
    """How much has been looked at so far."""

    episodes: int = 0
    decisions: int = 0


def findings(database: Database, checked: Checked) -> Iterator[str]:
    """One sentence for each problem, as it is found. Holds a few rows at a time; raises StoreUnavailable."""
    if database.is_sqlite:
        yield from _file_findings(database)
    for noun, query, kind in _RECORDS:
        yield from _record_findings(database, noun, query, kind)
    key: int | None = 0
    while (key := _next_episode(database, key)) is not None:
        checked.episodes += 1
        try:
            with database.reading() as connection:
                yield from _EpisodeCheck(connection, key, checked).findings()
        except StoreCorrupt as error:
            yield f"Episode number {key}: {error}"


def _file_findings(database: Database) -> Iterator[str]:
    try:
        with database.reading() as connection:
            for problem in connection.exec_driver_sql("PRAGMA integrity_check").scalars():
                for line in problem.splitlines() if problem != "ok" else ():
                    yield f"The database file is corrupt: {line}. Restore a backup."
            for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check"):
                yield f"Table {table}, row {row}: the row of {parent} that it belongs to is missing. Restore a backup."
    except StoreCorrupt as error:
        yield str(error)


def _record_findings(database: Database, noun: str, query: AnySelect, kind: Any) -> Iterator[str]:
    try:
        with database.reading() as connection:
            for name, text in connection.execute(query.execution_options(yield_per=_ROWS_AT_ONCE)):
                try:
                    from_json(text, kind, f"{noun} {name}")
                except StoreCorrupt as error:
                    yield str(error)
    except StoreCorrupt as error:
        yield f"{noun}: {error}"


def _next_episode(database: Database, key: int) -> int | None:
    with database.reading() as connection:
        return connection.scalar(select(func.min(episodes.c.id)).where(episodes.c.id > key))


class _EpisodeCheck:
    """Looks at one episode within one transaction, so that one that is being recorded is seen as a whole."""

    def __init__(self, connection: Connection, key: int, checked: Checked) -> None:
        self._connection = connection
        self._key = key
        self._checked = checked
        self._row: AnyRow = connection.execute(
            select(episodes, reward_configs.c.config.label("reward"), runs.c.uuid.label("run"))
            .outerjoin(reward_configs, reward_configs.c.hash == episodes.c.config_hash)
            .outerjoin(runs, runs.c.id == episodes.c.run_id)
            .where(episodes.c.id == key)
        ).one()
        self._name = f"episode {self._row.uuid}"

    def findings(self) -> Iterator[str]:
        parts = (self._row_findings, self._decision_findings, self._scene_findings, self._pack_findings)
        for part in parts:
            try:
                yield from part()
            except (StoreCorrupt, StoreTooNew) as error:
                yield str(error)

    def _problem(self, text: str) -> str:
        return f"{self._name.capitalize()}: {text}. {_WHAT_TO_DO}"

    def _rows(self, query: AnySelect) -> Iterator[AnyRow]:
        yield from self._connection.execute(query.execution_options(yield_per=_ROWS_AT_ONCE))

    def _row_findings(self) -> Iterator[str]:
        row = self._row
        if row.status not in {status.value for status in EpisodeStatus}:
            yield self._problem(f"its status {quoted(row.status)} is unknown")
        if row.run is None:
            yield self._problem("its run is missing")
        if row.reward is None:
            yield self._problem("its reward configuration is missing")
        else:
            read_spec(row.spec, row.reward, f"The specification of {self._name}")
        query: AnySelect = select(episode_achievements.c.name).where(episode_achievements.c.episode_id == self._key)
        names = [unlock.name for unlock in self._rows(query)]
        if unknown := [name for name in names if name not in ACHIEVEMENTS]:
            yield self._problem(f"it has {_unknown(unknown, 'achievement')}")
        yield from self._differences("its", (("n_achievements", row.n_achievements, "rows", len(names)),))

    def _differences(self, whose: str, pairs: Sequence[tuple[str, Any, str, Any]]) -> Iterator[str]:
        """pairs: what it is, as it is stored, and what other stored values give and what they are."""
        for name, stored, others, expected in pairs:
            if stored == expected:
                continue
            if isinstance(stored, float) and math.isclose(stored, expected, rel_tol=1e-9, abs_tol=1e-9):
                continue
            yield self._problem(f"{whose} {name} is {quoted(stored)}, but its {others} give {quoted(expected)}")

    # ------------------------------------------------------------------------------------------------ decisions

    def _decision_findings(self) -> Iterator[str]:
        count = steps = n_parts = 0
        env_return = shaped_return = 0.0
        dictionary: Dictionary | None = None
        for row, components in self._decisions():
            self._checked.decisions += 1
            what = f"Decision {row.idx} of {self._name}"
            if row.idx != count:
                yield self._problem(f"decision {row.idx} follows where decision {count} belongs")
            if row.step_start != steps or row.step_end < row.step_start:
                yield self._problem(f"decision {row.idx} has steps {row.step_start} to {row.step_end} after {steps}")
            count, steps = row.idx + 1, row.step_end
            env_return += row.env_reward
            shaped_return += row.reward
            yield from self._name_findings(row, components)
            if row.blob is None:
                yield self._problem(f"the content of decision {row.idx} is missing")
            if row.blob is None or (row.idx and dictionary is None):  # the first one is needed to unpack the others
                continue
            try:
                text = decompress(row.blob, what, dictionary)
                dictionary = dictionary or Dictionary(text)
                payload = decode_payload(text, what)
                numbers_of(row, what)
            except (StoreCorrupt, StoreTooNew) as error:
                yield str(error)
                continue
            yield from self._content_findings(row, components, payload)
            ends = (end for spans in payload.request_parts.values() for _, end in spans)
            n_parts = max(n_parts, *ends, 0)
        counters = {"n_decisions": count, "n_steps": steps, "env_return": env_return, "shaped_return": shaped_return}
        stored = columns_of(self._row)
        pairs = [(name, stored[name], "decisions", expected) for name, expected in counters.items()]
        yield from self._differences("its", pairs)
        yield from self._message_findings(n_parts)

    def _decisions(self) -> Iterator[tuple[AnyRow, list[AnyRow]]]:
        """Each decision with its payload and its reward components, in order."""
        names = ("id", "idx", "step_start", "step_end", "env_reward", "reward", "actions", "unlocked", "numbers")
        query: AnySelect = (
            select(*(decisions.c[name] for name in names), decision_payloads.c.blob)
            .outerjoin(decision_payloads, decision_payloads.c.decision_id == decisions.c.id)
            .where(decisions.c.episode_id == self._key)
            .order_by(decisions.c.idx)
        )
        result = self._connection.execute(query.execution_options(yield_per=_ROWS_AT_ONCE))
        for rows in result.partitions():
            components = self._components([row.id for row in rows])
            for row in rows:
                yield row, components[row.id]

    def _components(self, decision_ids: list[int]) -> dict[int, list[AnyRow]]:
        query = (
            select(reward_components, component_types.c.kind, component_types.c.name)
            .outerjoin(component_types, component_types.c.id == reward_components.c.type_id)
            .where(reward_components.c.decision_id.in_(decision_ids))
            .order_by(reward_components.c.decision_id, reward_components.c.k)
        )
        found = defaultdict[int, list[AnyRow]](list)
        for row in self._connection.execute(query):
            found[row.decision_id].append(row)
        return found

    def _name_findings(self, row: AnyRow, components: list[AnyRow]) -> Iterator[str]:
        if unknown := sorted(set(row.actions.split()) - set(ACTIONS)):
            yield self._problem(f"decision {row.idx} has {_unknown(unknown, 'action')}")
        achievements = set((row.unlocked or "").split())
        achievements |= {component.name for component in components if component.kind in _NAMED}
        if unknown := sorted(achievements - set(ACHIEVEMENTS)):
            yield self._problem(f"decision {row.idx} has {_unknown(unknown, 'achievement')}")
        if [component.k for component in components] != list(range(len(components))):
            yield self._problem(f"a reward component of decision {row.idx} is missing")

    def _content_findings(self, row: AnyRow, components: list[AnyRow], payload: Payload) -> Iterator[str]:
        steps = payload.steps
        reward = payload.effective_lambda * math.fsum(component.value for component in components)
        pairs = (
            ("number of steps", row.step_end - row.step_start, "content", len(steps)),
            ("list of actions", row.actions, "content", " ".join(step.action for step in steps)),
            ("reward", row.reward, "lambda and components", reward),
            ("environment reward", row.env_reward, "steps", math.fsum(step.env_reward for step in steps)),
        )
        yield from self._differences(f"decision {row.idx}'s", pairs)

    def _message_findings(self, n_needed: int) -> Iterator[str]:
        """The parts of model requests, of which `n_needed` are referred to."""
        query: AnySelect = (
            select(request_parts.c.idx, request_parts.c.blob)
            .where(request_parts.c.episode_id == self._key)
            .order_by(request_parts.c.idx)
        )
        count = 0
        for row in self._rows(query):
            count += 1
            what = f"Message {row.idx} of {self._name}"
            try:
                from_json(decompress(row.blob, what), object, what)
            except StoreCorrupt as error:
                yield str(error)
        if count < n_needed:
            yield self._problem(f"{plural(n_needed - count, 'message')} of its model calls are missing")

    # ------------------------------------------------------------------------------------------ scenes and pack

    def _scene_findings(self) -> Iterator[str]:
        start = self._connection.scalar(select(episode_starts.c.blob).where(episode_starts.c.episode_id == self._key))
        if start is not None:
            decode_start(start, f"The start of {self._name}")
        expected = 0 if start is None else self._row.n_steps + 1
        query: AnySelect = (
            select(scene_chunks).where(scene_chunks.c.episode_id == self._key).order_by(scene_chunks.c.first)
        )
        count = 0
        for row in self._rows(query):
            scenes = f"scenes {row.first} to {row.first + row.n - 1}"
            try:
                packed = decompress(row.blob, f"{scenes.capitalize()} of {self._name}")
                if row.first != count or len(read_packed(packed)) != row.n:
                    yield self._problem(f"{scenes} do not follow on {count}")
            except StoreCorrupt as error:
                yield str(error)
            except InvalidInput as error:
                yield self._problem(f"{scenes} cannot be read ({error})")
            count = row.first + row.n
        if count != expected:
            yield self._problem(f"it has {plural(count, 'scene')} instead of {expected:,}")

    def _pack_findings(self) -> Iterator[str]:
        blob = self._connection.scalar(select(episode_packs.c.blob).where(episode_packs.c.episode_id == self._key))
        facts = None if blob is None else unpack(blob, f"The reward facts of {self._name}")
        if facts is not None:
            pairs = (("number of decisions", self._row.n_decisions, "reward facts", facts.n_decisions),)
            yield from self._differences("its", pairs)


def _unknown(names: Sequence[str], noun: str) -> str:
    return f"{plural(len(names), f'unknown {noun}')}: {join([quoted(name) for name in names])}"
