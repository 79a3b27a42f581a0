"""Reads the databases of synth-ai's tracing, version 3: a session is an episode, without frames.

The tables are those of `synth_ai.tracing_v3` 0.2.23. What an agent did stands in the assistant's message of a time
step, or where messages are missing in the call record of its event; what came of it in the environment's event. The
states are the texts that the policy was shown. `event_rewards` repeats one reward as several types, so rewards are
taken from the events themselves.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import quote

from core.env.rules import ACHIEVEMENTS, ACTION_INDEX, ITEMS
from core.errors import InvalidInput
from core.imports.documents import Found, Read
from core.text import cut, visible
from core.types import (
    Decision,
    Episode,
    EpisodeSpec,
    Limits,
    ModelCall,
    Outcome,
    PolicySpec,
    RewardBreakdown,
    RewardConfig,
    Run,
    RunSource,
    Scene,
    StateFacts,
    StateRecord,
    Step,
    StopReason,
    Timing,
    ToolCall,
)

ENGINE: Final = "synth-ai, not simulated here"

_GRID: Final = (9, 7)
_MAX_SESSIONS: Final = 100_000
_MAX_TEXT: Final = 20_000_000  # of one cell
_STEP: Final[re.Pattern[str]] = re.compile(r"^Step: (\d{1,9})", re.MULTILINE)
_HEALTH: Final[re.Pattern[str]] = re.compile(r"^Health: (\d{1,3})", re.MULTILINE)
_POSITION: Final[re.Pattern[str]] = re.compile(r"^Position: \[(\d{1,6}), (\d{1,6})\]", re.MULTILINE)
_INVENTORY: Final[re.Pattern[str]] = re.compile(r"^Inventory: (.*)$", re.MULTILINE)
_ACHIEVEMENTS: Final[re.Pattern[str]] = re.compile(r"^Achievements: (.*)$", re.MULTILINE)

Row = dict[str, Any]


def is_synth(path: Path) -> bool:
    """Whether the name is one of a database."""
    return path.suffix.lower() in (".db", ".sqlite", ".sqlite3")


def read_sessions(path: Path) -> Iterator[tuple[str, Read]]:
    """Each session: (where it is, a function that reads it). The file is opened for reading only.

    Raises InvalidInput for another file, or one without the tables that are needed.
    """
    try:
        # Without a log beside it nobody writes it, and nothing is made in its folder.
        has_log = path.with_name(f"{path.name}-wal").exists()
        address = f"file:{quote(str(path.absolute()))}?mode=ro{'' if has_log else '&immutable=1'}"
        with closing(sqlite3.connect(address, uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_TEXT)
            sessions = _rows(connection, "session_traces", "1 = 1", (), "rowid", needed=("session_id",))
            for session in sessions[:_MAX_SESSIONS]:
                name = cut(visible(str(session["session_id"])), 100)
                yield f"{path.name}, session {name}", lambda session=session: _found(connection, session, path.name)
    except sqlite3.Error as error:
        raise InvalidInput(f"{visible(path.name)} is not a database of synth-ai's tracing ({error}).") from error


def _rows(
    connection: sqlite3.Connection,
    table: str,
    where: str,
    values: Sequence[object],
    order: str,
    needed: Sequence[str] = (),
) -> list[Row]:
    """Rows of a table as dictionaries; columns that an older version lacks are missing in them."""
    kind = connection.execute("SELECT type FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    if kind != ("table",):  # a view of anyone's may never end
        raise InvalidInput(f"It has no table {table}.")
    cursor = connection.execute(f"SELECT * FROM {table} WHERE {where} ORDER BY {order}", values)  # noqa: S608
    names = [column[0] for column in cursor.description]
    if lacking := [name for name in needed if name not in names]:
        raise InvalidInput(f"Its table {table} lacks the column {', '.join(lacking)}.")
    return [dict(zip(names, row, strict=True)) for row in cursor]


def _found(connection: sqlite3.Connection, session: Row, file: str) -> Found:
    try:
        return _read(connection, session, file)
    except sqlite3.Error as error:
        raise InvalidInput(f"It cannot be read ({error}).") from error


def _read(connection: sqlite3.Connection, session: Row, file: str) -> Found:
    session_id = str(session["session_id"])
    own = (session_id,)
    needed = ("event_type", "timestep_id")
    events = _rows(connection, "events", "session_id = ?", own, "id", needed)
    has_messages = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'messages'").fetchone()
    messages = _rows(connection, "messages", "session_id = ?", own, "id") if has_messages else []
    about = _object(session.get("metadata"))
    started = _time(session.get("created_at"))
    turns: dict[Any, list[Row]] = {}
    for event in events:
        turns.setdefault(event["timestep_id"], []).append(event)
    texts = [_object(event.get(name)).get("text") for event in events for name in _STATES]
    first = next((text for text in texts if isinstance(text, str)), None)
    if first is None:
        raise InvalidInput("It has no state of the environment.")
    before = _facts(first)
    initial = _state(before, _step_of(first))
    reader = _Turns(messages, before, float(events[0].get("event_time") or 0.0))
    decisions = tuple(reader.decision(timestep, its) for timestep, its in turns.items())
    seed = about.get("seed")
    # One of its own keeps an unknown world apart from others.
    own_seed = int(hashlib.blake2b(session_id.encode(), digest_size=3).hexdigest(), 16)
    policy = str(about.get("policy_name") or "unknown")
    ended_at = datetime.fromtimestamp(started.timestamp() + reader.last_s, UTC)
    reason = StopReason.TERMINATED if reader.is_terminated else StopReason.OPS_DONE
    limits = Limits(max_steps=max(1, reader.n_steps), max_decisions=max(1, len(decisions)))
    spec = EpisodeSpec(
        seed=seed if isinstance(seed, int) and 0 <= seed < 2**31 else own_seed,
        policy=PolicySpec(cut(policy, 100)),
        policy_seed=0,
        reward=RewardConfig(enabled=False),
        limits=limits,
        engine_version=ENGINE,
    )
    run_id = f"synth-{cut(visible(session_id), 150)}"
    episode = Episode(f"{run_id}-1", run_id, spec, initial, decisions, started, Outcome(reason, ended_at))
    run = Run(
        id=run_id,
        created_at=started,
        episodes=(),
        name=cut(session_id, 100),
        config={"imported_from": file, "metadata": about, "policy": {"name": policy}},
        training_session_id=_optional(about.get("training_session_id")),
        session_url=_optional(about.get("synth_base_url")),
        source=RunSource.IMPORTED,
    )
    return Found(run, episode, 0, started)


_STATES: Final = ("system_state_before", "system_state_after")


class _Turns:
    """Reads the decisions of a session one after another."""

    def __init__(self, messages: Sequence[Row], initial: StateFacts, began_s: float) -> None:
        self._messages = messages
        self._facts = initial
        self._began_s = began_s
        self._seen = {name for name, got in initial.achievements.items() if got}
        self._index = 0
        self.n_steps = 0
        self.last_s = 0.0
        self.is_terminated = False

    def decision(self, timestep: Any, events: Sequence[Row]) -> Decision:
        asked = next((event for event in events if event["event_type"] == "cais"), None)
        played = next((event for event in events if event["event_type"] == "environment"), None)
        messages = [_object(row.get("content")) for row in self._messages if row.get("timestep_id") == timestep]
        calls = _calls(messages, asked)
        before, after = self._facts, self._facts
        asked_s = self._seconds(asked)
        played_s = max(asked_s, self._seconds(played))
        steps: tuple[Step, ...] = ()
        if played is not None:
            text_after = _object(played.get("system_state_after")).get("text")
            count = 1
            if isinstance(text_after, str):
                after, count = _facts(text_after), _step_of(text_after) - self.n_steps
            steps = self._steps(calls, played, after, count)
        shown = [str(message.get("text") or message.get("content") or "") for message in messages]
        users = [text for text, message in zip(shown, messages, strict=True) if message.get("role") == "user"]
        unlocked = tuple(name for name, got in after.achievements.items() if got and not before.achievements[name])
        found = Decision(
            index=self._index,
            observation=users[-1] if users else "",
            tool_calls=calls,
            steps=steps,
            not_executed=tuple(action for call in calls for action in call.actions)[len(steps) :],
            before=before,
            reward=RewardBreakdown("consistent", 1.0),
            unlocked=unlocked,
            unique_unlocked=tuple(name for name in unlocked if name not in self._seen),
            timing=Timing(self.last_s, asked_s, ((asked_s, played_s),) * bool(steps), played_s),
            model_call=_model_call(asked, messages),
        )
        self._seen.update(unlocked)
        self._facts, self.last_s = after, played_s
        self._index += 1
        return found

    def _steps(self, calls: Sequence[ToolCall], played: Row, after: StateFacts, count: int) -> tuple[Step, ...]:
        """The states between the actions of one decision are not stored: the last action gets what changed."""
        actions = [action for call in calls for action in call.actions][:count]
        if len(actions) != count or count < 1:
            raise InvalidInput(
                f"Decision {self._index} took {count} steps, and {len(actions)} of its actions are known."
            )
        terminated, truncated = bool(played.get("terminated")), bool(played.get("truncated"))
        self.is_terminated |= terminated
        steps: list[Step] = []
        for at, action in enumerate(actions):
            is_last = at == count - 1
            facts = after if is_last else self._facts
            reward = float(played.get("reward") or 0.0) if is_last else 0.0
            state = _state(facts, self.n_steps + 1)
            steps.append(Step(self.n_steps, action, reward, terminated and is_last, truncated and is_last, state))
            self.n_steps += 1
        return tuple(steps)

    def _seconds(self, event: Row | None) -> float:
        """Seconds since the session began, never back in time."""
        given = None if event is None else event.get("event_time")
        return max(self.last_s, float(given) - self._began_s) if isinstance(given, int | float) else self.last_s


def _calls(messages: Sequence[Row], asked: Row | None) -> tuple[ToolCall, ...]:
    given = [
        call for message in messages if message.get("role") == "assistant" for call in _list(message.get("tool_calls"))
    ]
    functions = [_object(_object(call).get("function")) for call in given]
    found = [(_object(call), function) for call, function in zip(given, functions, strict=True) if function]
    if found:
        return tuple(_call(f.get("name"), f.get("arguments"), call.get("id")) for call, f in found)
    records = _list(asked.get("call_records")) if asked else []
    outputs = [_object(output) for record in records for output in _list(_object(record).get("output_tool_calls"))]
    return tuple(_call(o.get("name"), o.get("arguments_json"), o.get("call_id")) for o in outputs)


def _call(name: object, arguments: object, call_id: object) -> ToolCall:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    actions = tuple(str(action) for action in _list(_object(text).get("actions")) if str(action) in ACTION_INDEX)
    return ToolCall(str(name or ""), text, call_id=str(call_id or ""), actions=actions)


def _model_call(asked: Row | None, messages: Sequence[Row]) -> ModelCall | None:
    if asked is None:
        return None
    sent = [
        {"role": message.get("role"), "content": message.get("text") or message.get("content") or ""}
        for message in messages
        if message.get("role") in ("system", "user")
    ]
    answers = [message for message in messages if message.get("role") == "assistant"]
    return ModelCall(
        provider=str(asked.get("provider") or ""),
        model=str(asked.get("model_name") or ""),
        request={"messages": sent},
        response_text=json.dumps(answers[:1], ensure_ascii=False),
        tokens_in=_count(asked.get("input_tokens")),
        tokens_out=_count(asked.get("output_tokens")),
        latency_ms=float(_count(asked.get("latency_ms")) or 0),
    )


def _facts(text: str) -> StateFacts:
    """The state in a text such as `Inventory: food:9, drink:9`."""
    inventory = dict.fromkeys(ITEMS, 0)
    if health := _HEALTH.search(text):
        inventory["health"] = int(health[1])
    held = _INVENTORY.search(text)
    for entry in str(held[1]).split(",") if held else ():
        name, _, count = entry.strip().partition(":")
        if name in inventory and count.isdecimal() and len(count) < 6:
            inventory[name] = int(count)
    listed = _ACHIEVEMENTS.search(text)
    unlocked = {name.strip() for name in str(listed[1]).split(",")} if listed else set[str]()
    position = _POSITION.search(text)
    return StateFacts(
        achievements={name: name in unlocked for name in ACHIEVEMENTS},
        inventory=inventory,
        achievement_counts={name: int(name in unlocked) for name in ACHIEVEMENTS},
        position=(int(position[1]), int(position[2])) if position else None,
    )


def _step_of(text: str) -> int:
    found = _STEP.search(text)
    return int(found[1]) if found else 0


def _state(facts: StateFacts, step: int) -> StateRecord:
    """Without a frame: nothing but cells outside of the world."""
    return StateRecord(facts, Scene(step, _GRID, (0,) * (_GRID[0] * _GRID[1]), (), facts.inventory, False), "", "")


def _object(value: object) -> dict[str, Any]:
    """The JSON object in a cell, or an empty one."""
    decoded = _decoded(value)
    return cast(dict[str, Any], decoded) if isinstance(decoded, dict) else {}


def _list(value: object) -> list[Any]:
    decoded = _decoded(value)
    return cast(list[Any], decoded) if isinstance(decoded, list) else []


def _decoded(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _time(value: object) -> datetime:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _optional(value: object) -> str | None:
    return cut(str(value), 200) if value else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 2**31 else None
