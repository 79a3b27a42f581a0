"""Finds the calls that a server left in the text of an answer, in the formats that models are trained on.

Formats with marks of their own are looked for first; only if there is none, bare JSON and Python. Reading takes time in
proportion to the text: nothing is read twice, a call that is cut off ends the search, and failed attempts are counted.

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

import html
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from core.policies.tools.arguments import (
    UNREADABLE,
    RawCall,
    actions_of,
    calls_of,
    closing,
    is_offered,
    json_text,
    keywords,
    tool_key,
    value_at,
)
from core.policies.tools.untrusted import as_dict

_THINKING_TAG = (
    r"(?:\w{1,10}:|ifm\||longcat_)?(?:think(?:ing|_fast|_faster)?|thoughts?|reasoning|scratchpad)(?::\w{1,20})?"
)
# gpt-oss where the server stripped its special tokens
_STRIPPED = re.compile(r"\A\s{0,9}analysis(.*?)assistant(?:final|(?=commentary))", re.IGNORECASE | re.DOTALL)
# Apertus, Gemma 4, Solar Open, Kimi K3
_MORE_THINKING_OPEN = r"|<\|inner_prefix\|>|<\|channel>thought\b|<\|think\|>|<\|open\|>think<\|sep\|>"
_THINKING_OPEN = (
    rf"<{_THINKING_TAG}>|\[THINK\]|◁think▷|<\|begin_of_thought\|>{_MORE_THINKING_OPEN}"
    r"|<\|channel\|>\s{0,3}analysis\b(?P<recipient>\s{0,3}to=[^<>]{1,100}(?:<\|constrain\|>\w{0,20})?)?\s{0,3}<\|message\|>"
)
_THINKING_CLOSE = (
    rf"</{_THINKING_TAG}>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|inner_suffix\|>|<channel\|>"
    r"|<\|close\|>think<\|sep\|>"
)
_THINKING_MARKS = re.compile(
    rf"(?P<open>{_THINKING_OPEN})|(?P<close>{_THINKING_CLOSE})|(?P<turn><\|(?:end|return|start|call)\|>)", re.IGNORECASE
)


class Split(NamedTuple):
    """A text split into what is visible and what is thinking."""

    visible: str
    thinking: str


def split_thinking(text: str) -> Split:
    """Separates `<think>...</think>` and similar marks from the visible text.

    Unclosed thinking reaches to the end. A closing mark without an opening one ends thinking that began with
    the text: the chat templates of DeepSeek-R1 and Qwen3-Thinking put the opening mark into the prompt
    (vllm-project/vllm#22507). `[THINK]` is Magistral's, `<|channel|>analysis` gpt-oss's (openai/harmony): a call in
    that channel is a draft, unless nothing comes after it.
    """
    visible: list[str] = []
    thinking: list[str] = []
    text = _STRIPPED.sub(r"<think>\1</think>", text)
    position, inside, in_channel = 0, False, False
    last_channel, last_end = text.rfind("<|channel|>"), text.lower().rfind("<|end|>")
    for mark in _THINKING_MARKS.finditer(text):
        if mark["turn"] and not (inside and in_channel):
            continue
        if mark["turn"] in ("<|start|>", "<|call|>") and mark.start() < last_end:
            continue  # a whole draft of a call; <|end|> closes the channel
        if mark["recipient"] and mark.start() >= last_channel:
            continue
        piece = text[position : mark.start()]
        position = mark.end()
        if mark["open"]:
            (thinking if inside else visible).append(piece)
            inside, in_channel = True, mark["open"].startswith(("<|channel|>", "<|think|>"))
        else:
            if not inside:
                thinking += visible
                visible.clear()
            thinking.append(piece)
            inside = False
    (thinking if inside else visible).append(text[position:])
    return Split("".join(visible), "".join(thinking))


_CALL_TAGS = "tool_call|tool_calls|toolcall|function_call|function_calls|functioncall|tool_code|tool_use|tools"
_MARKS = rf"""
    <(?:{_CALL_TAGS})> | <\|(?:{_CALL_TAGS})\|?>
  | \[TOOL_CALLS?\] | \[TOOL_REQUEST\] | <\|python_(?:tag|start)\|>
  | <[|｜]tool[_▁]calls?[_▁](?:section[_▁])?(?:begin|start)[|｜]>
  | <\|action_start\|> | <\|plugin\|> | <\|START_ACTION\|> | <\|tools_prefix\|> | <start_function_call>
  | \bfunctools(?=\[) | \bto=(?=functions\.)
  | \bAction:[ \t]{{0,3}}(?=[\w.]{{1,80}}[ \t]{{0,3}}\r?\n[ \t]{{0,3}}Action[ ]Input:)
"""
_XML_MARKS = r"""
    <(?:function\s{0,3}[=(] | (?:function|invoke|tool|tool_call|function_call)\s{1,3}name=)
    \s{0,3}["']?(?P<name>[\w.:/-]{1,120})["']?[)>=\s]{0,9}
"""
_PREFIXED_TAG = r"(?:invoke|parameter|function|function_calls?|tool_calls?|tool_sep|arg_key|arg_value)"
# Marks that only some model families use, each with the common mark that replaces it before reading.
_SPELLINGS = tuple(
    (re.compile(pattern), spelling)
    for pattern, spelling in (
        (r"\]<\]minimax\[>\[", ""),  # MiniMax M3 puts its namespace token before every tag
        (rf"(</?)(?:[｜|](?:DSML|GCML)[｜|]|\w{{1,12}}:|longcat_|ifm\|)(?={_PREFIXED_TAG}\b)", r"\1"),
        (rf"(</?{_PREFIXED_TAG}):\w{{1,20}}>", r"\1>"),  # Hunyuan V3
        (r"(</?)param\b", r"\1parameter"),  # MiniCPM5
        (r"<tool_name>\s{0,9}([\w.:/-]{1,120})\s{0,9}</tool_name>", r"\1"),  # Grok
        (r"<\|tool_call:begin\|>\w{0,40}<\|tool_call:name\|>", "<|tool_call|>"),  # Solar Open
        (r'<\|open\|>call tool=("[^"<>]{1,120}")[^<>]{0,40}<\|sep\|>', r"<invoke name=\1>"),  # Kimi K3, as below
        (r'<\|open\|>argument key=("[^"<>]{1,80}")[^<>]{0,40}<\|sep\|>', r"<parameter name=\1>"),
        (r"<\|close\|>argument<\|sep\|>", "</parameter>"),
        (r"<\|close\|>call<\|sep\|>", "</invoke>"),
    )
)
_SPECIAL_TOKEN = re.compile(r"<[|｜]([^<>|｜\s]{1,40})[|｜]>")
# Words of the tokens that begin and end turns, channels and calls. They may stand around a call that was read.
_STRUCTURE = re.compile(
    r"/?(?:(?:begin|start|end|close|open|eot|eom|endof|of|turn|text|sentence|id|header|im|return|call|calls|channel|message"
    r"|constrain|content|assistant|model|invoke|tool|tools|section|prefix|suffix|argument|args|name|sep|action|plugin|python"
    r"|json|inner|function|dsml|gcml)(?:[_▁:]|\Z))+",
    re.IGNORECASE,
)
_MAX_FOUND = 1_000


class FoundCall(NamedTuple):
    """A call and its position: from the mark before it to its end."""

    call: RawCall
    start: int
    end: int


class FoundCalls(NamedTuple):
    """The calls of a text. `has_leftovers`: it also holds a mark whose call could not be read, or an unknown token."""

    calls: list[RawCall]
    has_leftovers: bool


def find_calls(text: str, offered: Sequence[str]) -> FoundCalls:
    """The calls in an answer's text, in order. The last one may be cut off. Pass the text without its thinking."""
    text = _common_spelling(text)
    marked, unread = _find_marked(text, offered)
    if not marked:
        return FoundCalls(find_bare_calls(text, offered), unread or has_leftovers(text))
    starts, ends = [found.start for found in marked], [found.end for found in marked]
    outside = [text[end:start] for end, start in zip([0, *ends], [*starts, len(text)], strict=True)]
    return FoundCalls([found.call for found in marked], unread or any(has_leftovers(piece) for piece in outside))


def has_call_marks(text: str, offered: Sequence[str]) -> bool:
    """Whether a text holds a special token or the opening mark of a call."""
    return bool(_SPECIAL_TOKEN.search(text) or _marks(tuple(offered)).search(_common_spelling(text)))


def find_final_calls(thinking: str, offered: Sequence[str]) -> list[RawCall]:
    """The calls at the end of thinking, after its last words.

    Qwen3 puts real calls there and stops, and the server then shows reasoning only (vllm-project/vllm#39056).
    """
    thinking = _common_spelling(thinking)
    found, _ = _find_marked(thinking, offered)
    first = max(len(found) - 1, 0)
    while first > 0 and not re.sub(r"<[^<>]*>|\s", "", thinking[found[first - 1].end : found[first].start]):
        first -= 1
    if found:
        return [one.call for one in found[first:]]
    return find_bare_calls(thinking, offered, drafts=True)


def _common_spelling(text: str) -> str:
    for pattern, spelling in _SPELLINGS:
        text = pattern.sub(spelling, text)
    return text


def has_leftovers(text: str) -> bool:
    """Whether a text without its calls holds an unknown special token, or a call without a name (DeepSeek V3.2)."""
    return "<invoke>" in text or any(not _STRUCTURE.fullmatch(token[1]) for token in _SPECIAL_TOKEN.finditer(text))


def _find_marked(text: str, offered: Sequence[str]) -> tuple[list[FoundCall], bool]:
    """The calls with marks, and whether there is a mark without a call that is not the start of a group of calls."""
    marks = _marks(tuple(offered))
    found: list[FoundCall] = []
    position, unread = 0, False
    while len(found) < _MAX_FOUND and (mark := marks.search(text, position)):
        if mark["name"] or mark["tag"]:
            calls, position = read_xml(text, mark)
        else:
            calls, position = read_payload(text, mark.end(), offered)
        found += [FoundCall(call, mark.start(), position) for call in calls]
        unread = unread or not (calls or marks.match(text, _end(_NOISE, text, position)))
        if calls and calls[-1].cut:
            break
    return found, unread


@lru_cache(maxsize=16)
def _marks(offered: tuple[str, ...]) -> re.Pattern[str]:
    tools = "|".join(re.escape(tool) for tool in offered if tool) or r"(?!)"
    return re.compile(rf"(?:{_MARKS}) | {_XML_MARKS} | <(?P<tag>{tools})>", re.IGNORECASE | re.VERBOSE)


_NOISE = re.compile(
    r"(?:\s|```\w{0,20}|json\b|function(?=<[|｜])|<[|｜]tool[▁_]sep[|｜]>|call:|<\|plugin\|>)*", re.IGNORECASE
)
_NAME = re.compile(r"[A-Za-z_][\w.:/-]{0,119}")
_NEXT_NAMED = re.compile(r"(?:call:)?[A-Za-z_][\w.:/-]{0,119}(?=[({])")
_SEPARATOR = re.compile(
    r"(?:\s|\[ARGS\]|\[CALL_ID\]\w{0,40}|<[|｜][^<>|｜]{1,40}[|｜]>|json\b|commentary\b|Action Input:"
    r"|<parameters>|<tool_sep>|```\w{0,20})*"
)
_BETWEEN = re.compile(r"[\s;,]*")
_PYTHON_LIST = re.compile(r"\[\s{0,20}(?=[A-Za-z_][\w.:/-]{0,119}\s{0,3}\()")
_PYTHON_CALL = re.compile(r"([A-Za-z_][\w.:/-]{0,119})\s{0,3}(?=\()")
_XML_END = re.compile(r"</(?:function|invoke|tool|tool_call|function_calls?)>", re.IGNORECASE)
_XML_OPEN = re.compile(r"<(?:function\s?=|invoke\s)", re.IGNORECASE)
_PARAMETER = re.compile(r"<parameter(?:\s?=|\s{1,3}name=)", re.IGNORECASE)
_CHILDREN = ("actions", "action", "actions_list", "reasoning")

Reading = tuple[list[RawCall], int]


def read_payload(text: str, start: int, offered: Sequence[str]) -> Reading:
    """Reads the calls after a mark, and the index to go on from. An empty rest is a cut call; prose is no call."""
    start = _end(_NOISE, text, start)
    if start == len(text):
        return [RawCall("", "", cut=True)], start
    if text[start] in "{[":
        return _read_json(text, start, offered)
    name = _NAME.match(text, start)
    calls: list[RawCall] = []
    while name:
        more, start = _read_named(text, name[0].removeprefix("call:"), name.end(), offered)
        calls += more
        if not more or more[-1].cut:
            break
        name = _NEXT_NAMED.match(text, _end(_BETWEEN, text, start))
    return calls, start


def read_xml(text: str, mark: re.Match[str]) -> Reading:
    """Reads the call whose tag was just opened: parameters in tags of their own, or JSON. Without its closing tag it is
    cut. A tag named like the tool (`<interact>`) has children named like the arguments."""
    name, start = mark["name"] or mark["tag"], mark.end()
    start = _end(_NOISE, text, start)
    if text[start : start + 1] == "{":
        return _json_arguments(text, name, start)
    end = re.compile(f"</{re.escape(name)}>", re.IGNORECASE) if mark["tag"] else _XML_END
    close = end.search(text, start)
    if close is None or _XML_OPEN.search(text, start, close.start()):
        return [RawCall(name, text[start:], cut=True)], len(text)
    body = text[start : close.start()]
    return [
        RawCall(name, json_text(_parameters(body) if not mark["tag"] and _PARAMETER.search(body) else _children(body)))
    ], close.end()


def read_python(text: str, name: str, paren: int) -> tuple[RawCall | None, int]:
    """Reads `interact(actions=[...])` with its `(` at `paren`; the call is None if its arguments are not literals."""
    end = closing(text, paren)
    if end is None:
        return RawCall(name, text[paren:], cut=True), len(text)
    arguments = keywords(text[paren:end])
    name = name.removesuffix(".call")  # Llama 3's built-in tools are called that way
    return (None if arguments is None else RawCall(name, json_text(arguments))), end


def _read_json(text: str, start: int, offered: Sequence[str]) -> Reading:
    """Reads one value or several in a row; Llama puts semicolons between them."""
    if python := _PYTHON_LIST.match(text, start):
        return _read_python_list(text, python.end())
    calls: list[RawCall] = []
    first = start
    while text[start : start + 1] == "{" or (start == first and text[start] == "["):
        value, end = value_at(text, start)
        if value is UNREADABLE:
            whole, start = _whole_items(text, start, offered)
            return [*calls, *whole, RawCall(_name_in(text[start : start + 400]), text[start:], cut=True)], end
        calls += calls_of(value, offered)
        start = _end(_BETWEEN, text, end)
    return calls, start


def _whole_items(text: str, start: int, offered: Sequence[str], *, nameless: bool = True) -> Reading:
    """The calls before the first incomplete item of the list at `start`, and that item's index."""
    calls: list[RawCall] = []
    if text[start] != "[":
        return calls, start
    start = _end(_BETWEEN, text, start + 1)
    while text[start : start + 1] == "{":
        value, end = value_at(text, start)
        if value is UNREADABLE:
            break
        calls += calls_of(value, offered, nameless=nameless)
        start = _end(_BETWEEN, text, end)
    return calls, start


def _read_python_list(text: str, start: int) -> Reading:
    calls: list[RawCall] = []
    while name := _PYTHON_CALL.match(text, start):
        call, end = read_python(text, name[1], name.end())
        calls.append(call or RawCall(name[1], text[name.end() : end], cut=True))
        start = _end(_BETWEEN, text, end)
    return calls, start


def _read_named(text: str, name: str, end: int, offered: Sequence[str]) -> Reading:
    name = name.rstrip(":.-/")
    start = _end(_SEPARATOR, text, end)
    if start == len(text):  # the name of a tool, or the beginning of one; otherwise prose
        begins = any(tool_key(tool).startswith(tool_key(name)) for tool in offered)
        return ([RawCall(name, "", cut=True)] if begins else []), start
    if text[start] == "{":
        return _json_arguments(text, name, start)
    if text.startswith("<arg_key>", start):
        return _read_pairs(text, name, start)
    if text[start] == "(":
        call, after = read_python(text, name, start)
        return ([call], after) if call else ([], start)
    return [], end


def _json_arguments(text: str, name: str, start: int) -> Reading:
    value, end = value_at(text, start)
    if value is UNREADABLE:
        return [RawCall(name, text[start:], cut=True)], end
    return [RawCall(name, json_text(value))], end


def _read_pairs(text: str, name: str, start: int) -> Reading:
    end = text.find("</tool_call>", start)
    if end < 0:
        return [RawCall(name, text[start:], cut=True)], len(text)
    arguments: dict[str, Any] = {}
    for pair in text[start:end].split("<arg_key>")[1:]:
        key, _, rest = pair.partition("</arg_key>")
        arguments[key.strip()] = rest.partition("<arg_value>")[2].partition("</arg_value>")[0].strip()
    return [RawCall(name, json_text(arguments))], end


def _parameters(body: str) -> dict[str, str]:
    arguments: dict[str, str] = {}
    for piece in _PARAMETER.split(body)[1:]:
        head, _, rest = piece.partition(">")
        key = head.split()[0].strip("\"'") if head.split() else ""
        arguments[key] = _value(rest.partition("</parameter>")[0].strip())
    return arguments


def _value(text: str) -> str:
    if text.startswith("<![CDATA["):
        return text.removeprefix("<![CDATA[").removesuffix("]]>")
    return html.unescape(text)


def _children(body: str) -> dict[str, Any]:
    inside = {key: body.partition(f"<{key}>")[2].partition(f"</{key}>")[0].strip() for key in _CHILDREN}
    return {key: _items(value) for key, value in inside.items() if value}


def _items(value: str) -> Any:
    """The text of a child element, or the list of its `<item>` elements (MiniMax M3)."""
    items = [html.unescape(piece.partition("</item>")[0].strip()) for piece in value.split("<item>")[1:]]
    return items or html.unescape(value)


def _name_in(text: str) -> str:
    found = re.search(r'"(?:name|tool_name)"\s{0,5}:\s{0,5}"([^"]{1,80})"', text)
    return found[1] if found else ""


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    return match.end() if match else start


_FENCE = re.compile(r"```\w{0,20}")
_CALL_KEYS = "name|type|id|function|tool|tool_name|tool_call|tool_calls|function_call"
_OBJECT_START = re.compile(
    rf"""^[ \t]*(?P<line>[\[{{])|(?P<inline>\{{)(?=\s{{0,20}}["'](?:{_CALL_KEYS})["'])""", re.MULTILINE
)
_REST_OF_LINE = re.compile(r"[ \t;,]*(?:<[^<>\n]{1,40}>)*[ \t]*(?:\r?\n|\Z)")
_LOOKS_LIKE_CALL = re.compile(
    r"""["'](?:actions?|actions_list)["']\s{0,5}:|["'](?:name|tool_name)["']\s{0,5}:\s{0,5}["']""", re.IGNORECASE
)
_PYTHON_CUT = re.compile(r"\(\s{0,9}(?:actions|action|actions_list)\s{0,3}=|\(\s{0,9}\[\s{0,9}[\"']")
_MAX_ATTEMPTS = 16  # to read what cannot be read
_MAX_OBJECTS = 1_000  # that are read, calls or not


def find_bare_calls(text: str, offered: Sequence[str], *, drafts: bool = False) -> list[RawCall]:
    """The calls in text without marks.

    JSON counts if it is on lines of its own, in a fence or the whole text (groq/groq-typescript#28); inside a sentence
    only if it names an offered tool. `drafts`: only JSON that names its tool.
    """
    text = _FENCE.sub("\n", text)
    calls = _find_objects(text, offered, nameless=not drafts)
    return calls if calls or drafts else _find_python(text, offered)


def _find_objects(text: str, offered: Sequence[str], *, nameless: bool) -> list[RawCall]:
    found: list[RawCall] = []
    position = attempts = objects = 0
    while attempts < _MAX_ATTEMPTS and objects < _MAX_OBJECTS and (match := _OBJECT_START.search(text, position)):
        start = match.end() - 1
        value, end = value_at(text, start)
        if value is UNREADABLE:
            if match["line"] and _LOOKS_LIKE_CALL.search(text, start, start + 2_000):
                whole, start = _whole_items(text, start, offered, nameless=nameless)
                return [*found, *whole, RawCall("", text[start:], cut=True)]
            attempts += 1
            position = start + 1
            continue
        position, objects = end, objects + 1
        alone = bool(match["line"] and _REST_OF_LINE.match(text, end))
        calls = calls_of(value, offered, nameless=nameless and alone)
        found += [call for call in calls if alone or is_offered(call.name, offered)]
    return found


def _find_python(text: str, offered: Sequence[str]) -> list[RawCall]:
    found: list[RawCall] = []
    position = attempts = 0
    while attempts < _MAX_ATTEMPTS and (match := _tool_names(tuple(offered)).search(text, position)):
        start = match.end()
        position = start
        if text[start] == "{":
            value, position = value_at(text, start)
            call = RawCall(match[1], json_text(value)) if value is not UNREADABLE else None
            call = call or RawCall(match[1], text[start:], cut=True)
        else:
            call, position = read_python(text, match[1], start)
            position = position if call else start
        if call and _holds_actions(call, text, start):
            found.append(call)
            if call.cut:
                break
        else:
            attempts += 1
    return found or _whole_python(text.strip())


def _holds_actions(call: RawCall, text: str, start: int) -> bool:
    """Prose may mention `interact(...)`, so a call must contain its actions."""
    if not call.cut:
        value, _ = value_at(call.arguments, 0)
        return actions_of(as_dict(value)) is not None
    return bool(_PYTHON_CUT.match(text, start) or _LOOKS_LIKE_CALL.search(text, start, start + 2_000))


def _whole_python(text: str) -> list[RawCall]:
    """A call of any tool, if the text holds nothing else."""
    match = re.match(r"\[?\s{0,9}([A-Za-z_][\w.]{0,80})(?=\()", text)
    if not match:
        return []
    arguments = keywords(text[match.end() :].rstrip("] \n\t")) or {}
    return [RawCall(match[1], json_text(arguments))] if actions_of(arguments) is not None else []


@lru_cache(maxsize=16)
def _tool_names(offered: tuple[str, ...]) -> re.Pattern[str]:
    names = "|".join(re.escape(re.split(r"[.:/]|__", tool)[-1]) for tool in offered if tool) or r"(?!)"
    return re.compile(rf"(?:(?<!\w)|(?<=__))({names})(?:\.call)?[ \t]{{0,3}}(?=[({{])", re.IGNORECASE)
