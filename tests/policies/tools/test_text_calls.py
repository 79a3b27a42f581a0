"""Calls that servers leave in the text of an answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.model.answers import CALL, HOSTILE, answered

ARGUMENTS = '{"actions": ["move_up", "do"]}'


ONE_CALL = {
    "hermes": f"A cow.\n<tool_call>\n{CALL}\n</tool_call>",
    "hermes without its end": f"<tool_call>{CALL}",
    "hermes with the arguments as text": f'<tool_call>{{"name": "interact", "arguments": {json.dumps(ARGUMENTS)}}}'
    "</tool_call>",
    "hermes with bare arguments": f"<tool_call>{ARGUMENTS}</tool_call>",
    "hermes in python": "<tool_call>{'name': 'interact', 'arguments': {'actions': ['move_up', 'do']}}</tool_call>",
    "hermes around a fence": f"<tool_call>\n```json\n{CALL}\n```\n</tool_call>",
    "nemotron": f"<TOOLCALL>[{CALL}]</TOOLCALL>",
    "phi-4-mini": f"functools[{CALL}]",
    "qwen3-coder": "<tool_call>\n<function=interact>\n<parameter=actions>\n"
    '["move_up", "do"]\n</parameter>\n<parameter=reasoning>\nhungry\n</parameter>\n</function>\n</tool_call>',
    "qwen3-coder, names on lines": "<function=interact><parameter=actions>\nmove_up\ndo\n</parameter></function>",
    "qwen3-coder, one parameter not closed": '<function=interact>\n<parameter=actions>["move_up", "do"]\n'
    "<parameter=reasoning>x</parameter></function>",
    "llama on groq": f"<function=interact>{ARGUMENTS}</function>",
    "llama on groq, bracket missing": f"<function=interact{ARGUMENTS}</function>",
    "llama on groq, parentheses": f"<function(interact){ARGUMENTS}</function>",
    "llama on groq, start missing": f"interact{ARGUMENTS}</function>",
    "llama 3 built-in": '<|python_tag|>interact.call(actions=["move_up", "do"])',
    "llama 3.1 plain": '{"type": "function", "name": "interact", "parameters": {"actions": ["move_up", "do"]}}',
    "llama 4 with tokens": '<|python_start|>[interact(actions=["move_up", "do"])]<|python_end|>',
    "lfm2": '<|tool_call_start|>[interact(actions=["move_up", "do"])]<|tool_call_end|>',
    "mistral list": f"[TOOL_CALLS] [{CALL}]",
    "mistral with id": f"[TOOL_CALLS]interact[CALL_ID]a1b2c3d4e[ARGS]{ARGUMENTS}",
    "mistral without args mark": f"[TOOL_CALLS]interact{ARGUMENTS}",
    "gemma": '```tool_code\ninteract(actions=["move_up", "do"])\n```',
    "gemma printing": '```tool_code\nprint(default_api.interact(actions=["move_up", "do"]))\n```',
    "gemma 4 with commas and colons": '<|tool_call>call:interact{actions:[<|"|>move_up<|"|>,<|"|>do<|"|>],'
    'reasoning:<|"|>so, then: eat<|"|>}<tool_call|>',
    "functiongemma": "<start_function_call>call:interact{actions:[<escape>move_up<escape>,<escape>do<escape>]}"
    "<end_function_call>",
    "lm studio": f"[TOOL_REQUEST]{CALL}[END_TOOL_REQUEST]",
    "react": f"Thought: a cow\nAction: interact\nAction Input: {ARGUMENTS}",
    "langchain": '```json\n{"action": "interact", "action_input": {"actions": ["move_up", "do"]}}\n```',
    "cline": "<interact><actions>move_up, do</actions><reasoning>hungry</reasoning></interact>",
    "tag with json": f"<interact>{ARGUMENTS}</interact>",
    "fenced": f"My move:\n```json\n{CALL}\n```\nGood luck!",
    "fenced without a language": f"```\n{ARGUMENTS}\n```",
    "fenced tool_calls": '```\n{"tool_calls": [{"id": "pending", "type": "function", "function": {"name": "interact"}, '
    '"parameters": {}}]}\n```'.replace('{"name": "interact"}, "parameters": {}', CALL),
    "bare arguments": ARGUMENTS,
    "bare arguments, thought first": '{"thought": "a cow", "actions": ["move_up", "do"]}',
    "bare call": CALL,
    "bare call, flat": '{"name": "interact", "actions": ["move_up", "do"]}',
    "bare call by key": '{"interact": {"actions": ["move_up", "do"]}}',
    "bare list": f"[{CALL}]",
    "bare json, then words": f"{ARGUMENTS}\n\nI eat the cow.",
    "named json amid words": f"Sure! {CALL} That should do.",
    "python": 'interact(actions=["move_up", "do"])',
    "python, positional": "interact(['move_up', 'do'])",
    "python around an object": f"interact({ARGUMENTS})",
    "tag with a name": f'<tool_call name="interact">{ARGUMENTS}</tool_call>',
    "python in words": "Next I call interact(actions=['move_up', 'do']).",
    "namespace": CALL.replace('"interact"', '"functions.interact"').join(["<tool_call>", "</tool_call>"]),
    "content in parts": [{"type": "text", "text": f"<tool_call>{CALL}</tool_call>"}],
    "content as object": {"actions": ["move_up", "do"]},
}


@pytest.mark.parametrize("content", ONE_CALL.values(), ids=ONE_CALL.keys())
def test_a_call_in_text_is_read(content: Any):
    read = answered(content)
    assert (read.actions, read.error_kind, read.warning, read.dropped) == (("move_up", "do"), None, None, ())


SLEEP = '{"name": "interact", "arguments": {"actions": ["sleep"]}}'
SEVERAL = {
    "hermes": f"<tool_call>{CALL}</tool_call>\nand\n<tool_call>{SLEEP}</tool_call>",
    "one tag": f"<tool_call>{CALL}\n{SLEEP}</tool_call>",
    "fences": f'```json\n{ARGUMENTS}\n```\nthen\n```json\n{{"actions": ["sleep"]}}\n```',
    "lines": f"{CALL}\n{SLEEP}",
    "python": "interact(actions=['move_up', 'do'])\ninteract(actions=['sleep'])",
}


@pytest.mark.parametrize("content", SEVERAL.values(), ids=SEVERAL.keys())
def test_several_calls_in_text_run_in_order(content: str):
    read = answered(content)
    assert (read.actions, len(read.tool_calls), read.warning) == (("move_up", "do", "sleep"), 2, None)


@pytest.mark.parametrize("content", [text for text in ONE_CALL.values() if isinstance(text, str) and "[" in text])
def test_a_call_that_is_cut_off_in_text_is_never_completed(content: str):
    cut = content[: content.rindex("move_up") + 4]
    for finish in ("length", "stop"):
        read = answered(cut, finish=finish)
        assert read.actions == ()
        assert read.error_kind in ("truncated", "no_tool_call")
    assert answered(cut, finish="length").error_kind == "truncated"


@pytest.mark.parametrize(
    "cut",
    [
        '<tool_call>{"name": "interact", "arguments": {"actions": ["sl',
        "<tool_call>",
        "<tool_call>\n<function=interact>\n<parameter=actions>\n",
        "<function=interact><parameter=actions>sleep</parameter>",
        "<|tool_call_begin|>functions.interact:1<|tool_call_argument_begin|>{",
        "[TOOL_CALLS]interact[ARGS]{",
        "[TOOL_CALLS]inter",
    ],
)
def test_whole_calls_before_a_cut_one_are_kept_with_a_warning(cut: str):
    read = answered(f"<tool_call>{CALL}</tool_call>\n{cut}", finish="length")
    assert (read.actions, read.error_kind, read.warning) == (("move_up", "do"), None, "truncated")


def test_a_malformed_call_counts_as_cut_even_if_the_turn_ended():
    read = answered('<tool_call>{"name": "interact", "arguments": {"actions": ["do"]}</tool_call>')
    assert (read.actions, read.error_kind) == ((), "truncated")


@pytest.mark.parametrize(
    "content",
    [
        f"<think>Maybe <tool_call>{CALL}</tool_call>? No.</think>",
        f"<think>Maybe <tool_call>{CALL}</tool_call>",
        f"Maybe <tool_call>{CALL}</tool_call>? No.</think>",
        f"[THINK]```json\n{CALL}\n```[/THINK]",
        f"<thinking>{CALL}</thinking>\nI wait.",
        f"<|channel|>analysis<|message|>{CALL}<|end|><|start|>assistant<|channel|>final<|message|>Hm.",
    ],
)
def test_calls_inside_thinking_are_drafts(content: str):
    read = answered(content)
    assert (read.actions, read.error_kind) == ((), "no_tool_call")
    assert CALL in read.reasoning
    assert CALL not in read.content


@pytest.mark.parametrize(
    "before", ["<think>{draft}</think>", "{draft}</think>", "<think>use <think> tags {draft}</think>"]
)
def test_the_call_after_the_thinking_is_executed(before: str):
    draft = f"<tool_call>{SLEEP}</tool_call>"
    read = answered(before.replace("{draft}", draft) + f"<tool_call>{CALL}</tool_call>")
    assert read.actions == ("move_up", "do")
    assert draft in read.reasoning


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
@pytest.mark.parametrize("finish", ["stop", "tool_calls"])
def test_a_call_found_only_in_the_reasoning_of_a_finished_turn_is_executed(field: str, finish: str):
    read = answered(None, finish=finish, **{field: f"A cow.\n<tool_call>{CALL}</tool_call>"})
    assert (read.actions, read.error_kind) == (("move_up", "do"), None)


def test_only_calls_at_the_end_of_the_reasoning_are_executed():
    draft, final = f"<tool_call>{SLEEP}</tool_call>", f"<tool_call>{CALL}</tool_call>"
    read = answered("", reasoning_content=f"Maybe {draft}? No, a zombie. So: {final}\n{final}")
    assert read.actions == ("move_up", "do", "move_up", "do")


@pytest.mark.parametrize(
    ("content", "finish", "kind"),
    [("I wait.", "stop", "no_tool_call"), (None, "length", "truncated"), (None, None, "no_tool_call")],
)
def test_a_call_in_the_reasoning_of_an_unfinished_turn_is_a_draft(content: str | None, finish: str | None, kind: str):
    read = answered(content, finish=finish, reasoning_content=f"<tool_call>{CALL}</tool_call>")
    assert (read.actions, read.error_kind) == ((), kind)


@pytest.mark.parametrize(
    "content",
    [
        "I will use the interact tool.",
        "The format is <tool_call> tags around JSON, I think.",
        "I answer with a <tool_call> next",
        "interact(...) is what I would call with actions.",
        'An inventory: {"wood": 5}',
        '```json\n{"wood": 5}\n```',
        "",
        None,
        5,
    ],
)
def test_text_about_calls_is_not_a_call(content: Any):
    assert (answered(content).error_kind, answered(content).actions) == ("no_tool_call", ())


@pytest.mark.parametrize(
    "content",
    [
        '<tool_call>{"name": "teleport", "arguments": {"actions": ["do"]}}</tool_call>',
        "<function=teleport><parameter=actions>do</parameter></function>",
        '```json\n{"name": "teleport", "arguments": {"actions": ["do"]}}\n```',
        '[teleport(actions=["do"])]',
        '[TOOL_CALLS]teleport[ARGS]{"actions": ["do"]}',
    ],
)
def test_a_tool_that_was_not_offered_is_an_error_in_text_too(content: str):
    assert (answered(content).error_kind, answered(content).actions) == ("unknown_tool", ())


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE.keys())
def test_long_hostile_text_is_read(piece: str):
    content = piece * (300_000 // len(piece))
    read = answered(content, reasoning_content=content)
    assert (read.error_kind is None) == bool(read.actions)


def test_pairs_without_ends_are_not_arguments():
    content = "<tool_call>interact <arg_key>" + "<arg_key>" * 100_000 + "</tool_call>"
    assert answered(content).error_kind == "bad_arguments"
