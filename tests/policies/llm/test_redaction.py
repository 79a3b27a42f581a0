"""Six characters of a key in a row are removed from an answer in every form that the README names."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote

import pytest

from core.policies.llm.endpoint import NO_KEY
from core.policies.llm.redaction import KeyRemover
from core.policies.tools import TOOL_NAME, ParsedResponse, parse_response

KEY = "sk-proj-a1B2c3D4e5F6g7H8/+=="


def pieces(text: str, key: str = KEY) -> list[str]:
    return [key[at : at + 6] for at in range(len(key) - 5) if key[at : at + 6] in text]


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(character):04x}" for character in text)


def meaning(text: str) -> str:
    """The text without its JSON escapes, at any depth."""
    for _ in range(4):
        text = text.replace("\\\\", "\\").replace("\\/", "/")
        for character in set(KEY):
            text = text.replace(escaped(character), character)
    return text


def response(**message: Any) -> dict[str, Any]:
    return {"status": 200, "headers": {}, "body": {"model": "m", "choices": [{"message": message}]}}


def cleaned(answer: dict[str, Any]) -> ParsedResponse:
    return KeyRemover(KEY).parsed(parse_response(answer))


@pytest.mark.parametrize(
    "text",
    [
        f"Incorrect API key provided: {KEY}.",
        f"Incorrect API key provided: {KEY[:10]}*****{KEY[-7:]}",
        f"{KEY}{KEY}",
        f"x{KEY[3:9]}y",
        json.dumps({"said": KEY}).replace("/", "\\/"),
        f'{{"said": "{escaped(KEY)}"}}',
        f'{{"said": "{escaped(KEY[:4])}{KEY[4:8]}{escaped(KEY[8])}{KEY[9:]}"}}',
        json.dumps({"arguments": json.dumps({"said": KEY}).replace(KEY, escaped(KEY))}),
        json.dumps({"a": json.dumps({"b": json.dumps({"said": KEY}).replace("/", "\\/")})}),
        "nothing of it",
    ],
)
def test_no_six_characters_of_a_key_stay_in_a_text(text: str):
    result = KeyRemover(KEY).text(text)
    assert not pieces(result) and not pieces(meaning(result))
    assert result == text or "[key removed]" in result


def _forms(data: str) -> dict[str, str]:
    raw = data.encode()
    return {
        "hex": raw.hex(),
        "upper-case hex": raw.hex().upper(),
        "base64": base64.b64encode(raw).decode(),
        "url-safe base64": base64.urlsafe_b64encode(raw).decode().rstrip("="),
        "percent": quote(data, safe=""),
        "every character in percent": "".join(f"%{byte:02x}" for byte in raw),
        "percent twice": "".join(f"%25{byte:02X}" for byte in raw),
        "x escapes": "".join(f"\\x{byte:02x}" for byte in raw),
        "base64 in JSON": json.dumps(base64.b64encode(raw).decode()).replace("/", "\\/"),
        "base64 in a URL": quote(base64.b64encode(raw), safe=""),
    }


@pytest.mark.parametrize("key", [KEY, "sk-~~~???>>>///AbCdEf", "abcdef"])
@pytest.mark.parametrize("before", ["", "a", "ab", "abc"])
def test_a_key_is_removed_in_every_form_that_the_readme_names(key: str, before: str):
    plain_forms = _forms(f"{before}{key}zz")
    others = _forms(f"{before}{'.' * len(key)}zz")
    for name, written in plain_forms.items():
        cleaned_text = KeyRemover(key).text(f"<{written}>")
        assert "[key removed]" in cleaned_text, name
        # What is left at the edges of what was encoded is no longer than without the key.
        assert len(cleaned_text.replace("[key removed]", "")) <= 2 + len(others[name]) - len(key), name
        assert KeyRemover(key).text(others[name]) == others[name], name


@pytest.mark.parametrize("at", range(len(KEY) - 5))
def test_six_characters_of_a_key_are_found_in_every_form(at: int):
    for before in ("", "a", "ab"):
        for name, written in _forms(f"{before}{KEY[at : at + 6]}").items():
            assert "[key removed]" in KeyRemover(KEY).text(written), name


def test_the_text_around_a_key_stays():
    remover = KeyRemover(KEY)
    assert remover.text(f"before {KEY} after") == "before [key removed] after"
    assert remover.text(f'"before {escaped(KEY)} \\n after"') == '"before [key removed] \\n after"'


def test_a_short_key_is_removed():
    assert KeyRemover("abc1").text("abc1, abc and bc1") == "[key removed], abc and bc1"


def test_without_a_key_nothing_is_removed():
    assert KeyRemover(NO_KEY).text(f"{NO_KEY} {KEY}") == f"{NO_KEY} {KEY}"
    assert KeyRemover("").text("text") == "text"


@pytest.mark.parametrize(
    "answer",
    [
        response(content=[{"type": "text", "text": KEY[at : at + 3]} for at in range(0, len(KEY), 3)]),
        response(content=f"{KEY[:5]}<think>no</think>{KEY[5:10]}<think>no</think>{KEY[10:]}"),
        {
            "status": 200,
            "headers": {},
            "body": {
                "choices": [
                    {
                        "message": {"content": "none"},
                        "logprobs": {"content": [{"token": part, "logprob": -1} for part in (KEY[:5], KEY[5:])]},
                    }
                ]
            },
        },
        response(content="", reasoning_content=[{"type": "text", "text": part} for part in (KEY[:5], KEY[5:])]),
        response(tool_calls=[{"id": KEY, "function": {"name": KEY, "arguments": {"actions": [KEY, "noop"]}}}]),
        response(tool_calls=[{"function": {"name": TOOL_NAME, "arguments": {"actions": [KEY], "reasoning": KEY}}}]),
        {"status": 200, "headers": {}, "body": {"model": KEY, "id": KEY, "choices": [{"finish_reason": KEY}]}},
        {"status": 400, "headers": {}, "body": {"error": {"message": KEY, "code": "tool_use_failed"}}},
        {
            "status": 200,
            "headers": {},
            "stream": [{"choices": [{"index": 0, "delta": {"content": KEY[at : at + 3]}}]} for at in range(0, 28, 3)],
        },
    ],
)
def test_pieces_of_a_key_in_parts_and_chunks_are_removed(answer: dict[str, Any]):
    assert not pieces(repr(cleaned(answer)))


def test_a_key_with_the_tools_name_in_it_does_not_change_a_call():
    key = f"{TOOL_NAME}-noop-key"
    call = {"function": {"name": TOOL_NAME, "arguments": {"actions": ["noop"]}}}
    parsed = KeyRemover(key).parsed(parse_response(response(tool_calls=[call])))
    assert parsed.error_kind is None and parsed.actions == ("noop",)
    assert parsed.tool_calls[0].name == TOOL_NAME
