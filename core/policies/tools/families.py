"""How each family of models marks its thinking and its calls, where a server leaves them in the text of an answer.

To read another family, add a row to `FAMILIES`. Sources of the formats: the models' chat templates, and the tool and
reasoning parsers of vLLM, SGLang and mlx-lm.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

# Tags may have a namespace: minimax:, seed:, steptml:, xai:, ifm|, longcat_, ｜DSML｜ (DeepSeek), ｜GCML｜ (GigaChat);
# Hunyuan's have a suffix, the same one for all: <tool_call:opensource>.
_NAMESPACE = r"(?:[｜|]{1,2}[A-Z]{2,6}[｜|]{1,2}|\w{1,12}[:|]|longcat_)?"
_SUFFIX = r"(?::\w{1,20})?"
_TOOL_NAME = r"\s{0,3}[\"']?([\w.:/-]{1,120})[\"']?"


def _tag(names: str, slash: str = "") -> str:
    return rf"<{slash}{_NAMESPACE}(?:{names}){_SUFFIX}>"


class Marks(NamedTuple):
    """Marks around each argument of a call: patterns. The group of `opens` is the argument's name. `end` ends the
    call."""

    opens: str
    closes: str
    end: str


class Family(NamedTuple):
    """A way to write calls and thinking. All fields but the first are patterns, read without regard to case.

    models: who writes that way. call: the mark before a call; if the tool's name is in the mark, it is a group.
    marks: around the arguments of a call whose name is in its mark; where `{` follows, the arguments are JSON.
    thinking: the marks before and after thinking, if the family has its own. `TURN` ends a message.
    """

    models: str
    call: str
    marks: Marks | None = None
    thinking: tuple[str, str] | None = None


_FIRST = r"(?=[<\[◁✿tfa])"
"""The first characters of all marks: most places of a text are passed over without trying the rows."""

TURN = r"<\|(?:end|return|start|call)\|>"
_GROUPS = "tool_call|tool_calls|toolcall|function_call|function_calls|functioncall|tool_code|tool_use|tools"
_THINK = "think(?:ing|_fast|_faster)?|thoughts?|reasoning|scratchpad"
_XML = Marks(
    rf"<{_NAMESPACE}param(?:eter)?(?:\s?=|\s{{1,3}}name=)\s{{0,3}}[\"']?([^\s\"'<>]{{1,80}})[^<>]{{0,80}}>",
    _tag("param|parameter", "/"),
    rf"</{_NAMESPACE}(?:function|invoke|tool|tool_call|function_calls?){_SUFFIX}[\"']?>",
)
_PAIRS = Marks(  # <arg_key>actions</arg_key><arg_value>["do"]</arg_value>, with <arg_type> in between for K2-Horizon
    rf"{_tag('arg_key')}([^<]{{0,80}})(?:{_tag('arg_key', '/')}\s{{0,20}}"
    rf"(?:{_tag('arg_type')}[^<]{{0,40}}{_tag('arg_type', '/')}\s{{0,20}})?{_tag('arg_value')})?",
    _tag("arg_value", "/"),
    _tag("tool_call", "/"),
)
_SOLAR_OPEN_2 = Marks(
    r"<\|tool_arg:start\|>([^<]{0,80})<\|tool_arg:value\|>", r"<\|tool_arg:end\|>", r"<\|tool_call:end\|>"
)
AFTER_NAME = (_PAIRS, _SOLAR_OPEN_2)
"""Marks of arguments that may follow a tool's name, where the name follows the mark of the call."""

FAMILIES = (
    Family(
        "Qwen 2.5 and 3, Hermes, Granite 4, Nemotron, Olmo 3; GLM 4.5 to 4.7, Hunyuan V3, LongCat, K2-Horizon; Grok",
        _tag(_GROUPS),
        thinking=(rf"{_tag(_THINK)}|<\|begin_of_thought\|>", rf"{_tag(_THINK, '/')}|<\|end_of_thought\|>"),
    ),
    Family(
        "Qwen3-Coder, Seed-OSS, MiniMax M2 and M3, DeepSeek V3.2 and V4, GigaChat 3.5, Step 3, MiniCPM5, Grok, Llama",
        rf"<{_NAMESPACE}(?:function\s{{0,3}}[=(]|(?:function|invoke|tool|tool_call|function_call)\s{{1,3}}name=)"
        rf"{_TOOL_NAME}[)>=\s]{{0,9}}",
        _XML,
    ),
    Family("Granite 3, Phi-4, GigaChat 3", rf"<\|(?:{_GROUPS})\|>"),
    Family("Gemma 4", r"<\|tool_call>", thinking=(r"<\|channel>thought\b", r"<channel\|>")),
    Family("FunctionGemma", "<start_function_call>"),
    Family(
        "gpt-oss, LLM-jp",
        r"\bto=(?=functions\.)",
        thinking=(
            r"<\|channel\|>\s{0,3}analysis\b(?P<recipient>\s{0,3}to=[^<>]{1,100}(?:<\|constrain\|>\s{0,3}\w{0,20})?)?"
            r"\s{0,3}<\|message\|>",
            TURN,
        ),
    ),
    Family(
        "DeepSeek V3, V3.1 and R1, Kimi K2, Step 3",
        r"<[|｜]tool[_▁]calls?[_▁](?:section[_▁])?(?:begin|start)[|｜]>",
        thinking=("◁think▷", "◁/think▷"),
    ),
    Family(
        "Kimi K3",
        rf"<\|open\|>call tool={_TOOL_NAME}[^<>]{{0,40}}<\|sep\|>",
        Marks(
            r"<\|open\|>argument key=\"([^\"<>]{1,80})\"[^<>]{0,40}<\|sep\|>",
            r"<\|close\|>argument<\|sep\|>",
            r"<\|close\|>call<\|sep\|>",
        ),
        thinking=(r"<\|open\|>think<\|sep\|>", r"<\|close\|>think<\|sep\|>"),
    ),
    Family("Mistral, Magistral", r"\[TOOL_CALLS?\]", thinking=(r"\[THINK\]", r"\[/THINK\]")),
    Family("Llama 3 and 4", r"<\|python_(?:tag|start)\|>"),
    Family("LFM2", r"<\|tool_call_start\|>"),
    Family("Solar Open", r"<\|tool_call:begin\|>\w{0,40}<\|tool_call:name\|>", thinking=(r"<\|think\|>", TURN)),
    Family("Solar Open 2", r"<\|tool_call:start\|>", thinking=(r"<\|think:start\|>", r"<\|think:end\|>")),
    Family("Apertus", r"<\|tools_prefix\|>", thinking=(r"<\|inner_prefix\|>", r"<\|inner_suffix\|>")),
    Family("GigaChat 3", r"\bfunction call<\|role_sep\|>"),
    Family("InternLM", r"<\|action_start\|>|<\|plugin\|>"),
    Family("Command R and A", r"<\|START_ACTION\|>", thinking=(r"<\|START_THINKING\|>", r"<\|END_THINKING\|>")),
    Family("Qwen 2", "✿FUNCTION✿:"),
    Family("Phi-4-mini", r"\bfunctools(?=\[)"),
    Family("LM Studio", r"\[TOOL_REQUEST\]"),
    Family("ReAct prompts", r"\bAction:[ \t]{0,3}(?=[\w.]{1,80}[ \t]{0,3}\r?\n[ \t]{0,3}Action Input:)"),
)


def _any(patterns: Iterable[str]) -> str:
    return "|".join(f"(?:{pattern})" for pattern in patterns)


_THINKING = [family.thinking for family in FAMILIES if family.thinking]
THINKING = re.compile(
    rf"{_FIRST}(?:(?P<open>(?P<open_turn>{_any(opens for opens, closes in _THINKING if closes == TURN)})"
    rf"|{_any(opens for opens, closes in _THINKING if closes != TURN)})"
    rf"|(?P<close>{_any(closes for _, closes in _THINKING if closes != TURN)})|(?P<turn>{TURN}))",
    re.IGNORECASE,
)
"""A mark before (`open`) or after (`close`) thinking. Where thinking is a message (`open_turn`), `turn` closes it."""


THINKING_PHRASES = re.compile(
    r"\A\s{0,9}(?:analysis(.*?)assistant(?:final|(?=commentary))"  # gpt-oss without its special tokens
    r"|Here(?: is|'s) my thought process:(.*?)Here(?: is|'s) my response:)",  # Granite 3.2
    re.IGNORECASE | re.DOTALL,
)
"""Thinking between phrases, which count only together and at the start: other texts contain them too."""


class CallMark(NamedTuple):
    """A mark before a call. name: the tool's, empty if it is not in the mark. start, end: its position."""

    family: Family
    name: str
    start: int
    end: int


class CallMarks:
    """Finds the marks before calls of any family, and of the offered tools as tags (`<interact>`), as prompts show
    them."""

    def __init__(self, offered: tuple[str, ...]) -> None:
        tools = "|".join(re.escape(tool) for tool in offered if tool) or r"(?!)"
        own = Family(
            "prompts with the tool as a tag", rf"<({tools})>", Marks(_XML.opens, _XML.closes, rf"</(?:{tools})>")
        )
        self._families = (*FAMILIES, own)
        rows = (f"(?P<row{number}>{family.call})" for number, family in enumerate(self._families))
        self._pattern = re.compile(f"{_FIRST}(?:{'|'.join(rows)})", re.IGNORECASE)

    def first(self, text: str, start: int = 0) -> CallMark | None:
        """The first one from `start` on."""
        match = self._pattern.search(text, start)
        if match is None or match.lastgroup is None:
            return None
        family = self._families[int(match.lastgroup.removeprefix("row"))]
        name = match[self._pattern.groupindex[match.lastgroup] + 1] if family.marks else ""
        return CallMark(family, name, match.start(), match.end())

    def is_at(self, text: str, start: int) -> bool:
        """Whether one begins at `start`."""
        return self._pattern.match(text, start) is not None


call_marks = lru_cache(maxsize=16)(CallMarks)
