"""The messages of a request: new ones are shown, those already in the request before are folded away.

All text comes from a trace: shown as text or code, never as Markdown or HTML. Pictures are decoded from `data:` URLs;
nothing is fetched.
"""

from __future__ import annotations

import base64
import binascii
import io
import re
from itertools import groupby
from typing import Literal

import streamlit as st
from PIL import Image

from core.evidence import SentMessage, new_messages, sent_messages
from core.text import plural
from core.types import Decision, ModelCall
from pages.components.shared.long_text import show_long_text
from pages.components.text.escape import one_line
from pages.components.text.format import number

_COLOURS: dict[str, Literal["gray", "blue", "violet", "orange"]] = {
    "system": "gray",
    "developer": "gray",
    "user": "blue",
    "assistant": "violet",
    "tool": "orange",
}
_MAX_MESSAGES = 60  # our own requests have at most 50; imported ones may have any number
_MAX_NAME_LENGTH = 60
_DATA_URL = re.compile(r"data:image/[a-z+.\-]{1,20};base64,", re.IGNORECASE)
_FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
_MAX_CHARACTERS = 8_000_000
_MAX_PIXELS = 4_000_000
_MAX_URL_LENGTH = 200
_WIDTH_PX = 216


def show_messages(call: ModelCall, decision: int, before: Decision | None, key: str) -> None:
    """decision: index of the call's decision. before: the newest earlier decision with a call, to compare with."""
    messages = sent_messages(call.request)
    if not messages:
        st.text("The request contains no messages.")
        return
    is_new = new_messages(messages, sent_messages(before.model_call.request) if before and before.model_call else ())
    st.caption(_count_text(len(messages), sum(is_new), decision, before))
    numbered = list(enumerate(zip(messages, is_new, strict=True)))
    hidden = len(numbered) - _MAX_MESSAGES
    if hidden > 0:
        numbered = numbered[-_MAX_MESSAGES:]
        st.text(f"The oldest {hidden:,} are only in the request below")
    for new, group in groupby(numbered, key=lambda entry: entry[1][1]):
        entries = [(at, message) for at, (message, _) in group]
        if new:
            for at, message in entries:
                _show_message(message, at, is_new=before is not None, key=key)
            continue
        label = f"{number(len(entries))} sent before: {_roles(entries)}"
        with st.expander(label, key=f"{key}-before-{entries[0][0] > 0}"):
            for at, message in entries:
                _show_message(message, at, is_new=False, key=key)


def _count_text(count: int, new: int, decision: int, before: Decision | None) -> str:
    messages = plural(count, "message")
    if before is None:
        why = " (no earlier decision called a model)" if decision else ""
        return f"{messages}, the first request of this episode{why}"
    if before.index == decision - 1:
        return f"{messages}, {number(new)} new since the previous call"
    return f"{messages}, {number(new)} new since the previous call (decision {number(before.index)})"


def _roles(entries: list[tuple[int, SentMessage]]) -> str:
    """`2 user, 1 tool`. Unknown roles are "other": the text is a label, which is Markdown."""
    roles = [message.role if message.role in _COLOURS else "other" for _, message in entries]
    return ", ".join(f"{roles.count(role)} {role}" for role in dict.fromkeys(roles))


def _show_message(message: SentMessage, at: int, *, is_new: bool, key: str) -> None:
    with st.container(border=True, gap="xsmall", key=f"{key}-message-{at}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
            if message.role in _COLOURS:
                st.badge(message.role, color=_COLOURS[message.role])
            else:
                st.text(one_line(message.role, _MAX_NAME_LENGTH) or "(no role)", width="content")
            if is_new:
                st.badge("new", color="green", help="Not part of the previous request")
            if message.answers:
                st.text(f"answers {one_line(message.answers, _MAX_NAME_LENGTH)}", width="content")
            st.space("stretch")
            st.caption(_size(message), width="content")
        if message.text:
            show_long_text(message.text, key=f"{key}-text-{at}", name=f"message-{at}")
        for number_of_call, (name, arguments) in enumerate(message.tool_calls):
            called = f"{name}({arguments})"
            show_long_text(called, key=f"{key}-call-{at}-{number_of_call}", name=f"call-{at}", language="json")
        for url in message.pictures:
            show_picture(url)
        if message.other:
            show_long_text(message.other, key=f"{key}-other-{at}", name=f"message-{at}", language="json")


def _size(message: SentMessage) -> str:
    parts = []
    characters = len(message.text) + sum(len(name) + len(arguments) for name, arguments in message.tool_calls)
    characters += len(message.other)
    if characters:
        parts.append(f"{number(characters)} characters")
    if message.pictures:
        parts.append(plural(len(message.pictures), "picture"))
    return ", ".join(parts) or "empty"


def picture_of(url: str) -> tuple[Image.Image | None, str]:
    """The picture of a `data:` URL with a caption of its size, or None with the reason why it is not shown."""
    match = _DATA_URL.match(url)
    if match is None:
        return None, f"Picture URL, not fetched: {one_line(url, _MAX_URL_LENGTH)}"
    if len(url) > _MAX_CHARACTERS:
        return None, f"Picture of {len(url):,} characters: too large to show"
    try:
        data = base64.b64decode(url[match.end() :], validate=True)
        with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            width, height = image.size
            if width * height > _MAX_PIXELS:
                return None, f"Picture of {width:,} × {height:,} pixels: too large to show"
            caption = f"{width} × {height} pixels, {image.format}, {number(len(data))} bytes"
            return image.convert("RGB"), caption
    except (binascii.Error, ValueError, OSError, SyntaxError, Image.DecompressionBombError):
        return None, f"Picture of {len(url):,} characters: invalid data"


def show_picture(url: str) -> None:
    picture, text = picture_of(url)
    if picture is None:
        st.text(text)
        return
    st.image(picture, width=min(_WIDTH_PX, picture.width), output_format="PNG", alt="The picture that was sent")
    st.caption(text)
