"""The "Tool call" tab: the observation, the policy's calls, and which of their actions were executed.

Names, arguments and reasoning come from a model: shown as text, never as Markdown or HTML.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal

import streamlit as st

from core.env.rules import ACTIONS
from core.types import Decision, Step, ToolCall
from pages.components.player.cursor import Cursor
from pages.components.shared.long_text import show_long_data, show_long_text
from pages.components.shared.problem import LONG, LONG_TEXT_PX, show_problem, show_scrolled_text
from pages.components.text.escape import safe_text
from pages.components.text.format import name_text, signed
from pages.components.text.model_text import INSTEAD, invalid_answer_text, is_replacement, warning_text


def show_tool_calls(decision: Decision, cursor: Cursor) -> None:
    if decision.error is not None:
        show_problem("This decision failed", _kind_of(decision), decision.error.detail, decision.error.where)
    if decision.warning:
        show_problem("Warning", "", _warning_of(decision), colour="orange")
    sent = sum(not is_replacement(call) for call in decision.tool_calls)
    if not sent:
        st.text("The policy made no tool call." if decision.model_call is None else "The model made no tool call.")
        if decision.actions and not decision.tool_calls:
            st.text(f"Executed: {', '.join(map(name_text, decision.actions))}.")
    done = number_of_call = 0
    for call in decision.tool_calls:
        executed = decision.steps[done : done + len(call.actions)]
        done += len(call.actions)
        if is_replacement(call):
            _show_replacement(call, executed, cursor)
            continue
        number_of_call += 1
        _show_call(call, executed, cursor, _title(call, number_of_call, sent))
    with st.expander("As stored"):
        show_long_data([asdict(call) for call in decision.tool_calls], key=f"calls-{decision.index}", name="calls")
    with st.expander("Observation"):
        observation = decision.observation or "(nothing)"
        show_long_text(observation, key=f"observation-{decision.index}", name="observation")


def _kind_of(decision: Decision) -> str:
    """The kind of error in words; an unknown kind, such as an exception's name, unchanged."""
    call = decision.model_call
    kind = decision.error.kind if decision.error else ""
    return invalid_answer_text(call) if call and call.error_kind == kind else warning_text(kind)


def _warning_of(decision: Decision) -> str:
    call = decision.model_call
    warning = decision.warning or ""
    if call and call.error_kind == warning:
        return f"Invalid answer: {invalid_answer_text(call)}."
    return warning_text(warning)


def _show_replacement(call: ToolCall, executed: tuple[Step, ...], cursor: Cursor) -> None:
    """The action that the policy took in place of an invalid call; the model did not send it."""
    st.caption("Replacement action")
    _show_actions(call, executed, cursor)
    st.text(INSTEAD)


def _title(call: ToolCall, number_of_call: int, calls: int) -> str:
    if calls == 1:
        return ""
    return f"Call {number_of_call} of {calls}" + (f", id {safe_text(call.call_id, 60)}" if call.call_id else "")


def _show_call(call: ToolCall, executed: tuple[Step, ...], cursor: Cursor, title: str) -> None:
    if title:
        st.text(title)
    if call.reasoning:
        st.caption("Reasoning")
        with st.container(border=True):
            show_scrolled_text(call.reasoning)
    st.caption("Actions, in order")
    _show_actions(call, executed, cursor)
    st.caption("As sent by the policy")
    called = safe_text(f"{call.name}({call.arguments})")
    is_long = len(called) > LONG
    st.code(called, language="json", wrap_lines=True, height=LONG_TEXT_PX if is_long else "content")


def _show_actions(call: ToolCall, executed: tuple[Step, ...], cursor: Cursor) -> None:
    if not call.actions and not call.dropped:
        st.text("The call contains no action.")
        return
    with st.container(horizontal=True, gap="small"):
        for step in executed:
            paid = f"  {signed(step.env_reward)}" if step.env_reward else ""
            mark, colour, when = _played(step, cursor)
            st.badge(
                f"{mark} {_known(step.action)}{paid}",
                color=colour,
                help=f"Step {step.index + 1:,}, {when}. Environment reward: {signed(step.env_reward)}",
            )
        for action in call.actions[len(executed) :]:
            st.badge(
                f"✕ {_known(action)}",
                color="orange",
                help="Valid, but not executed: the episode ended or a limit was reached first",
            )
    if len(call.actions) > len(executed):
        rest = safe_text(", ".join(call.actions[len(executed) :]), 500)
        st.text(f"✕ not executed: {rest} (the episode ended or a limit was reached)")
    for dropped in call.dropped:
        st.text(f"✕ dropped: {safe_text(dropped.name, 200)} ({safe_text(dropped.reason, 500)})")


def _played(step: Step, cursor: Cursor) -> tuple[str, Literal["green", "gray"], str]:
    """Mark, colour and tooltip of a step, by whether it came before the frame shown."""
    if cursor.step is None or step.index > cursor.step:
        return "·", "gray", "executed after this frame"
    if step.index == cursor.step:
        return "▶", "green", "just executed, led to this frame"
    return "✓", "gray", "executed before this frame"


def _known(action: str) -> str:
    """Labels are Markdown, so only Crafter's own names may appear in them."""
    return name_text(action) if action in ACTIONS else "(unknown action)"
