"""Calls and drafts as each family of models writes them where its server has no parser for them. A family is a row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.policies.tools import ParsedResponse, parse_response
from tests.support.model.answers import answered, call

DATA = Path(__file__).parents[2] / "data"

GOLDENS: list[dict[str, Any]] = json.loads((DATA / "tool_call_dialects_2.json").read_text(encoding="utf-8"))
A = '{"actions": ["move_up"]}'
B = '{"actions": ["do"]}'
NS = "]<]minimax[>["
UP, DO = '["move_up"]', '["do"]'
# family: opening and closing mark of its thinking, and two calls
FAMILIES = {
    "gpt-oss": (
        "<|channel|>analysis<|message|>",
        "<|end|>",
        f"<|start|>assistant<|channel|>commentary to=functions.interact <|constrain|>json<|message|>{A}<|call|>"
        f"<|start|>assistant<|channel|>commentary to=functions.interact <|constrain|>json<|message|>{B}<|call|>",
    ),
    "gpt-oss, tokens stripped": (
        "analysis",
        "assistant",
        f"commentary to=functions.interact json{A}assistantcommentary to=functions.interact json{B}",
    ),
    "LLM-jp": (
        "<|channel|> analysis<|message|> ",
        "<|end|>",
        f"<|start|> assistant<|channel|> commentary to=functions.interact <|constrain|> json<|message|> {A}<|call|>"
        f"<|start|> assistant<|channel|> commentary to=functions.interact <|constrain|> json<|message|> {B}<|call|>",
    ),
    "Qwen 2.5, Qwen 3, Hermes": (
        "<think>",
        "</think>",
        f'<tool_call>\n{{"name": "interact", "arguments": {A}}}\n</tool_call>\n'
        f'<tool_call>\n{{"name": "interact", "arguments": {B}}}\n</tool_call>',
    ),
    "Qwen 2.5 Coder": (
        "<think>",
        "</think>",
        f'<tools>\n{{"name": "interact", "arguments": {A}}}\n</tools>\n'
        f'<tools>\n{{"name": "interact", "arguments": {B}}}\n</tools>',
    ),
    "Qwen 2": (
        "<think>",
        "</think>",
        f"✿FUNCTION✿: interact\n✿ARGS✿: {A}\n✿FUNCTION✿: interact\n✿ARGS✿: {B}\n",
    ),
    "Qwen 3 Coder": (
        "<think>",
        "</think>",
        f"<tool_call>\n<function=interact>\n<parameter=actions>\n{UP}\n</parameter>\n</function>\n</tool_call>\n"
        f"<tool_call>\n<function=interact>\n<parameter=actions>\n{DO}\n</parameter>\n</function>\n</tool_call>",
    ),
    "DeepSeek V3, R1": (
        "<think>",
        "</think>",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>interact\n"
        f"```json\n{A}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>interact\n"
        f"```json\n{B}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    "DeepSeek V3.1": (
        "<think>",
        "</think>",
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>interact<｜tool▁sep｜>{A}<｜tool▁call▁end｜>"
        f"<｜tool▁call▁begin｜>interact<｜tool▁sep｜>{B}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    "DeepSeek V4": (
        "<think>",
        "</think>",
        f'<｜DSML｜tool_calls><｜DSML｜invoke name="interact"><｜DSML｜parameter name="actions" string="false">{UP}'
        f'</｜DSML｜parameter></｜DSML｜invoke><｜DSML｜invoke name="interact"><｜DSML｜parameter name="actions" '
        f'string="false">{DO}</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls>',
    ),
    "DeepSeek V4, marks doubled": (
        "<think>",
        "</think>",
        "<｜｜DSML｜｜tool_calls>"
        + "".join(
            f'<｜｜DSML｜｜invoke name="interact"><｜｜DSML｜｜parameter name="actions" string="false">{names}'
            "</｜｜DSML｜｜parameter></｜｜DSML｜｜invoke>"
            for names in (UP, DO)
        )
        + "</｜｜DSML｜｜tool_calls>",
    ),
    "GLM 4.5": (
        "<think>",
        "</think>",
        f"<tool_call>interact\n<arg_key>actions</arg_key>\n<arg_value>{UP}</arg_value>\n</tool_call>"
        f"<tool_call>interact\n<arg_key>actions</arg_key>\n<arg_value>{DO}</arg_value>\n</tool_call>",
    ),
    "GLM 4.7": (
        "<think>",
        "</think>",
        f"<tool_call>interact<arg_key>actions</arg_key><arg_value>{UP}</arg_value></tool_call>"
        f"<tool_call>interact<arg_key>actions</arg_key><arg_value>{DO}</arg_value></tool_call>",
    ),
    "Kimi K2": (
        "◁think▷",
        "◁/think▷",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.interact:0<|tool_call_argument_begin|>"
        f"{A}<|tool_call_end|><|tool_call_begin|>functions.interact:1<|tool_call_argument_begin|>{B}<|tool_call_end|>"
        "<|tool_calls_section_end|>",
    ),
    "Kimi K3": (
        "<|open|>think<|sep|>",
        "<|close|>think<|sep|>",
        "<|open|>tools<|sep|>"
        + "".join(
            f'<|open|>call tool="interact" index="{n}"<|sep|><|open|>argument key="actions" type="array"<|sep|>{names}'
            "<|close|>argument<|sep|><|close|>call<|sep|>"
            for n, names in enumerate((UP, DO))
        )
        + "<|close|>tools<|sep|>",
    ),
    "MiniMax M2": (
        "<think>",
        "</think>",
        f'<minimax:tool_call><invoke name="interact"><parameter name="actions">{UP}</parameter></invoke>'
        f'<invoke name="interact"><parameter name="actions">{DO}</parameter></invoke></minimax:tool_call>',
    ),
    "MiniMax M3": (
        "<mm:think>",
        "</mm:think>",
        '<tool_call><invoke name="interact"><actions><item>move_up</item></actions></invoke>'
        '<invoke name="interact"><actions><item>do</item></actions></invoke></tool_call>',
    ),
    "MiniMax M3, with its namespace token": (
        "<think>",
        "</think>",
        "".join(
            f'{NS}<tool_call>\n{NS}<invoke name="interact">{NS}<actions>{NS}<item>{name}{NS}</item>{NS}</actions>'
            f"{NS}</invoke>\n{NS}</tool_call>\n"
            for name in ("move_up", "do")
        ),
    ),
    "Magistral": ("[THINK]", "[/THINK]", f"[TOOL_CALLS]interact[ARGS]{A}[TOOL_CALLS]interact[ARGS]{B}"),
    "Llama 3": (
        "<think>",
        "</think>",
        f'<|python_tag|>{{"name": "interact", "parameters": {A}}}; {{"name": "interact", "parameters": {B}}}',
    ),
    "Llama 4": ("<think>", "</think>", f"[interact(actions={UP}), interact(actions={DO})]"),
    "Gemma 4": (
        "<|channel>thought\n",
        "<channel|>",
        '<|tool_call>call:interact{actions:[<|"|>move_up<|"|>]}call:interact{actions:[<|"|>do<|"|>]}<tool_call|>',
    ),
    "Hunyuan V3": (
        "<think:opensource>",
        "</think:opensource>",
        "<tool_calls:opensource>\n"
        + "".join(
            "<tool_call:opensource>interact<tool_sep:opensource>\n<arg_key:opensource>actions</arg_key:opensource>\n"
            f"<arg_value:opensource>{names}</arg_value:opensource>\n</tool_call:opensource>\n"
            for names in (UP, DO)
        )
        + "</tool_calls:opensource>",
    ),
    "Solar Open": (
        "<|think|>",
        "<|end|>",
        "<|begin|>assistant<|content|>I eat.<|flush|><|tool_calls|>"
        f"<|tool_call:begin|>a1b2c3d4e5<|tool_call:name|>interact<|tool_call:args|>{A}<|tool_call:end|>"
        f"<|tool_call:begin|>f6g7h8i9j0<|tool_call:name|>interact<|tool_call:args|>{B}<|tool_call:end|><|calls|>",
    ),
    "Solar Open 2": (
        "<|think:start|>",
        "<|think:end|>",
        "".join(
            f"<|tool_call:start|>interact\n<|tool_arg:start|>actions<|tool_arg:value|>{names}<|tool_arg:end|>\n"
            "<|tool_call:end|>\n"
            for names in (UP, DO)
        ),
    ),
    "Apertus": (
        "<|inner_prefix|>",
        "<|inner_suffix|>",
        f'<|tools_prefix|>[{{"interact": {A}}}, {{"interact": {B}}}]<|tools_suffix|>',
    ),
    "LongCat": (
        "<longcat_think>",
        "</longcat_think>",
        "".join(
            f"<longcat_tool_call>interact\n<longcat_arg_key>actions</longcat_arg_key>\n<longcat_arg_value>{names}"
            "</longcat_arg_value>\n</longcat_tool_call>\n"
            for names in (UP, DO)
        ),
    ),
    "GigaChat 3": (
        "<think>",
        "</think>",
        "I eat.<|message_sep|>\n\n"
        f'function call<|role_sep|>\n{{"name": "interact", "arguments": {A}}}<|message_sep|>\n\n'
        f'function call<|role_sep|>\n{{"name": "interact", "arguments": {B}}}<|message_sep|>\n\n',
    ),
    "GigaChat 3, one token": (
        "<think>",
        "</think>",
        f'I eat.<|function_call|>{{"name": "interact", "arguments": {A}}}<|function_call|>'
        f'{{"name": "interact", "arguments": {B}}}',
    ),
    "GigaChat 3.5": (
        "<think>",
        "</think>",
        "".join(
            f'<｜GCML｜invoke name="interact"><｜GCML｜parameter name="actions" string="false">{names}'
            "</｜GCML｜parameter></｜GCML｜invoke>"
            for names in (UP, DO)
        ),
    ),
    "MiniCPM5": (
        "<think>",
        "</think>",
        f'<function name="interact"><param name="actions"><![CDATA[{UP}]]></param></function>'
        f'<function name="interact"><param name="actions">{DO}</param></function>',
    ),
    "K2-Horizon": (
        "<ifm|think_fast>",
        "</ifm|think_fast>",
        "<ifm|tool_calls>"
        + "".join(
            f"<ifm|tool_call>interact\n<ifm|arg_key>actions</ifm|arg_key>\n<ifm|arg_value>{names}</ifm|arg_value>\n"
            "</ifm|tool_call>"
            for names in (UP, DO)
        )
        + "</ifm|tool_calls>",
    ),
    "K2-Horizon, with types": (
        "<ifm|think>",
        "</ifm|think>",
        "<ifm|tool_calls>"
        + "".join(
            "<ifm|tool_call>interact\n<ifm|arg_key>actions</ifm|arg_key>\n<ifm|arg_type>array</ifm|arg_type>\n"
            f"<ifm|arg_value>{names}</ifm|arg_value>\n</ifm|tool_call>\n"
            for names in (UP, DO)
        )
        + "</ifm|tool_calls>",
    ),
    "K2-Horizon, JSON": (
        "<ifm|think_faster>",
        "</ifm|think_faster>",
        f'<ifm|tool_calls><ifm|tool_call>{{"name": "interact", "arguments": {A}}}</ifm|tool_call>'
        f'<ifm|tool_call>{{"name": "interact", "arguments": {B}}}</ifm|tool_call></ifm|tool_calls>',
    ),
    "Grok, parameters": (
        "<think>",
        "</think>",
        f'<xai:function_call name="interact">\n<parameter name="actions">{UP}</parameter>\n</xai:function_call">\n'
        f'<xai:function_call name="interact">\n<parameter name="actions">{DO}</parameter>\n</xai:function_call>',
    ),
    "Grok": (
        "<think>",
        "</think>",
        f"<xai:function_call><tool_name>interact</tool_name><parameters>{A}</parameters></xai:function_call>"
        f"<xai:function_call><tool_name>interact</tool_name><parameters>{B}</parameters></xai:function_call>",
    ),
    "Olmo 3": (
        "<think>",
        "</think>",
        f"<function_calls>interact(actions={UP})\ninteract(actions={DO})</function_calls>",
    ),
    "Granite": (
        "<think>",
        "</think>",
        f'<|tool_call|>[{{"name": "interact", "arguments": {A}}}, {{"name": "interact", "arguments": {B}}}]',
    ),
    "Granite 3.2": (
        "Here is my thought process:",
        "Here is my response:",
        f'<|tool_call|>[{{"name": "interact", "arguments": {A}}}, {{"name": "interact", "arguments": {B}}}]',
    ),
    "Command A": (
        "<|START_THINKING|>",
        "<|END_THINKING|>",
        f'<|START_ACTION|>[{{"tool_call_id": "0", "tool_name": "interact", "parameters": {A}}}, '
        f'{{"tool_call_id": "1", "tool_name": "interact", "parameters": {B}}}]<|END_ACTION|>',
    ),
    "Seed-OSS": (
        "<seed:think>",
        "</seed:think>",
        f"<seed:tool_call><function=interact><parameter=actions>{UP}</parameter></function></seed:tool_call>"
        f"<seed:tool_call><function=interact><parameter=actions>{DO}</parameter></function></seed:tool_call>",
    ),
    "Step 3": (
        "<think>",
        "</think>",
        "<｜tool_calls_begin｜>"
        + "".join(
            '<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="interact">'
            f'<steptml:parameter name="actions">{names}</steptml:parameter></steptml:invoke><｜tool_call_end｜>'
            for names in (UP, DO)
        )
        + "<｜tool_calls_end｜>",
    ),
    "InternLM": (
        "<think>",
        "</think>",
        f'<|action_start|><|plugin|>{{"name": "interact", "parameters": {A}}}<|action_end|>'
        f'<|action_start|><|plugin|>{{"name": "interact", "parameters": {B}}}<|action_end|>',
    ),
}
by_family = pytest.mark.parametrize(("opening", "closing", "calls"), FAMILIES.values(), ids=list(FAMILIES))


def read(content: str, finish_reason: str = "stop") -> ParsedResponse:
    choice = {"message": {"role": "assistant", "content": content}, "finish_reason": finish_reason}
    return parse_response({"status": 200, "headers": {}, "body": {"choices": [choice]}})


@pytest.mark.parametrize("case", GOLDENS, ids=[case["name"] for case in GOLDENS])
def test_newer_dialects_errors_and_streams_are_read(case: dict[str, Any]):
    answer = parse_response(case["response"], tools=("interact",))
    expected = case["expected"]
    assert list(answer.actions) == expected.get("actions", list(answer.actions))
    assert answer.error_kind == expected.get("error_kind", answer.error_kind)
    assert answer.error_kind in expected.get("error_kind_in", [answer.error_kind])
    assert answer.error_kind not in expected.get("error_kind_not", [])
    assert answer.warning == expected.get("warning", answer.warning)


@by_family
def test_two_calls_are_executed_in_order(opening: str, closing: str, calls: str):
    thought = f"{opening}It is day.{closing}"
    answer = read(thought + calls)
    assert (answer.actions, answer.warning) == (("move_up", "do"), None)


@by_family
def test_calls_in_thinking_are_drafts(opening: str, closing: str, calls: str):
    # with its tokens stripped, a second message of gpt-oss looks like the end of its thinking
    draft = calls.split("assistant")[0] if opening == "analysis" else calls
    assert read(f"{opening}Maybe {draft} or not.{closing}{calls}").actions == ("move_up", "do")


@by_family
def test_a_cut_second_call_leaves_the_first(opening: str, closing: str, calls: str):
    cut = read(f"{opening}It is day.{closing}" + calls[: calls.rindex("do") + 1], "length")
    assert (cut.actions, cut.warning) == (("move_up",), "truncated")


@pytest.mark.parametrize(
    "leftover",
    [
        "<|reserved_12|>",
        "<|tool_call_begin|>???<|tool_call_end|>",
        "<tool_call>I will wait.</tool_call>",
        "<｜tool▁call▁begin｜>",
        "<｜DSML｜invoke></｜DSML｜invoke>",
    ],
)
@pytest.mark.parametrize("family", ["Qwen 3 Coder", "gpt-oss", "Solar Open"])
def test_marks_left_over_beside_an_executed_call_are_a_warning(family: str, leftover: str):
    opening, closing, calls = FAMILIES[family]
    answer = read(f"{opening}It is day.{closing}{calls} {leftover} is odd.")
    assert (answer.actions, answer.warning) == (("move_up", "do"), "special_tokens")


@pytest.mark.parametrize(
    ("content", "name", "arguments", "warning"),
    [
        ("I eat.", "interact", A, None),
        ("I eat.<|im_end|>", "interact", A, "special_tokens"),
        (f'<tool_call>{{"name": "interact", "arguments": {B}}}</tool_call>', "interact", A, "special_tokens"),
        ("", "interact", A + "</tool_call><|im_end|>", None),
        ("", "interact", A + "<|reserved_12|>", "special_tokens"),
        ("", "interact<|channel|>commentary", A, "special_tokens"),
    ],
)
def test_special_tokens_beside_a_call_of_the_server_are_a_warning(
    content: str, name: str, arguments: str, warning: str | None
):
    answer = answered(content, tool_calls=[call(arguments, name)])
    assert (answer.actions, answer.warning) == (("move_up",), warning)


def test_a_harmony_call_in_the_analysis_channel_is_executed_only_if_nothing_follows():
    draft = f"<|channel|>analysis to=functions.interact <|constrain|>json<|message|>{A}<|call|>"
    final = f"<|start|>assistant<|channel|>commentary to=functions.interact <|constrain|>json<|message|>{B}<|call|>"
    assert read(draft + final).actions == ("do",)
    assert read(draft).actions == ("move_up",)


def test_a_bare_list_that_is_cut_keeps_its_whole_calls():
    cut = read(f'[{{"name": "interact", "arguments": {A}}}, {{"name": "interact", "argu', "length")
    assert (cut.actions, cut.warning) == (("move_up",), "truncated")
