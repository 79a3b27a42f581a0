"""Totals and messages of the model calls of an episode."""

from __future__ import annotations

import pytest

from core.evidence import SentMessage, model_totals, new_messages, sent_messages
from core.types import Attempt, Decision, ModelCall, RewardBreakdown, StateFacts, Timing, sum_known


def _decision(call: ModelCall | None) -> Decision:
    return Decision(
        0, "", (), (), (), StateFacts(), RewardBreakdown("consistent", 1), (), (), Timing(0, 0, (), 0), call
    )


def _call(
    latency_ms: float, *, error: str | None = None, earlier: tuple[ModelCall, ...] = (), **known: float
) -> ModelCall:
    return ModelCall("host", "m", {}, "", latency_ms=latency_ms, error_kind=error, earlier=earlier, **known)  # pyright: ignore[reportArgumentType]


def test_an_episode_without_model_calls_has_no_totals():
    assert model_totals([_decision(None)]) is None


def test_retried_calls_count():
    bad = _call(100, error="no_tool_call", tokens_in=10, tokens_out=1)
    totals = model_totals(
        [_decision(_call(300, earlier=(bad, bad), tokens_in=20, cost_usd=0.5)), _decision(_call(200))]
    )
    assert totals is not None
    assert (totals.calls, totals.tokens_in, totals.tokens_out, totals.tokens_cached) == (4, 40, 2, None)
    assert (totals.cost_usd, totals.unpriced) == (0.5, 3)
    assert totals.errors == {"no_tool_call": 2}
    assert (totals.p50_ms, totals.p90_ms) == (200, 300)


def test_waited_ms_is_the_time_between_attempts():
    call = ModelCall("h", "m", {}, "", attempts=(Attempt(0, 50, 429), Attempt(1050, 30, 429), Attempt(1500, 10, 200)))
    assert call.waited_ms == pytest.approx(1000 + 420)


def test_a_sum_without_known_values_is_none():
    assert sum_known([]) is None and sum_known([None, None]) is None
    assert sum_known([0, None]) == 0 and sum_known([0.25, None, 0.5]) == 0.75


def test_messages_are_read_from_the_request():
    call = {"id": "c1", "type": "function", "function": {"name": "interact", "arguments": '{"actions": []}'}}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    messages = [
        {"role": "system", "content": "rules"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
        {"role": "user", "content": [{"type": "text", "text": "look"}, picture]},
    ]
    system, assistant, tool, user = sent_messages({"messages": messages})
    assert system == SentMessage("system", "rules")
    assert assistant.tool_calls == (("interact", '{"actions": []}'),) and assistant.text == ""
    assert (tool.text, tool.answers) == ("done", "c1")
    assert (user.text, user.pictures) == ("look", ("data:image/png;base64,AAAA",))


@pytest.mark.parametrize("request_", [{}, {"messages": None}, {"messages": "x"}])
def test_a_request_without_messages_has_none(request_: dict[str, object]):
    assert sent_messages(request_) == ()


def test_unknown_parts_of_messages_are_shown_as_json():
    odd, part, call = sent_messages(
        {"messages": [7, {"role": "user", "content": [{"type": "sound"}]}, {"role": 1, "tool_calls": ["x"]}]}
    )
    assert odd.other == "7" and part.other == '{"type": "sound"}' and (call.role, call.other) == ("1", '"x"')


def test_new_messages_are_found_although_the_window_moved():
    rules, one, two, done = (SentMessage("system", "rules"), *(SentMessage("user", text) for text in ("1", "2", "ok")))
    before = (rules, one, done, two)
    now = (rules, two, done, SentMessage("user", "3"))
    assert new_messages(now, before) == (False, False, True, True)
    assert new_messages(now, ()) == (True, True, True, True)


def test_a_message_that_lost_its_picture_is_not_new():
    before = (SentMessage("user", "look", pictures=("data:image/png;base64,AAAA",)),)
    assert new_messages((SentMessage("user", "look"),), before) == (False,)


def test_a_message_that_lost_its_observation_is_not_new():
    before = (SentMessage("user", "Play.\n\nYou see a tree."),)
    now = (
        SentMessage("user", "Play."),
        SentMessage("assistant", "I walk."),
        SentMessage("user", "Executed.\n\nA cow."),
    )
    assert new_messages(now, before) == (False, True, True)
    assert new_messages((SentMessage("user", "Play. You see"),), before) == (True,)
