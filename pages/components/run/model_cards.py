"""A run of the language-model policy while it is played: what it has come to, and each episode's last decision."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.errors import UnknownEpisode
from core.store import EpisodeSpent, EpisodeSummary, TraceStore
from core.types import Budget, Decision, Spent
from pages.components.launch.estimate import budget_in_words
from pages.components.shared.state import store
from pages.components.text.escape import one_line
from pages.components.text.format import number
from pages.components.text.model_text import problem_in_words, reasoning_of, tokens, usd, usd_figure

_MAX_OF_REASONING = 280
# Of one height, so that cards do not jump at each decision.
_STYLE = """
<style>
[class*="st-key-last-reasoning-"] { min-height: 4.2rem; max-height: 4.2rem; overflow: hidden; }
[class*="st-key-last-reasoning-"] [data-testid="stText"] { line-height: 1.4rem; }
[class*="st-key-last-action-"] [data-testid="stText"] { overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; }
</style>
"""
_MAX_OF_ACTIONS = 120


def is_of_a_model(row: EpisodeSummary) -> bool:
    """Whether its policy asks a language model."""
    return row.spec.policy.name == "llm"


def show_spent(run_id: str) -> None:
    """What the model calls of the run have come to, beside its budget; and whether that is used up."""
    st.html(_STYLE)
    spent = store().runs.spent(run_id)
    budget = _budget_of(store().runs.get(run_id).config)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="run-spent"):
        said = f"Model calls so far: {number(spent.calls)} · {number(spent.tokens)} tokens · {_cost(spent)}"
        if not budget.is_open:
            said += f" · budget: {budget_in_words(budget)}"
        st.text(said, width="content")
        if budget.is_spent(spent):
            st.badge(
                "budget used up",
                color="orange",
                help="Episodes of this run end before their next decision and keep what they have.",
            )


def spent_on(rows: list[EpisodeSummary]) -> dict[str, EpisodeSpent]:
    """What each of these episodes has spent on model calls so far, by its id; those of other policies are left out.

    One query for all of them.
    """
    of_models = [row.id for row in rows if is_of_a_model(row)]
    found = store().episodes.spent(of_models) if of_models else {}
    return {id_: found.get(id_, EpisodeSpent()) for id_ in of_models}  # one may have been deleted since


def spent_figures(spent: EpisodeSpent) -> tuple[tuple[str, str], ...]:
    """Label and value of what an episode's calls have come to so far."""
    counted = tokens(spent.tokens) if spent.calls else number(0)
    return (("Model calls", number(spent.calls)), ("Tokens", counted), ("Cost, USD", usd_figure(spent.cost_usd)))


def show_last_decision(row: EpisodeSummary) -> None:
    """What the model decided last: its reasoning, cut, the actions, and what the call came to."""
    decision = _decision(store(), store().url, row.id, row.n_decisions - 1) if row.n_decisions else None
    if decision is None:
        title, reasoning, outcome = "No decision yet", "", ""
    else:
        title = f"Decision {number(decision.index)}{_came_to(decision)}"
        reasoning = one_line(_reasoning(decision), _MAX_OF_REASONING) or "(no reasoning)"
        actions = ", ".join(decision.actions) or "nothing was executed"
        outcome = f"→ {one_line(actions, _MAX_OF_ACTIONS)}{_problem(decision)}"
    with st.container(gap="xxsmall"):
        st.caption(title)
        with st.container(key=f"last-reasoning-{row.id}"):
            st.text(reasoning)
        with st.container(key=f"last-action-{row.id}"):
            st.text(outcome)


def _came_to(decision: Decision) -> str:
    call = decision.model_call
    if call is None:
        return ""
    if call.tokens_in is None and call.tokens_out is None:
        return " · tokens n/a"
    cost = "" if call.cost_usd is None else f" · {usd(call.cost_usd)}"
    return f" · {tokens(call.tokens_in)} tokens in, {tokens(call.tokens_out)} out{cost}"


def _reasoning(decision: Decision) -> str:
    said = " ".join(reason for call in decision.tool_calls if (reason := reasoning_of(call)))
    call = decision.model_call
    return said or (call.reasoning or call.content if call else "")


def _problem(decision: Decision) -> str:
    call = decision.model_call
    return f" ({problem_in_words(call)})" if call and call.error_kind else ""


@st.cache_data(max_entries=64, show_spinner=False)
def _decision(_store: TraceStore, url: str, episode_id: str, index: int) -> Decision | None:
    """None where it was deleted since its row was read; the next drawing does without it."""
    try:
        return _store.episodes.decision(episode_id, index)
    except UnknownEpisode:
        return None


def _cost(spent: Spent) -> str:
    """The sum leaves out calls without a price, so that 0 says nothing."""
    return usd(spent.cost_usd) if spent.cost_usd else "cost n/a"


def _budget_of(config: dict[str, Any]) -> Budget:
    """Runs from elsewhere may have none, or another shape."""
    given = config.get("budget")
    if not isinstance(given, dict):
        return Budget()
    parts = {name: given.get(name) for name in ("max_calls", "max_tokens", "max_cost_usd")}
    if not all(part is None or isinstance(part, int | float) for part in parts.values()):
        return Budget()
    return Budget(**parts)  # pyright: ignore[reportArgumentType]
