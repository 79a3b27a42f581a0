"""Calls that a server left in the text of an answer, in the formats that models are trained on.

First the formats with marks of their own are looked for, and only where there is none, plain JSON and Python. All of
it takes time in proportion to the text: what is read is not read again, a call that is cut off ends the search, and
attempts that lead to nothing are counted.

    <tool_call>{"name": ..., "arguments": {...}}</tool_call>       Hermes, Qwen (vllm-project/vllm#32506)
    <tool_call>interact<arg_key>k</arg_key><arg_value>v</arg_value></tool_call>       GLM (sgl-project/sglang#15333)
    <function=interact><parameter=actions>[...]</parameter></function>     Qwen3-Coder (vllm-project/vllm#39056)
    <function=interact>{...}</function>                            Llama on Groq (huggingface/smolagents#1119)
    <invoke name="interact"><parameter name="actions">...</invoke>   MiniMax (earendil-works/pi#368), DeepSeek V3.2
    <|python_tag|>{"name": ..., "parameters": {...}}               Llama 3 (raullenchai/Rapid-MLX#703)
    [interact(actions=[...])], <|tool_call_start|>[interact(...)]  Llama 4, LFM2
    [TOOL_CALLS][{...}], [TOOL_CALLS]interact[ARGS]{...}           Mistral (ml-explore/mlx-lm#1374)
    <｜tool▁call▁begin｜>function<｜tool▁sep｜>interact```json{...}     DeepSeek V3, R1; without "function" V3.1
    <|tool_call_begin|>functions.interact:0<|tool_call_argument_begin|>{...}     Kimi K2
    <|channel|>commentary to=functions.interact <|message|>{...}   gpt-oss (ggml-org/llama.cpp#15181)
    ```tool_code interact(actions=[...])```, <|tool_call>call:interact{...}    Gemma (ollama/ollama#15315)
    [TOOL_REQUEST]{...}[END_TOOL_REQUEST]                          LM Studio's own
    <interact>{...}</interact>, Action: interact Action Input: {...}    prompted formats
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from core.policies.tools.calls import RawCall
from core.policies.tools.dialects import read_payload, read_xml
from core.policies.tools.plain import find_plain_calls

_TAGS = "tool_call|tool_calls|toolcall|function_call|function_calls|functioncall|tool_code|tool_use|tools"
_MARKS = rf"""
    <(?:{_TAGS})> | <\|(?:{_TAGS})\|?>
  | \[TOOL_CALLS?\] | \[TOOL_REQUEST\] | <\|python_(?:tag|start)\|>
  | <[|｜]tool[_▁]calls?[_▁](?:section[_▁])?(?:begin|start)[|｜]>
  | <\|action_start\|> | <\|plugin\|> | <\|START_ACTION\|> | <\|tools_prefix\|> | <start_function_call>
  | \bfunctools(?=\[) | \bto=(?=functions\.)
  | \bAction:[ \t]{{0,3}}(?=[\w.]{{1,80}}[ \t]{{0,3}}\r?\n[ \t]{{0,3}}Action[ ]Input:)
"""
_XML = r"""
    <(?:function\s{0,3}[=(] | (?:function|invoke|tool|tool_call|function_call)\s{1,3}name=)
    \s{0,3}["']?(?P<name>[\w.:/-]{1,120})["']?[)>=\s]{0,9}
"""
_TAG = r"(?:invoke|parameter|function|function_calls?|tool_calls?|tool_sep|arg_key|arg_value)"
# Spellings of families that are read as another's, each with what it becomes.
_SPELLINGS = tuple(
    (re.compile(pattern), spelling)
    for pattern, spelling in (
        (r"\]<\]minimax\[>\[", ""),  # MiniMax M3 puts its namespace token before every tag
        (rf"(</?)(?:[｜|](?:DSML|GCML)[｜|]|\w{{1,12}}:|longcat_|ifm\|)(?={_TAG}\b)", r"\1"),
        (rf"(</?{_TAG}):\w{{1,20}}>", r"\1>"),  # Hunyuan V3
        (r"(</?)param\b", r"\1parameter"),  # MiniCPM5
        (r"<tool_name>\s{0,9}([\w.:/-]{1,120})\s{0,9}</tool_name>", r"\1"),  # Grok
        (r"<\|tool_call:begin\|>\w{0,40}<\|tool_call:name\|>", "<|tool_call|>"),  # Solar Open
        (r'<\|open\|>call tool=("[^"<>]{1,120}")[^<>]{0,40}<\|sep\|>', r"<invoke name=\1>"),  # Kimi K3, as below
        (r'<\|open\|>argument key=("[^"<>]{1,80}")[^<>]{0,40}<\|sep\|>', r"<parameter name=\1>"),
        (r"<\|close\|>argument<\|sep\|>", "</parameter>"),
        (r"<\|close\|>call<\|sep\|>", "</invoke>"),
    )
)
_MAX_CALLS = 1_000


class FoundCall(NamedTuple):
    """A call and where it stood: from the mark before it to its end."""

    call: RawCall
    start: int
    end: int


def find_calls(text: str, offered: Sequence[str]) -> list[RawCall]:
    """The calls in an answer's text, in order. The last one may be cut off. Thinking has to be taken out before."""
    text = _common_spelling(text)
    marked = _find_marked(text, offered)
    return [found.call for found in marked] if marked else find_plain_calls(text, offered)


def find_final_calls(thinking: str, offered: Sequence[str]) -> list[RawCall]:
    """The calls that thinking ends its deliberation with: those after its last words, of the formats with marks.

    Qwen3 puts real calls there and stops, and the server then shows reasoning only (vllm-project/vllm#39056).
    """
    thinking = _common_spelling(thinking)
    found = _find_marked(thinking, offered)
    first = max(len(found) - 1, 0)
    while first > 0 and not re.sub(r"<[^<>]*>|\s", "", thinking[found[first - 1].end : found[first].start]):
        first -= 1
    if found:
        return [one.call for one in found[first:]]
    return find_plain_calls(thinking, offered, drafts=True)


def _common_spelling(text: str) -> str:
    for pattern, spelling in _SPELLINGS:
        text = pattern.sub(spelling, text)
    return text


def _find_marked(text: str, offered: Sequence[str]) -> list[FoundCall]:
    marks = _marks(tuple(offered))
    found: list[FoundCall] = []
    position = 0
    while len(found) < _MAX_CALLS and (mark := marks.search(text, position)):
        if mark["name"] or mark["tag"]:
            calls, position = read_xml(text, mark)
        else:
            calls, position = read_payload(text, mark.end(), offered)
        found += [FoundCall(call, mark.start(), position) for call in calls]
        if calls and calls[-1].cut:
            break
    return found


@lru_cache(maxsize=16)
def _marks(offered: tuple[str, ...]) -> re.Pattern[str]:
    tools = "|".join(re.escape(tool) for tool in offered if tool) or r"(?!)"
    return re.compile(rf"(?:{_MARKS}) | {_XML} | <(?P<tag>{tools})>", re.IGNORECASE | re.VERBOSE)
