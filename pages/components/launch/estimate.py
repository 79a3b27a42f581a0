"""Estimates before a launch: calls, tokens and cost of a language model, and the duration of any run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.errors import InvalidConfig
from core.params import read_params
from core.plan import LaunchPlan
from core.policies.llm import CostEstimate, LlmParams, estimate
from core.policies.llm.estimate import ANSWER_TOKENS, PRICE_VERSION
from core.store import EpisodeSummary
from core.text import plural
from core.types import Budget
from pages.components.text.escape import escape
from pages.components.text.format import number
from pages.components.text.model_text import left_out_text, usd

MIN_STEPS = 20  # in a shorter episode, generating the world takes most of the time
_BASIS = (
    "Calls: episodes times decisions. Tokens: a quarter of the characters of the system prompt, the tool, a typical "
    f"observation and the remembered decisions, plus {ANSWER_TOKENS} per answer; a reasoning model writes more. Lower "
    "prices for cached tokens are not considered."
)


def estimate_of(plan: LaunchPlan, episodes: int) -> tuple[CostEstimate, LlmParams] | None:
    """The estimate and its parameters; None for other policies or invalid parameters."""
    if plan.policy.name != "llm":
        return None
    try:
        params = read_params(LlmParams, plan.policy.params, 'policy "llm"')
    except InvalidConfig:  # shown beside the form
        return None
    return estimate(
        params, episodes=episodes, decisions=plan.limits.max_decisions, max_actions=plan.max_actions_per_call
    ), params


def estimate_rows(estimated: Sequence[tuple[LaunchPlan, CostEstimate]]) -> list[tuple[str, str]]:
    """(label, value) pairs for all runs that ask a model, each limited by its budget."""
    shares = [(plan, found, share_of_budget(plan.budget, found)) for plan, found in estimated]
    calls = sum(max(1, round(found.calls * share)) for _, found, share in shares)
    by_calls = all(share == 1 or round(found.calls * share) == plan.budget.max_calls for plan, found, share in shares)
    is_limited = any(share < 1 for _, _, share in shares)
    costs = [None if found.cost_usd is None else found.cost_usd * share for _, found, share in shares]
    known = [cost for cost in costs if cost is not None]
    tokens_in, tokens_out = (
        sum(getattr(found, name) * share for _, found, share in shares) for name in ("tokens_in", "tokens_out")
    )
    rows = [
        (
            "Model calls, at most" if by_calls else "Model calls, about",
            number(calls) + (" (by the budget)" if is_limited else ""),
        ),
        ("Tokens, about", f"{number(tokens_in)} in, {number(tokens_out)} out"),
        ("Cost, about", usd(sum(known) if len(known) == len(costs) else None)),
    ]
    budget = estimated[0][0].budget
    of_each = " for each run" if len(estimated) > 1 else ""
    return rows if budget.is_open else [*rows, ("Budget", budget_text(budget) + of_each)]


def estimate_notes(plan: LaunchPlan, estimated: CostEstimate, params: LlmParams) -> tuple[str, str]:
    """A note below the summary, and its tooltip: how the figures are calculated."""
    if estimated.cost_usd is None:
        note = "No price is known for this model at this server, so the cost is unknown."
        if plan.budget.max_cost_usd is not None:
            note += " A budget in dollars has no effect here; limit calls or tokens instead."
    else:
        note = "A rough estimate, if every episode uses all its decisions."
    if share_of_budget(plan.budget, estimated) < 1:
        note += (
            f" The budget ends the run early; without it there would be {number(estimated.calls)} calls. Calls in "
            "flight may exceed it."
        )
    if params.on_bad_call == "retry":
        note += f" Each decision may add {plural(params.ask_again, 'retry', 'retries')}."
    for field in estimated.left_out:
        note += f" {escape(left_out_text(field))}"
    return note, f"{_BASIS} Price table: {PRICE_VERSION}."


def share_of_budget(budget: Budget, estimated: CostEstimate) -> float:
    """The share of the estimate that the budget allows, 0 to 1."""
    limits = (
        (budget.max_calls, estimated.calls),
        (budget.max_tokens, estimated.tokens),
        (budget.max_cost_usd, estimated.cost_usd),
    )
    return min([1.0, *(limit / wanted for limit, wanted in limits if limit is not None and wanted)])


def budget_text(budget: Budget) -> str:
    """`100 calls, 50,000 tokens, 1.00 USD`"""
    parts = []
    if budget.max_calls is not None:
        parts.append(plural(budget.max_calls, "call"))
    if budget.max_tokens is not None:
        parts.append(f"{number(budget.max_tokens)} tokens")
    if budget.max_cost_usd is not None:
        parts.append(usd(budget.max_cost_usd))
    return ", ".join(parts) or "no limit"


@dataclass(frozen=True, slots=True)
class Throughput:
    """Mean seconds per step, including world generation, over `episodes` episodes."""

    seconds_per_step: float
    episodes: int


def throughput_of(rows: Iterable[EpisodeSummary]) -> Throughput | None:
    """None if no episode is over and long enough."""
    measured = [
        ((row.ended_at - row.started_at).total_seconds(), row.n_steps)
        for row in rows
        if row.started_at and row.ended_at and row.n_steps >= MIN_STEPS
    ]
    steps = sum(n_steps for _, n_steps in measured)
    return Throughput(sum(duration for duration, _ in measured) / steps, len(measured)) if steps else None


def longest_s(throughput: Throughput, *, rollouts: int, max_steps: int, max_time_s: float, at_once: int) -> float:
    """Seconds until all rollouts are over if each uses all its steps."""
    one = min(max_steps * throughput.seconds_per_step, max_time_s)
    return -(-rollouts // at_once) * one
