"""The "Model" tab: the request of this decision's model call, its answer, cost and HTTP attempts.

Everything but the numbers comes from a model or its server: it is shown as text or code, never as Markdown or HTML.
"""

from __future__ import annotations

import streamlit as st

from core.text import plural
from core.types import Decision, ModelCall, ToolCall
from pages.components.episode.messages_panel import show_messages
from pages.components.shared.long_text import show_long_data, show_long_text
from pages.components.shared.problem import show_problem
from pages.components.text.escape import escape, one_line
from pages.components.text.format import ms, name_text, number
from pages.components.text.model_text import (
    INSTEAD,
    attempts_text,
    cost_note,
    invalid_answer_text,
    is_replacement,
    left_out_text,
    tokens,
    usd,
)

_MAX_NAME_LENGTH = 120
_STYLE = """
<style>
.st-key-model-figures { padding: 0.15rem 0.9rem 0.3rem; }
.st-key-model-figures [data-testid="stMetricValue"] { font-size: 1rem; line-height: 1.35; }
.st-key-model-figures [data-testid="stMetricLabel"] { height: 1.4rem; min-height: 0; opacity: 0.75; }
.st-key-model-figures [data-testid="stMetricLabel"] p { font-size: 0.8rem; line-height: 1.4rem; }
[class*="st-key-model-"][class*="-sent-message-"] [data-testid="stText"] { font-size: 0.85rem; opacity: 0.75; }
@media (max-width: 1299px) { /* all six do not fit in a row */
  .st-key-model-figures [data-testid="stHorizontalBlock"] { flex-wrap: wrap; row-gap: 0; }
  .st-key-model-figures [data-testid="stColumn"] { flex: 1 1 28%; min-width: 28%; }
}
</style>
"""


def show_model(decision: Decision, before: Decision | None, key: str) -> None:
    """before: the newest earlier decision that called a model."""
    call = decision.model_call
    if call is None:
        st.text("No model was called for this decision.")
        return
    st.html(_STYLE)
    with st.container(key="model-tab", gap="xsmall"):
        _show_call(decision, call, before, key)


def _show_call(decision: Decision, call: ModelCall, before: Decision | None, key: str) -> None:
    if call.error_kind is not None:
        show_problem(
            "Invalid answer",
            invalid_answer_text(call),
            call.error_detail,
            colour="orange" if decision.steps else "red",
        )
    _show_figures(call)
    st.text(_facts(call))
    if agent := _agents_numbers(decision):
        st.text(agent)
    for field in call.left_out:
        st.text(left_out_text(field))
    _show_earlier(call, key)
    _heading("Answer")
    _show_answer(call, key)
    _show_tool_calls(decision.tool_calls, key)
    _heading("Request")
    show_messages(call, decision.index, before, f"{key}-sent")
    _show_exchange(call)
    with st.expander(f"Raw response, {number(len(call.response_text))} characters", key=f"{key}-response"):
        show_long_text(call.response_text or "(nothing)", key=f"{key}-body", name="response", language="json")
    with st.expander("Raw request", key=f"{key}-request"):
        show_long_data(call.request, key=f"{key}-request-file", name="request")


def _heading(words: str) -> None:
    """words: our own text, as it is read as Markdown."""
    st.space("xxsmall")
    st.markdown(f"**{words}**")


def _show_figures(call: ModelCall) -> None:
    figures = [
        ("Latency", ms(call.latency_ms), "The whole call, with all HTTP attempts and the waits between them"),
        ("Input", tokens(call.tokens_in), "Input tokens, as counted by the server"),
        ("Cached", tokens(call.tokens_cached), "Input tokens read from the server's cache"),
        ("Output", tokens(call.tokens_out), "Output tokens, as counted by the server"),
        ("Reasoning", tokens(call.tokens_reasoning), "Output tokens spent on reasoning"),
        ("Cost", usd(call.cost_usd), escape(cost_note(call))),
    ]
    widths = [1, 1, 1, 1, 1.15, 1.3]
    with st.container(border=True, key="model-figures"):
        for column, (label, value, meaning) in zip(st.columns(widths), figures, strict=True):
            column.metric(label, value, help=meaning)


def _agents_numbers(decision: Decision) -> str:
    """The log-probability of the answer and the value estimate, where they were recorded."""
    n_tokens = len(decision.model_call.token_logprobs) if decision.model_call else 0
    over = f" over {plural(n_tokens, 'token')}" if n_tokens else ""
    parts = [
        *([f"log-probability {decision.logprob:.4g}{over}"] if decision.logprob is not None else ()),
        *([f"value {decision.value:.4g}"] if decision.value is not None else ()),
    ]
    return " · ".join(parts)


def _facts(call: ModelCall) -> str:
    parts = [f"{one_line(call.model, _MAX_NAME_LENGTH)} at {one_line(call.provider, _MAX_NAME_LENGTH)}"]
    if call.profile:
        parts.append(f"profile {one_line(call.profile, _MAX_NAME_LENGTH)}")
    parts.append("no HTTP answer" if call.status is None else f"HTTP {call.status}")
    if call.finish_reason:
        parts.append(f"finish reason {one_line(call.finish_reason, _MAX_NAME_LENGTH)}")
    if call.server_cost_usd is not None:
        parts.append(f"cost by the server {usd(call.server_cost_usd)}")
    if call.request_id:
        parts.append(f"request id {one_line(call.request_id, _MAX_NAME_LENGTH)}")
    return " · ".join(parts)


def _show_earlier(call: ModelCall, key: str) -> None:
    if not call.earlier:
        return
    _heading("Retries")
    st.caption(f"{plural(len(call.earlier), 'invalid answer')} before the last one, which the rest of this tab shows")
    for at, bad in enumerate(call.earlier):
        label = f"Answer {at + 1}: {escape(invalid_answer_text(bad) or 'unknown')}"
        with st.expander(label, key=f"{key}-earlier-{at}"):
            if bad.error_detail:
                st.text(one_line(bad.error_detail, 2_000))
            used = f"{tokens(bad.tokens_in)} tokens in, {tokens(bad.tokens_out)} out, {usd(bad.cost_usd)}"
            st.text(f"{_facts(bad)} · {ms(bad.latency_ms)} · {used}")
            if len(bad.attempts) > 1 or bad.paused_ms:
                st.text(_attempts_text(bad))
            _show_answer(bad, f"{key}-earlier-{at}")
            st.caption("Raw response")
            show_long_text(
                bad.response_text or "(nothing)", key=f"{key}-earlier-body-{at}", name=f"response-{at}", language="json"
            )


def _show_answer(call: ModelCall, key: str) -> None:
    if call.reasoning:
        st.caption("Reasoning")
        show_long_text(call.reasoning, key=f"{key}-reasoning", name="reasoning")
    if call.content:
        st.caption("Content")
        show_long_text(call.content, key=f"{key}-content", name="content")
    if not call.reasoning and not call.content:
        st.caption("No text beside the tool call")


def _show_tool_calls(calls: tuple[ToolCall, ...], key: str) -> None:
    sent = [call for call in calls if not is_replacement(call)]
    if not sent:
        st.text("The model made no tool call.")
    for at, call in enumerate(sent):
        st.caption("Raw tool call" if len(sent) == 1 else f"Raw tool call {at + 1} of {len(sent)}")
        called = f"{call.name}({call.arguments})"
        show_long_text(called, key=f"{key}-tool-{at}", name=f"call-{at}", language="json")
        st.caption("Parsed actions")
        st.text(_actions(call) or "no valid action")
        for dropped in call.dropped:
            st.text(f"✕ dropped: {one_line(dropped.name, _MAX_NAME_LENGTH)} ({one_line(dropped.reason, 500)})")
    for call in calls:
        if is_replacement(call):
            st.caption("Replacement action")
            st.text(f"{_actions(call)}. {INSTEAD}")


def _actions(call: ToolCall) -> str:
    return ", ".join(name_text(one_line(action, _MAX_NAME_LENGTH)) for action in call.actions)


def _show_exchange(call: ModelCall) -> None:
    """The HTTP attempts; open if there was more than one."""
    if not call.attempts and not call.headers and not call.paused_ms:
        return
    label = f"HTTP: {plural(len(call.attempts), 'attempt')}"
    if call.waited_ms:
        label += f", waited {ms(call.waited_ms)}"
    with st.expander(label, expanded=len(call.attempts) > 1):
        st.text(_attempts_text(call))
        if call.headers:
            st.caption("Response headers about rate limits and timing")
            lines = (f"{one_line(name, 80)}: {one_line(value, 300)}" for name, value in sorted(call.headers.items()))
            st.code("\n".join(lines), language=None, wrap_lines=True)


def _attempts_text(call: ModelCall) -> str:
    """A line for each HTTP attempt, and one for the wait after the last, if any."""
    after = f"Then waited {ms(call.paused_ms)}" if call.paused_ms else ""
    return "\n".join(filter(None, (*attempts_text(call.attempts), after)))
