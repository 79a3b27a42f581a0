"""How tool calls are read."""

from __future__ import annotations

import json

import pytest

from core.env.rules import ACTIONS
from core.policies.tools import RawCall, call_interact, read_tool_call, read_tool_calls, tool_schema


def read(arguments: object, *, name: str = "interact", max_actions: int | None = None):
    return read_tool_call(name, arguments, max_actions=max_actions)


def test_a_plain_call_gives_its_actions_and_its_reasoning():
    text = '{"actions": ["move_left", "do"], "reasoning": "the tree is left"}'
    call, error_kind, _ = read(text)
    assert error_kind is None
    assert call.actions == ("move_left", "do")
    assert call.reasoning == "the tree is left"
    assert call.arguments == text


@pytest.mark.parametrize("name", ACTIONS)
def test_every_action_is_read_as_itself(name: str):
    assert read(json.dumps({"actions": [name]})).call.actions == (name,)


@pytest.mark.parametrize(
    ("spelling", "action"),
    [
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
def test_spelling_does_not_matter(spelling: str, action: str):
    call, error_kind, _ = read(json.dumps({"actions": [spelling]}))
    assert (call.actions, error_kind) == ((action,), None)


@pytest.mark.parametrize(
    "arguments",
    [
        {"actions": ["do", "noop"]},
        json.dumps(json.dumps({"actions": ["do", "noop"]})),
        '{"actions": "[\\"do\\", \\"noop\\"]"}',
        '{"actions": "do, noop"}',
        '{"action": ["do", "noop"]}',
        '{"actions_list": ["do", "noop"]}',
        "{'actions': ['do', 'noop'], 'sure': True}",
        '{"actions": ["do", "noop",], "sure": true, "why": null}',
    ],
    ids=["object", "encoded twice", "list as text", "commas", "action", "actions_list", "python", "trailing comma"],
)
def test_all_these_say_the_same(arguments: object):
    call, error_kind, detail = read(arguments)
    assert (call.actions, error_kind, detail) == (("do", "noop"), None, "")


def test_a_single_action_may_stand_alone():
    assert read('{"action": "sleep"}').call.actions == ("sleep",)


def test_an_unknown_action_is_dropped_and_reported_with_what_may_have_been_meant():
    call, error_kind, _ = read('{"actions": ["do", "colect_wood", "make_wood_pickax"]}')
    assert error_kind is None
    assert call.actions == ("do",)
    assert [dropped.name for dropped in call.dropped] == ["colect_wood", "make_wood_pickax"]
    assert 'did you mean "make_wood_pickaxe"?' in call.dropped[1].reason
    assert "place_furnace" in call.dropped[0].reason  # the names that are accepted


def test_a_call_without_any_valid_action_is_an_error_and_never_a_silent_noop():
    call, error_kind, detail = read('{"actions": ["jump", 7, null]}')
    assert error_kind == "unknown_action"
    assert call.actions == ()
    assert [dropped.name for dropped in call.dropped] == ["jump", "7", "null"]
    assert '"jump"' in detail


def test_actions_above_the_cap_are_dropped_with_the_reason():
    call, error_kind, _ = read('{"actions": ["do", "noop", "do", "sleep"]}', max_actions=2)
    assert (call.actions, error_kind) == (("do", "noop"), None)
    assert [dropped.name for dropped in call.dropped] == ["do", "sleep"]
    assert "at most 2 actions" in call.dropped[0].reason


def test_a_hostile_list_does_not_make_a_hostile_report():
    call, _, _ = read(json.dumps({"actions": ["x" * 10_000] * 5_000}))
    assert len(call.dropped) == 51
    assert call.dropped[-1].reason == "4950 more actions were dropped."
    assert all(len(dropped.reason) < 600 for dropped in call.dropped)


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ("", "bad_arguments"),
        ("   ", "bad_arguments"),
        ("{}", "bad_arguments"),
        ('{"actions": []}', "bad_arguments"),
        ('{"actions": 5}', "bad_arguments"),
        ("[1, 2]", "bad_arguments"),
        ("null", "bad_arguments"),
        ('{"actions": ["move_right", "do', "truncated"),
        ('{"actions": ["move_right"]', "truncated"),
        ("I will walk to the tree.", "truncated"),
        ("[" * 100_000, "truncated"),
        ("(" * 5_000, "truncated"),
        ("__import__('os').system('true')", "truncated"),
    ],
)
def test_arguments_that_hold_no_actions_are_an_error_and_nothing_is_guessed(arguments: str, kind: str):
    call, error_kind, detail = read(arguments)
    assert error_kind == kind
    assert call.actions == ()
    assert detail.endswith(".")


@pytest.mark.parametrize("name", ["interact", "Interact", "functions.interact", "mcp__crafter__interact", " interact "])
def test_the_tool_is_known_by_its_name_with_or_without_a_namespace(name: str):
    assert read('{"actions": ["do"]}', name=name).error_kind is None


def test_a_tool_that_was_not_offered_is_an_error_even_if_its_arguments_fit():
    call, error_kind, detail = read('{"actions": ["do"]}', name="teleport")
    assert error_kind == "unknown_tool"
    assert call.actions == ()
    assert detail == '"teleport" is no tool here; offered: interact.'


def test_text_that_no_database_could_store_is_made_storable():
    call, _, _ = read('{"actions": ["do", "\\ud800"], "reasoning": "half a pair: \\udc00"}')
    (call.reasoning + call.dropped[0].reason).encode("utf-8")
    assert call.reasoning == "half a pair: ?"


def test_several_calls_run_in_order():
    reply = read_tool_calls(
        [RawCall("interact", '{"actions": ["move_down", "do"]}', "a"), RawCall("interact", '{"action": "sleep"}', "b")],
        max_actions=5,
    )
    assert reply.actions == ("move_down", "do", "sleep")
    assert [call.call_id for call in reply.tool_calls] == ["a", "b"]
    assert (reply.error_kind, reply.warning) == (None, None)


def test_calls_before_one_that_was_cut_off_are_kept_and_those_after_it_are_not():
    good = '{"actions": ["do"]}'
    reply = read_tool_calls(
        [RawCall("interact", good), RawCall("interact", '{"actions": ["mo'), RawCall("interact", good)], max_actions=5
    )
    assert reply.actions == ("do",)
    assert len(reply.tool_calls) == 2
    assert (reply.error_kind, reply.warning) == (None, "truncated")


def test_a_reply_without_a_call_says_so():
    reply = read_tool_calls([], max_actions=5)
    assert (reply.error_kind, reply.actions) == ("no_tool_call", ())
    assert reply.error_detail


def test_a_reply_with_nothing_to_execute_carries_the_first_calls_error():
    calls = [RawCall("teleport", "{}"), RawCall("interact", '{"actions": ["jump"]}')]
    reply = read_tool_calls(calls, max_actions=5)
    assert reply.error_kind == "unknown_tool"
    assert len(reply.tool_calls) == 2


def test_a_policy_that_is_no_model_speaks_the_same_language():
    reply = call_interact(["do", "noop"], "Because.", max_actions=5)
    (call,) = reply.tool_calls
    assert json.loads(call.arguments) == {"actions": ["do", "noop"], "reasoning": "Because."}
    assert (call.name, call.actions, call.reasoning) == ("interact", ("do", "noop"), "Because.")


def test_the_schema_names_every_action_and_the_cap():
    parameters = tool_schema(5)["function"]["parameters"]
    assert parameters["properties"]["actions"]["items"]["enum"] == list(ACTIONS)
    assert parameters["properties"]["actions"]["maxItems"] == 5
    assert "maxItems" not in tool_schema(None)["function"]["parameters"]["properties"]["actions"]
