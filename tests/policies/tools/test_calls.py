"""What the actions and the name of a call mean."""

from __future__ import annotations

import json

import pytest

from core.env.rules import ACTIONS
from core.policies.tools import RawCall, call_interact, read_tool_call, read_tool_calls, tool_schema


def read(arguments: object, *, name: str = "interact", max_actions: int | None = None):
    return read_tool_call(name, arguments, max_actions=max_actions)


@pytest.mark.parametrize(
    ("spelling", "action"),
    [
        *((action, action) for action in ACTIONS),
        ("Move Left", "move_left"),
        ("MAKE-WOOD-PICKAXE", "make_wood_pickaxe"),
        ("placeTable", "place_table"),
        (" do ", "do"),
        ("north", "move_up"),
        ("South", "move_down"),
        ("move_east", "move_right"),
        ("go west", "move_left"),
        ("up", "move_up"),
    ],
)
def test_an_action_is_read_in_any_spelling(spelling: str, action: str):
    call, error_kind, _ = read(json.dumps({"actions": [spelling], "reasoning": "why"}))
    assert (call.actions, call.reasoning, error_kind) == ((action,), "why", None)


def test_an_unknown_action_is_dropped_and_reported_with_a_suggestion():
    call, error_kind, _ = read('{"actions": ["do", "colect_wood", "make_wood_pickax"]}')
    assert error_kind is None
    assert call.actions == ("do",)
    assert [dropped.name for dropped in call.dropped] == ["colect_wood", "make_wood_pickax"]
    assert 'did you mean "make_wood_pickaxe"?' in call.dropped[1].reason
    assert "place_furnace" in call.dropped[0].reason  # the names that are accepted


def test_a_call_without_a_valid_action_is_an_error_and_never_a_silent_noop():
    call, error_kind, detail = read('{"actions": ["jump", 7, null]}')
    assert error_kind == "unknown_action"
    assert call.actions == ()
    assert [dropped.name for dropped in call.dropped] == ["jump", "7", "null"]
    assert '"jump"' in detail


def test_actions_above_the_limit_are_dropped_with_the_reason():
    call, error_kind, _ = read('{"actions": ["do", "noop", "do", "sleep"]}', max_actions=2)
    assert (call.actions, error_kind) == (("do", "noop"), None)
    assert [dropped.name for dropped in call.dropped] == ["do", "sleep"]
    assert "at most 2 actions" in call.dropped[0].reason


def test_thousands_of_unknown_actions_are_reported_briefly():
    call, _, _ = read(json.dumps({"actions": ["x" * 10_000] * 5_000}))
    assert len(call.dropped) == 51
    assert call.dropped[-1].reason == "4950 more actions were dropped."
    assert all(len(dropped.reason) < 600 for dropped in call.dropped)


def test_a_tool_that_was_not_offered_is_an_error_even_if_its_arguments_fit():
    call, error_kind, detail = read('{"actions": ["do"]}', name="teleport")
    assert error_kind == "unknown_tool"
    assert call.actions == ()
    assert detail == '"teleport" is no tool here; offered: interact.'


def test_text_that_a_database_cannot_store_is_made_storable():
    call, _, _ = read('{"actions": ["do", "\\ud800"], "reasoning": "half a pair: \\udc00"}')
    (call.reasoning + call.dropped[0].reason).encode("utf-8")
    assert call.reasoning == "half a pair: ?"


def test_calls_before_one_that_was_cut_off_are_kept_and_those_after_it_are_not():
    good = '{"actions": ["do"]}'
    reply = read_tool_calls(
        [RawCall("interact", good), RawCall("interact", '{"actions": ["mo'), RawCall("interact", good)], max_actions=5
    )
    assert reply.actions == ("do",)
    assert len(reply.tool_calls) == 2
    assert (reply.error_kind, reply.warning) == (None, "truncated")


def test_a_reply_without_a_valid_action_has_the_first_calls_error():
    calls = [RawCall("teleport", "{}"), RawCall("interact", '{"actions": ["jump"]}')]
    reply = read_tool_calls(calls, max_actions=5)
    assert reply.error_kind == "unknown_tool"
    assert len(reply.tool_calls) == 2


def test_a_policy_that_is_not_a_model_makes_the_same_calls():
    reply = call_interact(["do", "noop"], "Because.", max_actions=5)
    (call,) = reply.tool_calls
    assert json.loads(call.arguments) == {"actions": ["do", "noop"], "reasoning": "Because."}
    assert (call.name, call.actions, call.reasoning) == ("interact", ("do", "noop"), "Because.")


def test_the_schema_names_every_action_and_the_limit():
    parameters = tool_schema(5)["function"]["parameters"]
    assert parameters["properties"]["actions"]["items"]["enum"] == list(ACTIONS)
    assert parameters["properties"]["actions"]["maxItems"] == 5
    assert "maxItems" not in tool_schema(None)["function"]["parameters"]["properties"]["actions"]
