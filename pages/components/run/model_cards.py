"""Runs of the language-model policy: what was spent, and each episode's last decision."""

from __future__ import annotations

import streamlit as st

from core.store import EpisodeSummary, TraceStore
from core.types import Budget, Decision, Spent
from pages.components.launch.estimate import budget_text
from pages.components.shared.state import store
from pages.components.text.escape import one_line
from pages.components.text.format import name_text, number
from pages.components.text.model_text import invalid_answer_text, reasoning_of, tokens, usd, usd_figure

_MAX_REASONING_LENGTH = 280
# Fixed heights, so that cards do not jump at each decision.
_STYLE = """
<style>
[class*="st-key-last-reasoning-"] { min-height: 4.2rem; max-height: 4.2rem; overflow: hidden; }
[class*="st-key-last-reasoning-"] [data-testid="stText"] { line-height: 1.4rem; }
[class*="st-key-last-action-"] [data-testid="stText"] { overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; }
</style>
"""
_MAX_ACTIONS_LENGTH = 120


def calls_model(row: EpisodeSummary) -> bool:
    return row.spec.policy.name == "llm"


def show_spent(run_id: str) -> None:
    """Sums over the run's model calls, and its budget."""
    st.html(_STYLE)
    spent = store().runs.spent(run_id)
    budget = Budget(**store().runs.get(run_id).config.get("budget", {}))  # runs of older versions have none
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="run-spent"):
        cost = usd(spent.cost_usd) if spent.cost_usd else "cost n/a"  # a sum of 0 may mean an unknown price
        text = f"Model calls: {number(spent.calls)} · {number(spent.tokens or 0)} tokens · {cost}"
        if not budget.is_open:
            text += f" · budget: {budget_text(budget)}"
        st.text(text, width="content")
        if budget.is_spent(spent):
            st.badge(
                "budget used up",
                color="orange",
                help="Episodes of this run end before their next decision. Everything before it is stored.",
            )


def spent_on(rows: list[EpisodeSummary]) -> dict[str, Spent]:
    """By episode id, in one query; only for episodes that call a model."""
    ids = [row.id for row in rows if calls_model(row)]
    found = store().episodes.spent(ids) if ids else {}
    return {id_: found.get(id_, Spent()) for id_ in ids}


def spent_figures(spent: Spent) -> tuple[tuple[str, str], ...]:
    """(label, value) pairs of an episode's model calls so far."""
    counted = tokens(spent.tokens) if spent.calls else number(0)
    return (("Model calls", number(spent.calls)), ("Tokens", counted), ("Cost, USD", usd_figure(spent.cost_usd)))


def show_last_decision(row: EpisodeSummary) -> None:
    """The last decision: reasoning (cut), actions, tokens and cost."""
    decision = _decision(store(), store().url, row.id, row.n_decisions - 1) if row.n_decisions else None
    if decision is None:
        title, reasoning, outcome = "No decision yet", "", ""
    else:
        title = f"Decision {number(decision.index)}{_usage(decision)}"
        reasoning = one_line(_reasoning(decision), _MAX_REASONING_LENGTH) or "(no reasoning)"
        actions = ", ".join(map(name_text, decision.actions)) or "no action executed"
        outcome = f"→ {one_line(actions, _MAX_ACTIONS_LENGTH)}{_problem(decision)}"
    with st.container(gap="xxsmall"):
        st.caption(title)
        with st.container(key=f"last-reasoning-{row.id}"):
            st.text(reasoning)
        with st.container(key=f"last-action-{row.id}"):
            st.text(outcome)


def _usage(decision: Decision) -> str:
    call = decision.model_call
    if call is None:
        return ""
    if call.tokens_in is None and call.tokens_out is None:
        return " · tokens n/a"
    cost = "" if call.cost_usd is None else f" · {usd(call.cost_usd)}"
    return f" · {tokens(call.tokens_in)} tokens in, {tokens(call.tokens_out)} out{cost}"


def _reasoning(decision: Decision) -> str:
    reasoning = " ".join(reason for call in decision.tool_calls if (reason := reasoning_of(call)))
    call = decision.model_call
    return reasoning or (call.reasoning or call.content if call else "")


def _problem(decision: Decision) -> str:
    call = decision.model_call
    return f" ({invalid_answer_text(call)})" if call and call.error_kind else ""


@st.cache_data(max_entries=64, show_spinner=False)
def _decision(_store: TraceStore, url: str, episode_id: str, index: int) -> Decision:
    return _store.episodes.decision(episode_id, index)
