"""Decisions as training examples, with what they earned: `python -m core.exports --sft [filters] [--out FILE]`.

One JSON object a line, in ASCII: all other characters are escaped, so that no reader takes one for the end of a line.
The newest episodes come first, the decisions of an episode in order; one that is running is exported as far as it is.
The JSON Schema of a line is printed by `python -m core.exports --sft --schema`; in words:

| field                   | what it holds                                                                              |
|-------------------------|--------------------------------------------------------------------------------------------|
| `format`                | always `craftscope-sft-1`; another one where a field changes its meaning or goes away      |
| `run_id`, `episode_id`  | where the decision is stored                                                               |
| `decision`              | its index in the episode, from 0                                                           |
| `time`                  | when the policy answered, UTC                                                              |
| `policy`                | the policy's name                                                                          |
| `model`, `provider`     | the model that answered, and the host that was asked; null where no model was asked        |
| `messages`              | the messages of the request as they were sent (pictures as the data URLs that they were),  |
|                         | and last the assistant's message                                                           |
| `tools`                 | the tools that were offered, as they were sent                                             |
| `max_actions_per_call`  | how many actions of a call count                                                           |
| `actions`               | the actions that the message asks for, as they were read                                   |
| `executed`              | the actions that were executed; fewer if a limit or the episode's end came first           |
| `reward`                | what the shaping pays for the decision                                                     |
| `env_reward`            | what Crafter pays for it                                                                   |
| `unlocked`              | the achievements that it unlocked                                                          |
| `shaped_return`,        | the sums over the whole episode                                                            |
| `env_return`            |                                                                                            |
| `error_kind`            | why the call was invalid; null if it was valid                                             |
| `warning`               | what was wrong with a valid call; mostly null                                              |
| `value`, `logprob`      | the agent's value, and the log-probability of its answer; null where not recorded          |

The assistant's message is that of the chat-completions API, whatever dialect the model speaks: `role`, `content` (null
where there is none), `tool_calls` with the arguments as the model sent them, and `reasoning_content` where the server
sent the model's reasoning; keys that would be empty are left out. A text that is itself the call (`<tool_call>...`) is
not repeated as `content`. A call whose end is missing is left out, and so are invalid answers before a valid one
(`retry`).

A decision without a model call (scripted, random), or whose request held no messages, is exported only with
`all_policies`: its messages are then a model's system prompt and the observation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Literal

import msgspec

from core.errors import InvalidInput, UnknownEpisode
from core.exports.calls import arguments_object, request_messages, request_tools
from core.exports.episodes import episodes_of
from core.policies.llm.prompt import Message, default_system_prompt
from core.policies.tools import ParsedResponse, parse_response, read_tool_call, tool_schema
from core.policies.tools.values import as_dict, as_list
from core.store import EpisodeFilter, EpisodeSummary, Exchange, TraceStore
from core.store.blobs import to_json
from core.types import ToolCall

SFT_FORMAT: Final = "craftscope-sft-1"


@dataclass(frozen=True, slots=True)
class SftFilter:
    """Which decisions to export; the default is all with a valid model call.

    episodes: which episodes; its `min_reward` is the least shaped return. episode_ids: only these of them, in this
    order; empty for any. min_reward: the least shaped reward of a decision, inclusive. models: by the names that they
    answered with; empty for any. include_invalid: also invalid calls. all_policies: also decisions without
    a model call. arguments: of the calls in all messages, as JSON `text`, as the chat-completions API has them, or as
    an `object`, as the chat templates of some models want them.
    """

    episodes: EpisodeFilter = field(default_factory=EpisodeFilter)
    episode_ids: tuple[str, ...] = ()
    min_reward: float | None = None
    models: tuple[str, ...] = ()
    include_invalid: bool = False
    all_policies: bool = False
    arguments: Literal["text", "object"] = "text"


class SftRecord(msgspec.Struct, frozen=True):
    """One line; its fields are described above."""

    format: str
    run_id: str
    episode_id: str
    decision: int
    time: datetime
    policy: str
    model: str | None
    provider: str | None
    messages: tuple[Message, ...]
    tools: tuple[dict[str, Any], ...]
    max_actions_per_call: int
    actions: tuple[str, ...]
    executed: tuple[str, ...]
    reward: float
    env_reward: float
    unlocked: tuple[str, ...]
    shaped_return: float
    env_return: float
    error_kind: str | None
    warning: str | None
    value: float | None = None
    logprob: float | None = None

    @property
    def prompt(self) -> tuple[Message, ...]:
        """All messages but the answer."""
        return self.messages[:-1]

    @property
    def assistant(self) -> Message:
        return self.messages[-1]

    def parsed(self) -> ParsedResponse:
        """The assistant's message, parsed as a server's answer."""
        return _parsed(self.assistant, self.max_actions_per_call)


_ALL: Final = SftFilter()


def sft_records(store: TraceStore, wanted: SftFilter = _ALL) -> Iterator[SftRecord]:
    """The decisions that pass, one after another. Each is read in a short transaction of its own.

    Episodes that are created during the export are left out, and the rest of one that is deleted. Raises
    UnknownEpisode for a run or an episode that is not stored, and what `TraceStore` raises.
    """
    for episode in episodes_of(store, wanted.episodes, wanted.episode_ids):
        for exchange in _exchanges(store, episode.id, wanted):
            usable = exchange.actions and exchange.error_kind is None
            if usable or wanted.include_invalid:
                record = _record(episode, exchange)
                yield _with_objects(record) if wanted.arguments == "object" else record


def sft_lines(store: TraceStore, wanted: SftFilter = _ALL) -> Iterator[bytes]:
    """The records as lines of a file."""
    return (_line(record) for record in sft_records(store, wanted))


def read_sft(lines: Iterable[bytes | str]) -> Iterator[SftRecord]:
    """The records of lines that `sft_lines` wrote (an open file, say); empty lines are skipped.

    Raises InvalidInput, which names the line that cannot be read.
    """
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _read_line(line, number)


def sft_schema() -> dict[str, Any]:
    """The JSON Schema of a line."""
    return msgspec.json.decode(to_json(msgspec.json.schema(SftRecord)))


# ------------------------------------------------------------------------------------------------------- reading


def _exchanges(store: TraceStore, episode_id: str, wanted: SftFilter) -> Iterator[Exchange]:
    after = -1
    while True:
        try:
            exchange = store.episodes.next_exchange(
                episode_id,
                after=after,
                min_reward=wanted.min_reward,
                models=wanted.models,
                with_model_call=not wanted.all_policies,
            )
        except UnknownEpisode:  # deleted during the export
            return
        if exchange is None:
            return
        after = exchange.index
        if request_messages(exchange.model_call) or wanted.all_policies:
            yield exchange


def _read_line(line: bytes | str, number: int) -> SftRecord:
    try:
        fields = json.loads(line)
        format_ = as_dict(fields).get("format")
        if format_ != SFT_FORMAT:
            raise InvalidInput(
                f"Line {number} is of the format {format_!r}; {SFT_FORMAT!r} can be read. Update Craftscope if it is "
                "newer."
            )
        record = msgspec.convert(fields, SftRecord)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"Line {number} is not of an SFT export: {error}.") from error
    if not record.messages:
        raise InvalidInput(f"Line {number} is not of an SFT export: it has no messages.")
    return record


# ------------------------------------------------------------------------------------------------------- writing


def _line(record: SftRecord) -> bytes:
    text = to_json(record)
    return (text if text.isascii() else json.dumps(json.loads(text), separators=(",", ":")).encode()) + b"\n"


def _record(episode: EpisodeSummary, exchange: Exchange) -> SftRecord:
    call, max_actions = exchange.model_call, episode.spec.max_actions_per_call
    sent = tuple(call for call in exchange.tool_calls if _is_complete(call))
    prompt = request_messages(exchange.model_call)
    tools = request_tools(call)
    if not prompt:
        prompt, tools = _default_prompt(exchange, max_actions), [tool_schema(max_actions)]
    return SftRecord(
        format=SFT_FORMAT,
        run_id=episode.run_id,
        episode_id=episode.id,
        decision=exchange.index,
        time=(episode.started_at or episode.created_at) + timedelta(seconds=exchange.answered_s),
        policy=episode.policy,
        model=call.model if call else None,
        provider=call.provider if call else None,
        messages=(*prompt, _assistant_message(exchange, sent)),
        tools=tuple(tools),
        max_actions_per_call=max_actions,
        actions=tuple(action for call in sent for action in call.actions),
        executed=exchange.executed,
        reward=exchange.reward,
        env_reward=exchange.env_reward,
        unlocked=exchange.unlocked,
        shaped_return=episode.shaped_return,
        env_return=episode.env_return,
        error_kind=exchange.error_kind,
        warning=exchange.warning,
        value=exchange.value,
        logprob=exchange.logprob,
    )


def _with_objects(record: SftRecord) -> SftRecord:
    return msgspec.structs.replace(record, messages=tuple(map(_with_object, record.messages)))


def _with_object(message: Message) -> Message:
    """The message with the arguments of its calls as objects; invalid JSON becomes the arguments as they were read."""
    calls = [as_dict(call) for call in as_list(message.get("tool_calls"))]
    functions = [as_dict(call.get("function")) for call in calls]
    with_objects = [
        {**call, "function": {**function, "arguments": arguments_object(function.get("arguments"))}}
        for call, function in zip(calls, functions, strict=True)
    ]
    return {**message, "tool_calls": with_objects} if calls else message


def _default_prompt(exchange: Exchange, max_actions: int) -> list[Message]:
    return [
        {"role": "system", "content": default_system_prompt(max_actions)},
        {"role": "user", "content": exchange.observation},
    ]


def _assistant_message(exchange: Exchange, calls: tuple[ToolCall, ...]) -> Message:
    content = exchange.model_call.content if exchange.model_call else ""
    reasoning = exchange.model_call.reasoning if exchange.model_call else ""
    if calls and _parsed({"role": "assistant", "content": content}, None).tool_calls:
        content = ""  # the text is the call itself
    message: Message = {"role": "assistant", "content": content or None}
    if reasoning:
        message["reasoning_content"] = reasoning
    if calls:
        message["tool_calls"] = [
            {
                "id": call.call_id or f"call_{exchange.index}_{at}",
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for at, call in enumerate(calls)
        ]
    return message


def _is_complete(call: ToolCall) -> bool:
    """False for a call without its end, and for the no-op that a policy executes in place of an invalid call."""
    if call.actions:
        return bool(call.arguments.strip())
    return not read_tool_call(call.name, call.arguments, max_actions=None).call.actions


def _parsed(message: Message, max_actions: int | None) -> ParsedResponse:
    return parse_response({"status": 200, "body": {"choices": [{"message": message}]}}, max_actions=max_actions)
