"""How a streamed answer is joined."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.policies.tools import ParsedResponse, Usage, parse_response

GOOD = '{"actions": ["move_up", "do"]}'
SLEEP = '{"actions": ["sleep"]}'


def fragment(arguments: Any = None, *, index: Any = 0, call_id: str | None = None, name: str | None = None) -> Any:
    call: dict[str, Any] = {"function": {"name": name, "arguments": arguments}, "id": call_id}
    return chunk({"tool_calls": [call if index is None else call | {"index": index}]})


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"id": "s1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def streamed(*chunks: Any, finish: str | None = "tool_calls") -> ParsedResponse:
    end = [chunk({}, finish)] if finish else []
    return parse_response({"status": 200, "headers": {}, "stream": [*chunks, *end]})


def test_fragments_are_joined_and_the_usage_comes_last():
    usage = {"id": "s1", "choices": [], "usage": {"prompt_tokens": 422, "completion_tokens": 85}}
    read = streamed(
        chunk({"role": "assistant", "content": None}),
        fragment("", call_id="a", name="interact"),
        *[fragment(GOOD[start : start + 5]) for start in range(0, len(GOOD), 5)],
        chunk({}, "tool_calls"),
        usage,
        finish=None,
    )
    assert (read.actions, read.warning, read.usage) == (("move_up", "do"), None, Usage(422, 85))
    assert (read.response_id, read.model, read.finish_reason) == ("s1", "m", "tool_calls")


TWO_CALLS = {
    "an index each": [
        fragment("", index=0, call_id="a", name="interact"),
        fragment(GOOD, index=0),
        fragment("", index=1, call_id="b", name="interact"),
        fragment(SLEEP, index=1),
    ],
    "interleaved": [
        fragment(GOOD[:9], index=0, call_id="a", name="interact"),
        fragment(SLEEP[:9], index=1, call_id="b", name="interact"),
        fragment(GOOD[9:], index=0),
        fragment(SLEEP[9:], index=1),
    ],
    "one index, other ids": [
        fragment(GOOD, call_id="a", name="interact"),
        fragment(SLEEP, call_id="b", name="interact"),
    ],
    "one index, other ids, in pieces": [
        fragment(GOOD[:9], call_id="a", name="interact"),
        fragment(GOOD[9:]),
        fragment(SLEEP[:9], call_id="b", name="interact"),
        fragment(SLEEP[9:]),
    ],
    "one index, ids on every piece": [
        fragment(GOOD[:9], call_id="a", name="interact"),
        fragment(GOOD[9:], call_id="a"),
        fragment(SLEEP[:9], call_id="b", name="interact"),
        fragment(SLEEP[9:], call_id="b"),
    ],
    "one index, no ids": [fragment(GOOD, name="interact"), fragment(SLEEP, name="interact")],
    "no index": [
        fragment(GOOD[:9], index=None, call_id="a", name="interact"),
        fragment(GOOD[9:], index=None),
        fragment(SLEEP[:9], index=None, call_id="b", name="interact"),
        fragment(SLEEP[9:], index=None),
    ],
    "no index, no ids": [
        fragment(GOOD[:9], index=None, name="interact"),
        fragment(GOOD[9:], index=None),
        fragment(SLEEP, index=None, name="interact"),
    ],
    "one id for all": [
        fragment(GOOD, index=0, call_id="x", name="interact"),
        fragment(SLEEP, index=1, call_id="x", name="interact"),
    ],
    "objects": [
        fragment(json.loads(GOOD), call_id="a", name="interact"),
        fragment(json.loads(SLEEP), call_id="b", name="interact"),
    ],
    "merged": [fragment(GOOD, call_id="a", name="interact"), fragment(SLEEP)],
}


@pytest.mark.parametrize("chunks", TWO_CALLS.values(), ids=TWO_CALLS.keys())
def test_two_calls_stay_two(chunks: list[Any]):
    read = streamed(*chunks)
    assert (read.actions, len(read.tool_calls), read.error_kind) == (("move_up", "do", "sleep"), 2, None)


def test_the_name_may_come_in_pieces_or_with_each_fragment():
    assert streamed(fragment("", name="inter"), fragment(GOOD, name="act")).actions == ("move_up", "do")
    pieces = [fragment(GOOD[start : start + 4], name="interact", call_id="a") for start in range(0, len(GOOD), 4)]
    assert streamed(*pieces).actions == ("move_up", "do")
    nameless = [fragment(GOOD[start : start + 4], name="interact") for start in range(0, len(GOOD), 4)]
    assert streamed(*nameless).actions == ("move_up", "do")


ONE_CALL = {
    "a new id with each fragment": [
        fragment(GOOD[start : start + 9], call_id=f"id-{start}", name="interact" if not start else None)
        for start in range(0, len(GOOD), 9)
    ],
    "all arguments so far": [
        fragment(GOOD[:end], call_id="a", name="interact") for end in (0, 9, 20, len(GOOD), len(GOOD))
    ],
    "the whole call again": [
        fragment(GOOD[:9], call_id="a", name="interact"),
        fragment(GOOD[9:]),
        fragment(GOOD, call_id="a", name="interact"),
    ],
}


@pytest.mark.parametrize("chunks", ONE_CALL.values(), ids=ONE_CALL.keys())
def test_one_call_stays_one(chunks: list[Any]):
    read = streamed(*chunks)
    assert (read.actions, len(read.tool_calls), read.warning) == (("move_up", "do"), 1, None)


def test_the_older_function_call_is_streamed():
    read = streamed(
        chunk({"function_call": {"name": "interact", "arguments": GOOD[:7]}}),
        chunk({"function_call": {"arguments": GOOD[7:]}}),
        finish="function_call",
    )
    assert read.actions == ("move_up", "do")


def test_text_and_thinking_are_joined():
    call = f'<tool_call>{{"name": "interact", "arguments": {GOOD}}}</tool_call>'
    pieces = [chunk({"content": call[start : start + 3]}) for start in range(0, len(call), 3)]
    read = streamed(chunk({"reasoning": "A "}), chunk({"reasoning": "cow."}), *pieces, finish="stop")
    assert (read.actions, read.reasoning) == (("move_up", "do"), "A cow.")


def test_a_call_that_is_cut_off_is_not_completed():
    assert streamed(fragment(GOOD[:-4], name="interact"), finish="length").error_kind == "truncated"
    kept = streamed(
        fragment(GOOD, call_id="a", name="interact"), fragment(SLEEP[:-3], index=1, call_id="b", name="interact")
    )
    assert (kept.actions, kept.warning) == (("move_up", "do"), "truncated")


def test_a_stream_that_ends_without_a_finish_reason_was_cut():
    assert streamed(chunk({"content": "I walk"}), finish=None).error_kind == "truncated"
    kept = streamed(fragment(GOOD, name="interact"), finish=None)
    assert (kept.actions, kept.warning, kept.finish_reason) == (("move_up", "do"), "truncated", None)


def test_an_error_in_a_stream_is_the_answer():
    error = {"error": {"code": 502, "message": "Provider disconnected"}, "choices": [{"finish_reason": "error"}]}
    read = streamed(fragment(GOOD[:9], name="interact"), error, finish=None)
    assert (read.actions, read.error_kind) == ((), "provider_error")
    limited = streamed(chunk({"content": "x"}), {"error": {"code": 429, "message": "try again in 2s"}}, finish=None)
    assert (limited.error_kind, limited.retry_after_s) == ("rate_limited", 2.0)


@pytest.mark.parametrize(
    ("stream", "kind"),
    [
        ([], "invalid_body"),
        ([{"choices": [], "usage": {"prompt_tokens": 1}}], "empty_choices"),
        ([None, 5, [], "x", {}], "empty_choices"),
        (["data: [DONE]"], "empty_choices"),
    ],
)
def test_a_stream_without_an_answer_is_an_error(stream: Any, kind: str):
    assert parse_response({"status": 200, "headers": {}, "stream": stream}).error_kind == kind


def test_chunks_may_be_server_sent_text():
    lines = [f"data: {json.dumps(fragment(GOOD, name='interact'))}", "data: {cut", "data: [DONE]"]
    assert streamed(*lines).actions == ("move_up", "do")


def test_many_fragments_are_joined():
    text = '{"actions": ["do"], "reasoning": "' + "x" * 20_000 + '"}'
    assert streamed(*[fragment(letter, name="interact") for letter in text]).actions == ("do",)
    assert streamed(*[fragment(GOOD, index=n, call_id=str(n), name="interact") for n in range(20_000)]).actions
