"""Thousands of random answers: real ones with parts lost, doubled, swapped, cut or nested, and any JSON."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from core.env.rules import ACTIONS
from core.policies.tools import parse_response
from core.policies.tools.errors import ADVICE

DATA = Path(__file__).parents[2] / "data"
GOLDENS: list[dict[str, Any]] = json.loads((DATA / "tool_call_dialects.json").read_text(encoding="utf-8"))
KINDS = {*ADVICE, "bad_arguments", "unknown_tool", "unknown_action", "special_tokens"}
CALL = '{"name": "interact", "arguments": {"actions": ["move_up", "jump", "do"]}}'
TEXTS = [
    f"<tool_call>{CALL}</tool_call>",
    f"<think>{CALL}</think><|python_tag|>{CALL}",
    '<function=interact><parameter=actions>["do"]</parameter></function>',
    '[TOOL_CALLS]interact[ARGS]{"actions": ["do"]}',
    "<｜tool▁call▁begin｜>function<｜tool▁sep｜>interact\n```json\n" + '{"actions": ["do"]}```',
    'interact(actions=["do"])',
    f"```json\n{CALL}\n```",
    "<tool_call>interact<arg_key>actions</arg_key><arg_value>do</arg_value></tool_call>",
    "try again in 7m12.5s, insufficient_quota, the maximum context length",
]
STRANGE = [
    *[None, True, False, 0, -1, 2**70, 1.5, float("nan"), float("inf"), "", "x", "\ud800", "\0", b"\xff", [], {}],
    *[[None], {"error": "x"}, {"": None}, "2026-13-99", "null", "[]", "{}", '"{}"', "[" * 3_000, (), {1: 2}],
    *["length", "stop", "content_filter", "error", 200, 400, 404, 429, 500, "interact", "teleport", "actions", *TEXTS],
]


def places_of(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) in a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in items for place in ((value, key), *places_of(inner))]


def disturb(response: dict[str, Any], chance: random.Random) -> None:
    """Changes a random value."""
    places = places_of(response)
    if not places:
        return
    container, key = chance.choice(places)
    value = container[key]
    match chance.randrange(8):
        case 0:
            del container[key]
        case 1:
            container[key] = copy.deepcopy(chance.choice(STRANGE))
        case 2 if isinstance(container, list):
            container.insert(key, copy.deepcopy(value))
        case 3 if isinstance(value, str):
            container[key] = value[: chance.randrange(len(value) + 1)]
        case 4 if isinstance(value, str) and value:
            at = chance.randrange(len(value))
            container[key] = value[:at] + chance.choice("{}[]\"'\\<>|`,:( \n\ud800") + value[at + chance.randrange(2) :]
        case 5:
            container[key] = chance.choice(([value], {"x": value}, {"content": value}, json.dumps(value, default=str)))
        case 6:
            other, other_key = chance.choice(places)
            container[key] = copy.deepcopy(
                other.get(other_key) if isinstance(other, dict) else other[other_key : other_key + 1]
            )
        case _:
            container[key] = chance.choice(TEXTS) if isinstance(value, str | None) else value


def check(response: Any) -> None:
    read = parse_response(response, max_actions=3)
    assert (read.error_kind is None) == bool(read.actions)
    assert read.error_kind is None or read.error_kind in KINDS
    assert read.warning is None or (read.warning in KINDS and read.actions)
    assert bool(read.error_detail) == bool(read.error_kind)
    assert set(read.actions) <= set(ACTIONS)
    assert all(len(call.actions) <= 3 for call in read.tool_calls)
    assert read.retry_after_s is None or 0 <= read.retry_after_s < float("inf")
    texts = (read.content, read.reasoning, read.error_detail, read.finish_reason, read.response_id, read.model)
    "".join(text or "" for text in (*texts, *read.dropped, *(call.arguments for call in read.tool_calls))).encode()


@settings(max_examples=1_000, deadline=None)
@given(golden=st.sampled_from(GOLDENS), seed=st.integers(0, 2**32 - 1))
def test_a_changed_answer_is_read_or_is_an_error(golden: dict[str, Any], seed: int):
    chance = random.Random(seed)
    for _ in range(10):
        response = copy.deepcopy(golden["response"])
        for _ in range(chance.randrange(1, 6)):
            disturb(response, chance)
        check(response)


def as_answer(text: str) -> dict[str, Any]:
    choice = {"message": {"content": text, "reasoning": text}, "finish_reason": "stop"}
    return {"status": 200, "headers": {}, "body": {"choices": [choice]}}


@settings(max_examples=300, deadline=None)
@given(text=st.sampled_from(TEXTS), end=st.integers(0, 200), other=st.sampled_from(TEXTS), junk=st.text(max_size=20))
def test_text_that_is_cut_anywhere_before_another_call(text: str, end: int, other: str, junk: str):
    check(as_answer(text[:end] + junk + other))
    check(as_answer(junk + text[:end]))
    check({"status": 429, "headers": {"retry-after": junk}, "body": text[:end] + junk})
