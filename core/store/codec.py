"""Decisions and world states as compact, versioned JSON.

What other tables hold is not repeated: reward components, scenes, `store_ms` and the agent's own numbers. Facts are
lists of values: an episode's `Layout` names each of them once. A decision carries the facts before its first step
whole, and of each step only the values that changed. Parts of a model request that come again in every call (messages,
tools) are stored once an episode and referred to by number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

import msgspec

from core.store.blobs import check_version, compress, decompress, from_json, to_json
from core.types import (
    Decision,
    EpisodeError,
    ModelCall,
    RewardBreakdown,
    RewardComponent,
    Scene,
    StateFacts,
    StateRecord,
    Step,
    Timing,
    ToolCall,
)

VERSION: Final = 1

_TERMINATED: Final = 1
_TRUNCATED: Final = 2

Values = list[int | None]
Ranges = list[tuple[int, int]]


class Layout(msgspec.Struct, frozen=True, array_like=True):
    """The names of the values of facts: achievements, inventory, achievement counts; then come x and y."""

    achievements: tuple[str, ...]
    inventory: tuple[str, ...]
    counts: tuple[str, ...]

    @classmethod
    def of(cls, states: Iterable[StateFacts]) -> Layout:
        """A layout with each name that occurs."""
        achievements, inventory, counts = dict[str, None](), dict[str, None](), dict[str, None]()
        for facts in states:
            achievements.update(dict.fromkeys(facts.achievements))
            inventory.update(dict.fromkeys(facts.inventory))
            counts.update(dict.fromkeys(facts.achievement_counts))
        return cls(tuple(achievements), tuple(inventory), tuple(counts))

    def covers(self, facts: StateFacts) -> bool:
        """Whether it has every name of the facts."""
        return (
            facts.achievements.keys() <= set(self.achievements)
            and facts.inventory.keys() <= set(self.inventory)
            and facts.achievement_counts.keys() <= set(self.counts)
        )

    def values(self, facts: StateFacts) -> Values:
        """Positional facts; None where a name is absent."""
        x, y = facts.position or (None, None)
        return [
            *(
                None if unlocked is None else int(unlocked)
                for unlocked in map(facts.achievements.get, self.achievements)
            ),
            *map(facts.inventory.get, self.inventory),
            *map(facts.achievement_counts.get, self.counts),
            x,
            y,
        ]

    def facts(self, values: Values) -> StateFacts:
        """The inverse of `values`."""
        n, m = len(self.achievements), len(self.achievements) + len(self.inventory)
        x, y = values[-2:]
        return StateFacts(
            achievements={k: bool(v) for k, v in zip(self.achievements, values[:n], strict=True) if v is not None},
            inventory={k: v for k, v in zip(self.inventory, values[n:m], strict=True) if v is not None},
            achievement_counts={k: v for k, v in zip(self.counts, values[m:-2], strict=True) if v is not None},
            position=None if x is None or y is None else (x, y),
        )


class StartRecord(msgspec.Struct, frozen=True):
    """The world after reset, without its scene, and the layout of the whole episode."""

    v: int
    layout: Layout
    facts: Values
    state_digest: str
    world_digest: str

    def state(self, scene: Scene) -> StateRecord:
        """The world after reset, of which that is the scene."""
        return StateRecord(self.layout.facts(self.facts), scene, self.state_digest, self.world_digest)


class StepRecord(msgspec.Struct, frozen=True, array_like=True):
    """One step. changes: index, value, index, value, ... against the state before it."""

    action: str
    env_reward: float
    flags: int
    changes: Values
    state_digest: str
    world_digest: str


class TimingRecord(msgspec.Struct, frozen=True, array_like=True):
    """Seconds on the episode's clock, as in `Timing`."""

    agent_request_start_s: float
    agent_response_s: float
    decision_ready_s: float
    env_steps_s: tuple[tuple[float, float], ...]


class Payload(msgspec.Struct, frozen=True, omit_defaults=True):
    """A decision without what other tables hold. layout: None where the episode's fits.

    request_parts: for each list in the model call's request, which of the episode's parts it consists of, as ranges.
    """

    v: int
    observation: str
    before: Values
    timing: TimingRecord
    strategy: str
    effective_lambda: float
    steps: tuple[StepRecord, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    not_executed: tuple[str, ...] = ()
    new_achievements: tuple[str, ...] = ()
    credited_achievements: tuple[str, ...] = ()
    unlocked: tuple[str, ...] = ()
    unique_unlocked: tuple[str, ...] = ()
    model_call: ModelCall | None = None
    request_parts: dict[str, Ranges] = {}
    error: EpisodeError | None = None
    warning: str | None = None
    layout: Layout | None = None


class RequestParts:
    """The parts of model requests that an episode has stored so far, by content."""

    def __init__(self, numbers: Mapping[bytes, int] = MappingProxyType({})) -> None:
        self._numbers = dict(numbers)

    def copy(self) -> RequestParts:
        return RequestParts(self._numbers)

    def known(self, number: int, part: bytes) -> None:
        """Register a stored part."""
        self._numbers[part] = number

    def split(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Ranges], dict[int, bytes]]:
        """(the request without its lists, where their items are, items that are new by number). Changes nothing."""
        rest = dict[str, Any]()
        places = dict[str, Ranges]()
        new = dict[bytes, int]()
        for key, value in request.items():
            if not isinstance(value, list):
                rest[key] = value
                continue
            numbers: list[int] = []
            for item in value:  # pyright: ignore[reportUnknownVariableType]
                part = to_json(item)  # pyright: ignore[reportUnknownArgumentType]
                number = self._numbers.get(part)
                numbers.append(number if number is not None else new.setdefault(part, len(self._numbers) + len(new)))
            places[key] = _ranges(numbers)
        return rest, places, {number: part for part, number in new.items()}


def encode_start(initial: StateRecord) -> tuple[Layout, bytes]:
    """The episode's layout, and its start as a blob."""
    layout = Layout.of([initial.facts])
    record = StartRecord(VERSION, layout, layout.values(initial.facts), initial.state_digest, initial.world_digest)
    return layout, compress(to_json(record))


def decode_start(blob: bytes, what: str) -> StartRecord:
    """What `encode_start` wrote. Raises StoreCorrupt, StoreTooNew."""
    record = from_json(decompress(blob, what), StartRecord, what)
    check_version(record.v, VERSION, what)
    return record


def encode_decision(decision: Decision, layout: Layout, request: tuple[dict[str, Any], dict[str, Ranges]]) -> bytes:
    """A decision as JSON. layout: the episode's. request: as `RequestParts.split` gave it."""
    states = [decision.before, *(step.state.facts for step in decision.steps)]
    own_layout = None if all(map(layout.covers, states)) else Layout.of(states)
    values = list(map((own_layout or layout).values, states))
    model_call, timing, reward = decision.model_call, decision.timing, decision.reward
    return to_json(
        Payload(
            v=VERSION,
            observation=decision.observation,
            before=values[0],
            timing=TimingRecord(
                timing.agent_request_start_s, timing.agent_response_s, timing.decision_ready_s, timing.env_steps_s
            ),
            strategy=reward.strategy,
            effective_lambda=reward.effective_lambda,
            steps=tuple(map(_step_record, decision.steps, values, values[1:])),
            tool_calls=decision.tool_calls,
            not_executed=decision.not_executed,
            new_achievements=reward.new_achievements,
            credited_achievements=reward.credited_achievements,
            unlocked=decision.unlocked,
            unique_unlocked=decision.unique_unlocked,
            model_call=None if model_call is None else replace(model_call, request=request[0]),
            request_parts=request[1],
            error=decision.error,
            warning=decision.warning,
            layout=own_layout,
        )
    )


def decode_payload(text: bytes, what: str) -> Payload:
    """What `encode_decision` wrote. Raises StoreCorrupt, StoreTooNew."""
    payload = from_json(text, Payload, what)
    check_version(payload.v, VERSION, what)
    return payload


def build_decision(
    payload: Payload,
    *,
    index: int,
    step_start: int,
    layout: Layout,
    scenes: Sequence[Scene],
    components: tuple[RewardComponent, ...],
    store_ms: float | None,
    request_parts: Mapping[int, Any],
    value: float | None = None,
    logprob: float | None = None,
    numbers: Mapping[str, float] | None = None,
) -> Decision:
    """The decision that was recorded, from its payload and what the other tables hold of it.

    scenes: one a step. request_parts: at least those that the payload refers to.
    """
    values = payload.before
    layout = payload.layout or layout
    steps: list[Step] = []
    for offset, (record, scene) in enumerate(zip(payload.steps, scenes, strict=True)):
        values = _changed(values, record.changes)
        steps.append(
            Step(
                index=step_start + offset,
                action=record.action,
                env_reward=record.env_reward,
                terminated=bool(record.flags & _TERMINATED),
                truncated=bool(record.flags & _TRUNCATED),
                state=StateRecord(layout.facts(values), scene, record.state_digest, record.world_digest),
            )
        )
    timing = payload.timing
    return Decision(
        index=index,
        observation=payload.observation,
        tool_calls=payload.tool_calls,
        steps=tuple(steps),
        not_executed=payload.not_executed,
        before=layout.facts(payload.before),
        reward=RewardBreakdown(
            strategy=payload.strategy,
            effective_lambda=payload.effective_lambda,
            components=components,
            new_achievements=payload.new_achievements,
            credited_achievements=payload.credited_achievements,
        ),
        unlocked=payload.unlocked,
        unique_unlocked=payload.unique_unlocked,
        timing=Timing(
            agent_request_start_s=timing.agent_request_start_s,
            agent_response_s=timing.agent_response_s,
            env_steps_s=timing.env_steps_s,
            decision_ready_s=timing.decision_ready_s,
            store_ms=store_ms,
        ),
        model_call=whole_call(payload, request_parts),
        error=payload.error,
        warning=payload.warning,
        value=value,
        logprob=logprob,
        numbers=dict(numbers or {}),
    )


def facts_of(payload: Payload, layout: Layout) -> tuple[StateFacts, StateFacts]:
    """The facts before and after a decision."""
    layout = payload.layout or layout
    values = payload.before
    for record in payload.steps:
        values = _changed(values, record.changes)
    return layout.facts(payload.before), layout.facts(values)


def whole_call(payload: Payload, request_parts: Mapping[int, Any]) -> ModelCall | None:
    """The decision's model call with its whole request. request_parts: at least those that it refers to."""
    if payload.model_call is None:
        return None
    lists = {
        key: [request_parts[number] for start, end in ranges for number in range(start, end)]
        for key, ranges in payload.request_parts.items()
    }
    return replace(payload.model_call, request={**payload.model_call.request, **lists})


def _step_record(step: Step, before: Values, after: Values) -> StepRecord:
    changes = [part for at, value in enumerate(after) if value != before[at] for part in (at, value)]
    flags = _TERMINATED * step.terminated | _TRUNCATED * step.truncated
    state = step.state
    return StepRecord(step.action, step.env_reward, flags, changes, state.state_digest, state.world_digest)


def _changed(values: Values, changes: Values) -> Values:
    after = list(values)
    for at, value in zip(changes[::2], changes[1::2], strict=True):
        after[at or 0] = value
    return after


def _ranges(numbers: Sequence[int]) -> Ranges:
    ranges: Ranges = []
    for number in numbers:
        if ranges and ranges[-1][1] == number:
            ranges[-1] = (ranges[-1][0], number + 1)
        else:
            ranges.append((number, number + 1))
    return ranges
