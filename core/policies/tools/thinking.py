"""What of a text is thinking. Calls in there are drafts."""

from __future__ import annotations

import re
from typing import NamedTuple

_NAMES = r"(?:\w{1,10}:|ifm\||longcat_)?(?:think(?:ing|_fast|_faster)?|thoughts?|reasoning|scratchpad)(?::\w{1,20})?"
# gpt-oss where the server stripped its special tokens
_STRIPPED = re.compile(r"\A\s{0,9}analysis(.*?)assistant(?:final|(?=commentary))", re.IGNORECASE | re.DOTALL)
# Apertus, Gemma 4, Solar Open, Kimi K3
_MORE_OPEN = r"|<\|inner_prefix\|>|<\|channel>thought\b|<\|think\|>|<\|open\|>think<\|sep\|>"
_OPEN = (
    rf"<{_NAMES}>|\[THINK\]|◁think▷|<\|begin_of_thought\|>{_MORE_OPEN}"
    r"|<\|channel\|>\s{0,3}analysis\s{0,3}(?:<\|message\|>)"
)
_CLOSE = (
    rf"</{_NAMES}>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|inner_suffix\|>|<channel\|>"
    r"|<\|close\|>think<\|sep\|>"
)
_MARKS = re.compile(rf"(?P<open>{_OPEN})|(?P<close>{_CLOSE})|(?P<turn><\|(?:end|return|start|call)\|>)", re.IGNORECASE)


class Split(NamedTuple):
    """A text without its thinking, and the thinking."""

    visible: str
    thinking: str


def split_thinking(text: str) -> Split:
    """Takes `<think>...</think>` and its like out of a text.

    Thinking that is not closed goes to the end. A closing mark without an opening one ends thinking that began with
    the text: the chat templates of DeepSeek-R1 and Qwen3-Thinking put the opening mark into the prompt
    (vllm-project/vllm#22507). `[THINK]` is Magistral's, `<|channel|>analysis` gpt-oss's (openai/harmony).
    """
    visible: list[str] = []
    thinking: list[str] = []
    text = _STRIPPED.sub(r"<think>\1</think>", text)
    position, inside, in_channel = 0, False, False
    for mark in _MARKS.finditer(text):
        if mark["turn"] and not (inside and in_channel):
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
