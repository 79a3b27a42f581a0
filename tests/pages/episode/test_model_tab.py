"""The Model tab and the header of a model's episode. Text of a model is never read as Markdown."""

from __future__ import annotations

import base64
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from core.settings import load_settings
from core.store import TraceStore
from core.store.episodes import Episodes
from core.types import Attempt, Decision
from pages.components.episode.messages_panel import picture_of
from pages.components.text.model_text import attempts_text, error_counts_text, usd
from tests.support import pages
from tests.support.model.episodes import EPISODE, HOSTILE, RUN, record, says_nothing_to_do, thinks
from tests.support.model.server import Reply, says
from tests.support.pages import captions, codes, metrics, texts
from tests.support.records import make_run, record_episode

CODES = "\x1b[31mred\x1b[0m\x1b]0;title\x07 \x9b2J back\x08 over\rwritten \u202egnp.exe\x7f"
SEEN = r"\x1b[31mred\x1b[0m\x1b]0;title\x07 \x9b2J back\x08 over\rwritten \u202egnp.exe\x7f"
_ACTED_ON = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def played(*replies: Reply, **params: Any) -> None:
    with TraceStore.from_settings(load_settings()) as store:
        record(store, replies, **params)


def opened(tab: str = "Model", step: int = 3) -> AppTest:
    """By default at a step of the second decision."""
    return pages.opened("episode", state={"tab": tab}, id=EPISODE, step=str(step))


def opened_at(decision: int, tab: str = "Model") -> AppTest:
    """At a decision, even one without a step."""
    with TraceStore.from_settings(load_settings()) as store:
        frame = store.episodes.decisions(EPISODE)[decision].step_end
    at = opened(tab, step=frame)
    at.number_input(key=f"decision-{EPISODE}").set_value(decision)
    return pages.checked(at.button(key=f"go-{EPISODE}").click().run())


def tabs(at: AppTest) -> list[str]:
    return [tab.label for tab in at.tabs]


def expanders(at: AppTest) -> list[str]:
    return [expander.label for expander in at.expander]


def test_the_tab_shows_the_request_and_the_answer(data_dir: Path):
    played(
        says(
            thinks(
                "move_left",
                "fly",
                content="Here I go.",
                prompt_tokens_details={"cached_tokens": 40},
                completion_tokens_details={"reasoning_tokens": 7},
            ),
            x_request_id="req_7",
            x_ratelimit_remaining_requests="59",
        )
    )
    at = opened()
    assert tabs(at).count("Model") == 1
    shown = metrics(at)
    assert (shown["Input"], shown["Cached"], shown["Output"], shown["Reasoning"]) == ("100", "40", "20", "7")
    assert shown["Cost"] == "n/a" and shown["Latency"].endswith("ms")
    facts = next(text for text in texts(at) if text.startswith("tiny-model at 127.0.0.1:"))
    assert "HTTP 200" in facts and "finish reason tool_calls" in facts and "request id req_7" in facts
    assert "The thinking before it." in codes(at) and "Here I go." in codes(at)
    assert any(code.startswith('interact({"actions": ["move_left", "fly"]') for code in codes(at))
    assert "move left" in texts(at)
    assert any(text.startswith("✕ dropped: fly (") for text in texts(at))
    assert any("x-ratelimit-remaining-requests: 59" in code for code in codes(at))
    assert any(text.startswith("1. HTTP 200 after ") for text in texts(at))
    assert "HTTP: 1 attempt" in expanders(at)


def test_a_refused_field_and_the_servers_cost_are_shown(data_dir: Path):
    refusal = {"error": {"message": "Unsupported parameter: 'max_tokens'. <b>Use</b> another.", "param": "max_tokens"}}
    played(says(refusal, 400), says({**thinks("noop"), "usage": {"cost": 0.25}}), decisions=1)
    shown = texts(opened(step=1))
    assert any(
        text.startswith('max_tokens is sent as max_completion_tokens: the server refuses it (HTTP 400: "Unsupported')
        and "<b>Use</b>" in text
        for text in shown
    )
    assert any("cost by the server 0.250 USD" in text for text in shown)


def test_only_new_messages_are_unfolded(data_dir: Path):
    played()
    first = opened(step=1)
    assert "2 messages, the first request of this episode" in captions(first)
    second = opened(step=3)
    # The rules and the opening were sent before; the answer, and its result with the next observation, were not.
    assert "4 messages, 2 new since the previous call" in captions(second)
    assert "2 sent before: 1 system, 1 user" in expanders(second)


def test_messages_are_compared_with_the_previous_call_of_any_decision(data_dir: Path):
    with TraceStore.from_settings(load_settings()) as store:
        store.runs.create(make_run(RUN, [EPISODE]))
        record_episode(store, EPISODE, 6)  # every other decision asks a model, the second one first
    assert "No model was called for this decision." in texts(opened_at(0))
    first = captions(opened_at(1))
    assert "2 messages, the first request of this episode (no earlier decision called a model)" in first
    second = captions(opened_at(3))
    assert "4 messages, 2 new since the previous call (decision 1)" in second
    assert "first request" not in second


def test_invalid_answers_before_a_retry_are_shown(data_dir: Path):
    good = says(thinks("move_left", "do"))
    played(good, says(says_nothing_to_do()), good, on_bad_call="retry", ask_again=2)
    at = opened()
    assert "Answer 1: no tool call" in expanders(at)
    assert "1 invalid answer before the last one" in captions(at)
    assert any(text.startswith("The answer") and "no tool call" in text for text in texts(at))
    assert HOSTILE in codes(at)
    head = next(caption.value for caption in at.caption if caption.value.startswith("Model:"))
    assert "Model: **4 calls** · tokens **" in head and " · cost **n/a** · latency p50 **" in head
    assert head.endswith("errors: **1 no tool call**")


def test_an_invalid_call_is_explained(data_dir: Path):
    played(says(says_nothing_to_do()))
    at = opened(step=0)
    assert "no tool call" in texts(at)
    assert any("may not be able to call tools" in text for text in texts(at))
    assert "The model made no tool call." in texts(at)
    assert metrics(at)["Input"] == "n/a"


def test_http_attempts_and_waits_are_shown_and_timed(data_dir: Path):
    busy = says({"error": {"message": "slow down"}}, status=429, Retry_After="0.3")
    good = says(thinks("move_left", "do"))
    played(good, busy, good)
    at = opened()
    assert any(text.startswith("1. HTTP 429 after ") and "then waited" in text for text in texts(at))
    assert any(label.startswith("HTTP: 2 attempts, ") for label in expanders(at))
    timing = next(text for text in texts(opened("Timing")) if text.startswith("Decision 1 took"))
    assert [part.split()[0] for part in timing.split(": ")[1].split(", ")] == [
        "inference",
        "waiting",
        "parsing",
        "environment",
        "overhead",
        "storing",
    ]
    assert float(timing.split("waiting ")[1].split(" ms")[0]) >= 250


def test_a_picture_is_shown(data_dir: Path):
    played(observe="both")
    at = opened()
    assert "288 × 288 pixels, PNG, " in captions(at) and at.get("image")


def test_a_pause_before_a_retry_counts_as_waiting(data_dir: Path):
    good, broken = says(thinks("move_left", "do")), says({"error": {"message": "broken"}}, status=500)
    played(good, broken, good, on_bad_call="retry", http_retries=0)
    assert any("HTTP 500" in text and "Then waited" in text for text in texts(opened()))
    with TraceStore.from_settings(load_settings()) as store:
        call = store.episodes.decision(EPISODE, 1).model_call
        assert call is not None and call.earlier[0].paused_ms > 0
        assert store.episodes.decisions(EPISODE)[1].waited_ms == pytest.approx(call.earlier[0].paused_ms)


def test_the_timing_of_all_decisions_is_read_without_a_payload(data_dir: Path, monkeypatch: pytest.MonkeyPatch):
    played()

    def refuse(self: Episodes, episode_id: str, index: int) -> Decision:
        raise AssertionError("the Timing tab read a whole decision")

    monkeypatch.setattr(Episodes, "decision", refuse)
    at = opened("Timing")
    assert any(text.startswith("Decision 1 took") for text in texts(at))
    assert len(at.get("plotly_chart")) == 2
    assert "not recorded" not in captions(at)


def test_unrecorded_waiting_and_parsing_are_reported(data_dir: Path):
    with TraceStore.from_settings(load_settings()) as store:
        store.runs.create(make_run(RUN, [EPISODE]))
        record_episode(store, EPISODE, 6)  # its calls have no parsing time
    at = opened_at(1, "Timing")
    assert any("parsing n/a" in text for text in texts(at))
    assert "n/a: not recorded, included in inference" in captions(at)


def test_terminal_codes_are_shown_as_text(data_dir: Path):
    body = thinks("noop", f"fly{CODES}", reasoning=CODES, content=CODES)
    body["choices"][0]["message"]["reasoning_content"] = CODES
    played(says({**body, "model": f"tiny{CODES}"}, x_request_id="req\x9b7"))
    everything: list[str] = []
    for tab in ("Model", "Tool call", "Reward"):
        at = opened(tab, step=2)
        everything += [str(element.value) for kind in (at.text, at.code, at.json, at.caption) for element in kind]
        assert not any(_ACTED_ON.search(text) for text in everything)
    assert SEEN in everything  # the reasoning and the content
    assert any(text.startswith(f"tiny{SEEN} at 127.0.0.1:") for text in everything)
    assert any(text.startswith(f"✕ dropped: fly{SEEN} (") for text in everything)
    (stored,) = [text for text in everything if '"dropped"' in text]
    assert SEEN in str(json.loads(stored)[0]["reasoning"])  # also in a tree of data
    sent = [json.loads(text) for text in everything if text.startswith('{"model"')]
    assert any(SEEN in str(message["content"]) for request in sent for message in request["messages"])


def test_text_of_a_model_is_never_read_as_markdown(data_dir: Path):
    body = thinks("noop", HOSTILE, reasoning=HOSTILE, content=HOSTILE)
    played(says({**body, "model": HOSTILE}, x_request_id="![](http://example.org/z.png)"))
    at = opened(step=2)
    assert HOSTILE in codes(at)
    for kind in (at.markdown, at.caption, at.title, at.subheader, at.metric, at.expander):
        for element in kind:
            assert "example.org" not in str(element.proto), element


def test_a_long_answer_is_cut_and_can_be_downloaded(data_dir: Path):
    played(says(thinks("move_left", "do", content="x" * 50_000)))
    at = opened()
    assert all(len(code) < 21_000 for code in codes(at))
    assert "The first 6,000 of 50,000 characters." in captions(at)
    assert any(button.proto.label == "Download all" for button in at.get("download_button"))


# --------------------------------------------------------------------------------------------------- texts


def test_small_amounts_of_dollars_have_more_digits():
    assert [usd(cost) for cost in (None, 0, 0.0000001, 0.000123, 0.0123, 0.5, 12.3)] == [
        "n/a",
        "0 USD",
        "< 0.00001 USD",
        "0.00012 USD",
        "0.0123 USD",
        "0.500 USD",
        "12.30 USD",
    ]


def test_attempts_are_listed_with_their_waits():
    lines = attempts_text((Attempt(0, 120, 429), Attempt(1_120, 30, error="ConnectError")))
    assert lines == ("1. HTTP 429 after 120 ms, then waited 1.0 s", "2. no answer (ConnectError) after 30.0 ms")


def test_error_kinds_are_counted_and_unknown_ones_unchanged():
    assert error_counts_text({"no_tool_call": 2, "some_thing": 1}) == "2 no tool call, 1 some thing"


def data_url(size: tuple[int, int], kind: str = "PNG") -> str:
    out = io.BytesIO()
    Image.new("RGB", size).save(out, kind)
    return f"data:image/{kind.lower()};base64,{base64.b64encode(out.getvalue()).decode()}"


def test_a_picture_of_a_data_url_is_read():
    picture, caption = picture_of(data_url((20, 10), "JPEG"))
    assert picture is not None and picture.size == (20, 10)
    assert caption.startswith("20 × 10 pixels, JPEG, ")


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://example.org/x.png", "not fetched"),
        ("data:text/html;base64,AAAA", "not fetched"),
        ("data:image/png;base64,????", "invalid data"),
        ("data:image/svg+xml;base64,PHN2Zy8+", "invalid data"),
        (data_url((3_000, 3_000)), "too large"),
        ("data:image/png;base64," + "A" * 9_000_000, "too large"),
    ],
    ids=["url", "html", "no base64", "svg", "many pixels", "many characters"],
)
def test_an_invalid_picture_is_explained(url: str, says: str):
    picture, reason = picture_of(url)
    assert picture is None and says in reason


def cut_call(finish_reason: str) -> Reply:
    body = thinks("do")
    (choice,) = body["choices"]
    choice["finish_reason"] = finish_reason
    choice["message"]["tool_calls"][0]["function"]["arguments"] = '{"actions_list": ["do",'
    return says(body)


def test_a_cut_call_blames_the_token_limit_only_if_the_server_says_so(data_dir: Path):
    played(cut_call("tool_calls"), cut_call("length"), on_bad_call="noop", decisions=2)
    finished = opened_at(0)
    assert "incomplete call" in texts(finished)
    assert any("look at the server's tool-call parser" in text for text in texts(finished))
    assert not any("limit of output tokens" in text for text in texts(finished))
    cut = opened_at(1)
    assert "cut off by the token limit" in texts(cut)
    assert any("raise the limit of output tokens" in text for text in texts(cut))


def test_a_replacement_action_is_not_a_second_call(data_dir: Path):
    played(cut_call("tool_calls"), on_bad_call="noop", decisions=1)
    at = opened(step=1)
    assert "Raw tool call" in captions(at) and "Raw tool call 1 of 2" not in captions(at)
    assert "Replacement action" in captions(at)
    assert any(text.startswith("noop. The answer was invalid, so the policy did nothing") for text in texts(at))
    at = opened("Tool call", step=1)
    assert "Replacement action" in captions(at)
    assert not any(text.startswith("Call 1 of 2") for text in texts(at))
    assert "Invalid answer: incomplete call." in texts(at)
    assert not any("(truncated)" in text or text == "truncated" for text in texts(at))


def test_a_scripted_episode_has_no_model_tab_and_ignores_a_link_to_it(recorded: TraceStore):
    at = pages.opened("episode", id="1" * 32, tab="Model")
    assert "Model" not in tabs(at) and "Timing" in tabs(at)
    assert "Model:" not in captions(at)
