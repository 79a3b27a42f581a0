"""How a server's whole answer is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.policies.tools import ParsedResponse, Usage, parse_response
from tests.support.model.answers import call, completion

DATA = Path(__file__).parents[2] / "data"
GOLDENS: list[dict[str, Any]] = json.loads((DATA / "tool_call_dialects.json").read_text(encoding="utf-8"))

GOOD = '{"actions": ["move_up", "do"]}'


def parsed(body: Any, *, status: Any = 200, headers: Any = None, **options: Any) -> ParsedResponse:
    return parse_response({"status": status, "headers": headers or {}, "body": body}, **options)


@pytest.mark.parametrize("case", GOLDENS, ids=[case["name"] for case in GOLDENS])
def test_real_answers_are_read(case: dict[str, Any]):
    read = parse_response(case["response"])
    for field, expected in case["expected"].items():
        value = getattr(read, field)
        assert (list(value) if isinstance(value, tuple) else value) == expected
    assert (read.error_kind is None) == bool(read.actions)


def test_every_field_of_an_answer_is_recorded():
    body = completion(call(GOOD), content="Go.", reasoning_content="A cow.")
    body["usage"] = {
        "prompt_tokens": 900,
        "completion_tokens": 60,
        "prompt_tokens_details": {"cached_tokens": 512},
        "completion_tokens_details": {"reasoning_tokens": 24},
    }
    read = parsed(body)
    assert (read.content, read.reasoning, read.finish_reason) == ("Go.", "A cow.", "tool_calls")
    assert (read.response_id, read.model) == ("r1", "m")
    assert read.usage == Usage(900, 60, 512, 24)
    assert read.tool_calls[0].arguments == GOOD


@pytest.mark.parametrize("count", [None, True, -1, "12", 1.5, [], {}, float("nan"), 10**400])
def test_invalid_token_counts_are_unknown(count: Any):
    assert parsed(completion(call(GOOD)) | {"usage": {"prompt_tokens": count}}).usage == Usage()


# ------------------------------------------------------------------------------------------------ native calls


@pytest.mark.parametrize(
    "arguments",
    [
        GOOD,
        json.loads(GOOD),
        json.dumps(GOOD),
        json.dumps(json.dumps(GOOD)),
        "{'actions': ['move_up', 'do'],}",
        '{"actions": "[\\"move_up\\", \\"do\\"]"}',
        '{"actions": "[move_up, do]"}',
        '{"actions": "move_up, do"}',
        '{"action": ["Move Up", "DO"]}',
        '{"actions_list": ["north", "do"]}',
        '{"Actions": ["move-up", "do"]}',
        '{"actions": null, "action": ["move_up", "do"]}',
        "{'actions': ['move_up', 'do'], 'sure': True}",
        '{"actions": ["move_up", "do",], "sure": true, "why": null}',
        '{"name": "interact", "arguments": {"actions": ["move_up", "do"]}}',
        f"```json\n{GOOD}\n```",
        GOOD + "</tool_call><|im_end|>",
        "{}" + GOOD,
        '{"actions": ["move_up", "do"], "reasoning": "line\nbreak"}',
    ],
)
def test_arguments_come_in_many_ways(arguments: Any):
    read = parsed(completion(call(arguments)))
    assert (read.actions, read.error_kind, read.warning) == (("move_up", "do"), None, None)


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ("", "bad_arguments"),
        ("   ", "bad_arguments"),
        (None, "bad_arguments"),
        ("{}", "bad_arguments"),
        ("null", "bad_arguments"),
        ('""', "bad_arguments"),
        ('"sleep"', "bad_arguments"),
        (5, "bad_arguments"),
        ('{"actions": {"a": 1}}', "bad_arguments"),
        ('{"actions": []}', "bad_arguments"),
        ('{"actions": 5}', "bad_arguments"),
        ("[1, 2]", "bad_arguments"),
        ('{"actions": ["jump"]}', "unknown_action"),
        ("I will walk to the tree.", "truncated"),
        ("[" * 100_000, "truncated"),
        ("(" * 5_000, "truncated"),
        ("__import__('os').system('true')", "truncated"),
        ('{"actions": ["move_up", "do"', "truncated"),
        ('{"actions": "[\\"move_up\\", \\"do"}', "truncated"),
        ('{"actions": ["move_up"]}{"actions": ["d', "truncated"),
        ('{"actions": ["do"]}}', "truncated"),
    ],
)
def test_arguments_without_actions_are_an_error(arguments: Any, kind: str):
    read = parsed(completion(call(arguments)))
    assert (read.actions, read.error_kind) == ((), kind)
    assert read.error_detail.endswith(".")


def test_calls_that_a_proxy_joined_are_split():
    read = parsed(completion(call(GOOD + '{"actions": ["sleep"]}')))
    assert (read.actions, len(read.tool_calls)) == (("move_up", "do", "sleep"), 2)


def test_the_older_function_call_is_read_if_there_are_no_tool_calls():
    legacy = {"name": "interact", "arguments": GOOD}
    assert parsed(completion(function_call=legacy, finish="function_call")).actions == ("move_up", "do")
    assert parsed(completion(call('{"actions": ["do"]}'), function_call=legacy)).actions == ("do",)


@pytest.mark.parametrize(
    "calls",
    [
        [{"name": "interact", "arguments": GOOD}],
        {"function": {"name": "interact", "arguments": GOOD}},
        json.dumps([{"function": {"name": "interact", "arguments": GOOD}}]),
        [None, "x", {"function": {"name": "interact", "parameters": json.loads(GOOD)}}],
        [{"type": "custom", "custom": {"name": "interact", "input": GOOD}}],
    ],
)
def test_calls_of_unusual_shape_are_read(calls: Any):
    assert parsed(completion(tool_calls=calls)).actions == ("move_up", "do")


@pytest.mark.parametrize(
    "name",
    ["functions.interact", "mcp__crafter__interact", "default_api:interact", "functions.interact:0", "INTERACT"]
    + ["interact<|channel|>commentary"],
)
def test_a_prefixed_name_is_the_tool(name: str):
    assert parsed(completion(call(GOOD, name))).actions == ("move_up", "do")


@pytest.mark.parametrize("name", ["teleport", "", None, "interact2", 7])
def test_a_tool_that_was_not_offered_is_an_error(name: Any):
    assert parsed(completion(call(GOOD, name))).error_kind == "unknown_tool"
    assert parsed(completion(call(GOOD)), tools=("look",)).error_kind == "unknown_tool"
    assert parsed(completion(call(GOOD)), tools=()).error_kind == "unknown_tool"


def test_valid_calls_beside_invalid_ones_are_executed_with_a_warning():
    read = parsed(completion(call(GOOD), call("{}"), call('{"actions": ["sleep"]}')))
    assert (read.actions, read.warning) == (("move_up", "do", "sleep"), "bad_arguments")


def test_dropped_actions_are_reported_as_written():
    read = parsed(completion(call('{"actions": ["Do", "Jump High", "Move Up", "North"]}')), max_actions=2)
    assert (read.actions, read.dropped) == (("do", "move_up"), ("Jump High", "North"))
    assert "at most 2" in read.tool_calls[0].dropped[1].reason


def test_calls_in_text_are_ignored_beside_native_ones():
    read = parsed(completion(call(GOOD), content='<tool_call>{"name": "interact", "arguments": {}}</tool_call>'))
    assert (read.actions, len(read.tool_calls)) == (("move_up", "do"), 1)


def test_at_most_64_calls_are_read():
    read = parsed(completion(*[call(GOOD)] * 5_000))
    assert len(read.tool_calls) == 64
    assert read.tool_calls[-1].dropped[-1].reason == "4936 more calls were not read."


# ----------------------------------------------------------------------------------------------- ends of a turn


@pytest.mark.parametrize("finish", ["length", "max_tokens", "MAX_TOKENS"])
def test_an_answer_cut_by_the_token_limit(finish: str):
    assert parsed(completion(finish=finish, content="I wal")).error_kind == "truncated"
    assert parsed(completion(call(""), finish=finish)).error_kind == "truncated"
    kept = parsed(completion(call(GOOD), call('{"acti'), finish=finish))
    assert (kept.actions, kept.error_kind, kept.warning) == (("move_up", "do"), None, "truncated")


def test_a_refusal_in_its_field_or_in_a_part_of_the_content():
    refused = parsed(completion(refusal="I can't.", finish="stop"))
    assert (refused.error_kind, refused.actions) == ("refusal", ())
    assert "I can't." in refused.error_detail
    part = parsed(completion(content=[{"type": "refusal", "refusal": "No."}], finish="stop"))
    assert part.error_kind == "refusal"


def test_an_answer_stopped_by_a_content_filter():
    assert parsed(completion(finish="content_filter", content="")).error_kind == "content_filter"
    assert parsed(completion(call('{"actions": ["mo'), finish="content_filter")).error_kind == "content_filter"
    kept = parsed(completion(call(GOOD), finish="content_filter"))
    assert (kept.actions, kept.warning) == (("move_up", "do"), "content_filter")


def test_an_empty_answer_has_no_call():
    read = parsed(completion(finish="stop"))
    assert read.error_kind == "no_tool_call"
    assert "tool-call parser" in read.error_detail


# ----------------------------------------------------------------------------------- bodies that are not an answer


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (None, "invalid_body"),
        ("", "invalid_body"),
        (b"", "invalid_body"),
        ("<!DOCTYPE html><html>Welcome</html>", "invalid_body"),
        ('{"id": "x", "choices": [{"message": {"tool_calls": [{"func', "invalid_body"),
        ("OK", "invalid_body"),
        ([], "invalid_body"),
        (5, "invalid_body"),
        ({"choices": "x"}, "invalid_body"),
        ({"choices": []}, "empty_choices"),
        ({"choices": None}, "provider_error"),
        ({}, "provider_error"),
        ({"error": {"message": "Upstream failed", "code": 502}}, "provider_error"),
        ({"error": "boom"}, "provider_error"),
        (
            {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}, "choices": None},
            "quota_exhausted",
        ),
        ({"base_resp": {"status_code": 1000, "status_msg": "unknown error"}}, "provider_error"),
        ({"error": {"message": "slow down", "code": 429}, "choices": None}, "rate_limited"),
        ({"error": {"message": '{"error": {"code": 429, "message": "x"}}'}}, "rate_limited"),
        ([{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}], "rate_limited"),
        ({"error": {"message": "bad key", "code": "invalid_api_key"}}, "auth"),
        (
            {"object": "error", "message": "The input is longer than the model's context length", "code": 400},
            "context_overflow",
        ),
        ({"detail": "Not authenticated"}, "provider_error"),
        ({"choices": [{"finish_reason": "error", "message": {"tool_calls": [call(GOOD)]}}]}, "provider_error"),
        ({"choices": [{"error": {"code": 429, "message": "x"}, "message": {"content": "x"}}]}, "rate_limited"),
        ({"choices": [None]}, "no_tool_call"),
    ],
)
def test_a_200_without_an_answer_is_an_error(body: Any, kind: str):
    read = parsed(body)
    assert (read.error_kind, read.actions) == (kind, ())


def test_a_body_sent_as_text_is_read():
    text = json.dumps(completion(call(GOOD)))
    assert parsed(text).actions == ("move_up", "do")
    assert parsed(text.encode()).actions == ("move_up", "do")
    chunk = {"choices": [{"delta": {"tool_calls": [call(GOOD)]}, "finish_reason": "tool_calls"}]}
    assert parsed(f": hi\n\ndata: {json.dumps(chunk)}\n\ndata: [DONE]\n").actions == ("move_up", "do")


# ------------------------------------------------------------------------------------------------------- anything


def _nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [{"choices": value, "error": value}]
    return value


class NotJson:
    pass


@pytest.mark.parametrize(
    "response",
    [
        None, 5, "x", [], {}, b"x", NotJson(), float("nan"), {"status": 200}, {"body": {}}, {"stream": 5},
        {"stream": "x"},
        {"status": True, "headers": [["a", "b"]], "body": NotJson()},
        {"status": 200, "headers": {5: None, (1, 2): NotJson()}, "body": {1: 2, (3,): 4, None: 5}},
        {"status": 10**5000, "headers": {}, "body": {"error": 10**5000}},
        {"status": 200, "body": _nested(3_000)}, {"status": 429, "body": {"error": {"message": _nested(3_000)}}},
        {"status": 200, "body": {"choices": _nested(3_000)}},
        {"status": 200, "body": completion(call({"actions": _nested(3_000)}))},
        {"status": 200, "body": completion(call({"actions": [10**5000, float("inf"), b"x", NotJson()]}))},
        {"status": 200, "body": completion(call({(1, 2): 3}), content=_nested(3_000), reasoning=_nested(3_000))},
        {"status": 200, "body": completion(call("\ud800" + GOOD), content="\udfff", reasoning="\ud800")},
        {"status": 200, "body": "[" * 1_000_000}, {"status": 200, "body": "\ud800"},
        {"status": 200, "body": completion(call("{[]: 1}"), call("{{}: 1}"), call("{{1}: 2}"))},
    ],
    ids=range(25),
)  # fmt: skip
def test_no_value_makes_the_reader_raise(response: Any):
    read = parse_response(response)
    assert read.error_kind
    (read.error_detail + read.content + read.reasoning + "".join(read.dropped)).encode()
