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
A, UP = '{"actions": ["move_up"]}', '["move_up"]'
B, DO = '{"actions": ["do"]}', '["do"]'
THINK = ("<think>", "</think>")


def twice(call: str, before: str = "", after: str = "", between: str = "") -> str:
    """Two calls. `ARGUMENTS` in `call` stands for the arguments as JSON, `ACTIONS` for their list of actions."""
    first = call.replace("ARGUMENTS", A).replace("ACTIONS", UP)
    second = call.replace("ARGUMENTS", B).replace("ACTIONS", DO)
    return f"{before}{first}{between}{second}{after}"


def named(key: str = "arguments") -> str:
    return f'{{"name": "interact", "{key}": ARGUMENTS}}'


def xml(call: str, parameter: str) -> str:
    """A call in tags, such as `<invoke name="interact"><parameter name="actions">...</parameter></invoke>`."""
    ends = [f"</{tag.split('=')[0].split()[0]}>" for tag in (parameter, call)]
    return f"<{call}><{parameter}>ACTIONS{ends[0]}{ends[1]}"


def pairs(space: str = "", suffix: str = "", between: str = "\n") -> str:
    """A call as `<arg_key>actions</arg_key><arg_value>...</arg_value>`."""
    key, value = (f"{space}{name}{suffix}" for name in ("arg_key", "arg_value"))
    return f"<{key}>actions</{key}>{between}<{value}>ACTIONS</{value}>{between}"


HARMONY = "<|start|>assistant<|channel|>commentary to=functions.interact <|constrain|>json<|message|>ARGUMENTS<|call|>"
DEEPSEEK = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
NAMESPACE = "]<]minimax[>["
# family: the marks of its thinking, and two calls
FAMILIES = {
    "gpt-oss": (("<|channel|>analysis<|message|>", "<|end|>"), twice(HARMONY)),
    "gpt-oss, tokens stripped": (
        ("analysis", "assistant"),
        twice("commentary to=functions.interact jsonARGUMENTS", between="assistant"),
    ),
    "LLM-jp": (
        ("<|channel|> analysis<|message|> ", "<|end|>"),
        twice(HARMONY.replace("assistant", " assistant").replace("commentary", " commentary").replace("json", " json")),
    ),
    "Qwen 2.5, Qwen 3, Hermes": (THINK, twice(f"<tool_call>\n{named()}\n</tool_call>\n")),
    "Qwen 2.5 Coder": (THINK, twice(f"<tools>\n{named()}\n</tools>\n")),
    "Qwen 2": (THINK, twice("✿FUNCTION✿: interact\n✿ARGS✿: ARGUMENTS\n")),
    "Qwen 3 Coder": (
        THINK,
        twice(
            "<tool_call>\n<function=interact>\n<parameter=actions>\nACTIONS\n</parameter>\n</function>\n</tool_call>\n"
        ),
    ),
    "Seed-OSS": (
        ("<seed:think>", "</seed:think>"),
        twice(f"<seed:tool_call>{xml('function=interact', 'parameter=actions')}</seed:tool_call>"),
    ),
    "DeepSeek V3, R1": (
        THINK,
        twice(
            "<｜tool▁call▁begin｜>function<｜tool▁sep｜>interact\n```json\nARGUMENTS\n```<｜tool▁call▁end｜>\n",
            *DEEPSEEK,
        ),
    ),
    "DeepSeek V3.1": (
        THINK,
        twice("<｜tool▁call▁begin｜>interact<｜tool▁sep｜>ARGUMENTS<｜tool▁call▁end｜>", *DEEPSEEK),
    ),
    "DeepSeek V4": (
        THINK,
        twice(
            xml('｜DSML｜invoke name="interact"', '｜DSML｜parameter name="actions" string="false"'),
            "<｜DSML｜tool_calls>",
            "</｜DSML｜tool_calls>",
        ),
    ),
    "DeepSeek V4, marks doubled": (
        THINK,
        twice(
            xml('｜｜DSML｜｜invoke name="interact"', '｜｜DSML｜｜parameter name="actions" string="false"'),
            "<｜｜DSML｜｜tool_calls>",
            "</｜｜DSML｜｜tool_calls>",
        ),
    ),
    "GLM 4.5": (THINK, twice(f"<tool_call>interact\n{pairs()}</tool_call>")),
    "GLM 4.7": (THINK, twice(f"<tool_call>interact{pairs(between='')}</tool_call>")),
    "Kimi K2": (
        ("◁think▷", "◁/think▷"),
        twice(
            "<|tool_call_begin|>functions.interact:0<|tool_call_argument_begin|>ARGUMENTS<|tool_call_end|>",
            "<|tool_calls_section_begin|>",
            "<|tool_calls_section_end|>",
        ),
    ),
    "Kimi K3": (
        ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
        twice(
            '<|open|>call tool="interact" index="1"<|sep|><|open|>argument key="actions" type="array"<|sep|>ACTIONS'
            "<|close|>argument<|sep|><|close|>call<|sep|>",
            "<|open|>tools<|sep|>",
            "<|close|>tools<|sep|>",
        ),
    ),
    "MiniMax M2": (
        THINK,
        twice(
            xml('invoke name="interact"', 'parameter name="actions"'),
            "<minimax:tool_call>",
            "</minimax:tool_call>",
        ),
    ),
    "MiniMax M3": (
        ("<mm:think>", "</mm:think>"),
        '<tool_call><invoke name="interact"><actions><item>move_up</item></actions></invoke>'
        '<invoke name="interact"><actions><item>do</item></actions></invoke></tool_call>',
    ),
    "MiniMax M3, with its namespace token": (
        THINK,
        "".join(
            f'{NAMESPACE}<tool_call>\n{NAMESPACE}<invoke name="interact">{NAMESPACE}<actions>{NAMESPACE}<item>{name}'
            f"{NAMESPACE}</item>{NAMESPACE}</actions>{NAMESPACE}</invoke>\n{NAMESPACE}</tool_call>\n"
            for name in ("move_up", "do")
        ),
    ),
    "Magistral": (("[THINK]", "[/THINK]"), twice("[TOOL_CALLS]interact[ARGS]ARGUMENTS")),
    "Llama 3": (THINK, twice(named("parameters"), "<|python_tag|>", between="; ")),
    "Llama 4": (THINK, twice("interact(actions=ACTIONS)", "[", "]", between=", ")),
    "Gemma 4": (
        ("<|channel>thought\n", "<channel|>"),
        '<|tool_call>call:interact{actions:[<|"|>move_up<|"|>]}call:interact{actions:[<|"|>do<|"|>]}<tool_call|>',
    ),
    "Hunyuan V3": (
        ("<think:opensource>", "</think:opensource>"),
        twice(
            f"<tool_call:opensource>interact<tool_sep:opensource>\n{pairs(suffix=':opensource')}</tool_call:opensource>\n",
            "<tool_calls:opensource>\n",
            "</tool_calls:opensource>",
        ),
    ),
    "Solar Open": (
        ("<|think|>", "<|end|>"),
        twice(
            "<|tool_call:begin|>a1b2c3d4e5<|tool_call:name|>interact<|tool_call:args|>ARGUMENTS<|tool_call:end|>",
            "<|begin|>assistant<|content|>I eat.<|flush|><|tool_calls|>",
            "<|calls|>",
        ),
    ),
    "Solar Open 2": (
        ("<|think:start|>", "<|think:end|>"),
        twice(
            "<|tool_call:start|>interact\n<|tool_arg:start|>actions<|tool_arg:value|>ACTIONS<|tool_arg:end|>\n"
            "<|tool_call:end|>\n"
        ),
    ),
    "Apertus": (
        ("<|inner_prefix|>", "<|inner_suffix|>"),
        twice('{"interact": ARGUMENTS}', "<|tools_prefix|>[", "]<|tools_suffix|>", between=", "),
    ),
    "LongCat": (
        ("<longcat_think>", "</longcat_think>"),
        twice(f"<longcat_tool_call>interact\n{pairs('longcat_')}</longcat_tool_call>\n"),
    ),
    "GigaChat 3": (
        THINK,
        twice(f"function call<|role_sep|>\n{named()}<|message_sep|>\n\n", "I eat.<|message_sep|>\n\n"),
    ),
    "GigaChat 3, one token": (THINK, twice(f"<|function_call|>{named()}", "I eat.")),
    "GigaChat 3.5": (
        THINK,
        twice(xml('｜GCML｜invoke name="interact"', '｜GCML｜parameter name="actions" string="false"')),
    ),
    "MiniCPM5": (
        THINK,
        f'<function name="interact"><param name="actions"><![CDATA[{UP}]]></param></function>'
        f'<function name="interact"><param name="actions">{DO}</param></function>',
    ),
    "K2-Horizon": (
        ("<ifm|think_fast>", "</ifm|think_fast>"),
        twice(f"<ifm|tool_call>interact\n{pairs('ifm|')}</ifm|tool_call>", "<ifm|tool_calls>", "</ifm|tool_calls>"),
    ),
    "K2-Horizon, with types": (
        ("<ifm|think>", "</ifm|think>"),
        twice(
            "<ifm|tool_call>interact\n<ifm|arg_key>actions</ifm|arg_key>\n<ifm|arg_type>array</ifm|arg_type>\n"
            "<ifm|arg_value>ACTIONS</ifm|arg_value>\n</ifm|tool_call>\n"
        ),
    ),
    "K2-Horizon, JSON": (
        ("<ifm|think_faster>", "</ifm|think_faster>"),
        twice(f"<ifm|tool_call>{named()}</ifm|tool_call>", "<ifm|tool_calls>", "</ifm|tool_calls>"),
    ),
    "Grok": (
        THINK,
        twice(
            "<xai:function_call><tool_name>interact</tool_name><parameters>ARGUMENTS</parameters></xai:function_call>"
        ),
    ),
    "Grok, name in the tag": (
        THINK,
        twice(
            '<xai:function_call name="interact">\n<parameter name="actions">ACTIONS</parameter>\n'
            '</xai:function_call">\n'
        ),
    ),
    "Olmo 3": (
        THINK,
        twice("interact(actions=ACTIONS)", "<function_calls>", "</function_calls>", between="\n"),
    ),
    "Granite": (THINK, twice(named(), "<|tool_call|>[", "]", between=", ")),
    "Granite 3.2": (
        ("Here is my thought process:", "Here is my response:"),
        twice(named(), "<|tool_call|>[", "]", between=", "),
    ),
    "Command A": (
        ("<|START_THINKING|>", "<|END_THINKING|>"),
        twice(
            '{"tool_call_id": "0", "tool_name": "interact", "parameters": ARGUMENTS}',
            "<|START_ACTION|>[",
            "]<|END_ACTION|>",
            between=", ",
        ),
    ),
    "Step 3": (
        THINK,
        twice(
            "<｜tool_call_begin｜>function<｜tool_sep｜>"
            + xml('steptml:invoke name="interact"', 'steptml:parameter name="actions"')
            + "<｜tool_call_end｜>",
            "<｜tool_calls_begin｜>",
            "<｜tool_calls_end｜>",
        ),
    ),
    "InternLM": (THINK, twice(f"<|action_start|><|plugin|>{named('parameters')}<|action_end|>")),
}
by_family = pytest.mark.parametrize(("thinking", "calls"), FAMILIES.values(), ids=list(FAMILIES))


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
def test_two_calls_are_executed_in_order(thinking: tuple[str, str], calls: str):
    answer = read("It is day.".join(thinking) + calls)
    assert (answer.actions, answer.warning) == (("move_up", "do"), None)


@by_family
def test_calls_in_thinking_are_drafts(thinking: tuple[str, str], calls: str):
    # with its tokens stripped, a second message of gpt-oss looks like the end of its thinking
    draft = calls.split("assistant")[0] if thinking[0] == "analysis" else calls
    assert read(f"Maybe {draft} or not.".join(thinking) + calls).actions == ("move_up", "do")


@by_family
def test_a_cut_second_call_leaves_the_first(thinking: tuple[str, str], calls: str):
    cut = read("It is day.".join(thinking) + calls[: calls.rindex("do") + 1], "length")
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
    thinking, calls = FAMILIES[family]
    answer = read(f"{'It is day.'.join(thinking)}{calls} {leftover} is odd.")
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
