"""Tables and CSV data of the Policies view: stored policies and published results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.statistics import ComponentPay, Difference, Estimate, PublishedRow, Summary
from core.env.rules import ACHIEVEMENTS
from core.store import EpisodeSummary
from core.types import Floats
from pages.components.charts.download import Table
from pages.components.lab.policies.charts import component_name
from pages.components.lab.policies.policies_text import interval_text
from pages.components.lab.shared.table import show_table
from pages.components.text.escape import escape
from pages.components.text.format import number, signed

_ROWS_IN_SIGHT = 14
_SHORT_LIMITS = ("step limit", "world's length")

_PROGRESS_HELP = (
    f"Mean share of the {len(ACHIEVEMENTS)} achievements unlocked in an episode. All count the same, while the Crafter "
    "score gives rare ones more weight."
)


def _numeric(label: str, width: int, help: str | None = None) -> Any:
    return st.column_config.NumberColumn(label, width=width, alignment="right", help=help)


def _right(label: str, width: int, help: str | None = None) -> Any:
    return st.column_config.TextColumn(label, width=width, alignment="right", help=help)


_COLUMNS = {
    "who": st.column_config.TextColumn("Stored here", width=160),
    "episodes": _numeric("Episodes", 74),
    "seeds": _numeric("Seeds", 56),
    "score": _numeric("Crafter score, %", 108),
    "score_range": _right("95% interval", 100),
    "progress": _numeric("Progress, %", 88, _PROGRESS_HELP),
    "progress_range": _right("95% interval", 100),
    "env_return": _numeric("Env return", 82, "Crafter's own rewards, mean of an episode"),
    "shaped_return": _numeric("Shaped return", 100, "Shaped rewards, mean of an episode"),
    "steps": _numeric("Steps", 58, "Mean of an episode"),
}
_PUBLISHED_COLUMNS = {
    "who": st.column_config.TextColumn("Published elsewhere", width=250),
    "episodes": _right("Episodes", 78),
    "score": _right("Crafter score, %", 118),
    "deviation": _right("± deviation", 108, "Standard deviation of the score between runs"),
    "progress": _right("Progress, %", 96, _PROGRESS_HELP),
    "error": _right("± error", 108, "Standard error of the progress over episodes"),
    "env_return": _right("Env return", 90, "Crafter's own rewards, mean of an episode"),
    "steps": _right("Steps", 70, "Mean of an episode"),
}
_PAY_COLUMNS = {
    "group": st.column_config.TextColumn("Group"),
    "component": st.column_config.TextColumn("Component"),
    "mean": st.column_config.NumberColumn("Mean of an episode", alignment="right"),
    "share": st.column_config.NumberColumn("Share of the total paid, %", alignment="right"),
    "total": st.column_config.NumberColumn("Total", alignment="right"),
}


def show_stored(summaries: Mapping[str, Summary]) -> None:
    rows = [
        {
            "who": policy,
            "episodes": its.n_episodes,
            "seeds": its.n_seeds,
            "score": its.score.value,
            "score_range": interval_text(its.score),
            "progress": 100 * its.progress.value,
            "progress_range": interval_text(its.progress, factor=100),
            "env_return": its.env_return.value,
            "shaped_return": its.shaped_return.value,
            "steps": its.steps.value,
        }
        for policy, its in summaries.items()
    ]
    formats = {"score": "{:,.1f}", "progress": "{:,.1f}", "steps": "{:,.0f}"}
    show_table(
        pd.DataFrame(rows),
        _COLUMNS,
        rows_in_sight=_ROWS_IN_SIGHT,
        key="policies-stored",
        alt="Policies and what they achieve",
        formats=formats | {"env_return": signed, "shaped_return": signed},
    )


def show_published(rows: Sequence[PublishedRow], limits: Sequence[int]) -> None:
    """limits: the step limits of the stored episodes."""
    table = pd.DataFrame(
        [
            {
                "who": its.label,
                "episodes": number(its.episodes),
                "score": _or_na(its.score, "{:.1f}"),
                "deviation": _or_na(its.score_deviation, "± {:.2f}"),
                "progress": f"{100 * its.progress:.1f}",
                "error": f"± {100 * its.progress_error:.2f}",
                "env_return": "n/a" if its.mean_return is None else signed(its.mean_return),
                "steps": _or_na(its.mean_steps, "{:.0f}"),
            }
            for its in rows
        ]
    )
    show_table(
        table, _PUBLISHED_COLUMNS, key="policies-published", rows_in_sight=_ROWS_IN_SIGHT, alt="Published results"
    )
    least, most = min(limits), max(limits)
    here = f"up to {number(most)}" if least == most else f"limits from {number(least)} to {number(most)}"
    protocols = [f"{its.label}: {its.protocol}" for its in rows]
    protocols.append(f"Stored here: {here} steps, or death. Fewer steps leave less time to unlock.")
    st.caption("  \n".join(escape(protocol) for protocol in protocols))


def _or_na(value: float | None, form: str) -> str:
    return "n/a" if value is None else form.format(value)


def step_limits(found: Sequence[Difference], default: int) -> tuple[int, ...]:
    """The step limits in `found`, else the one that all episodes share."""
    limits = [
        value for each in found if each.aspect in _SHORT_LIMITS for value, _ in each.values if isinstance(value, int)
    ]
    return tuple(limits) or (default,)


def scores_csv(summaries: Mapping[str, Summary], published: Sequence[PublishedRow]) -> Table:
    heading = (
        *("who", "where", "episodes", "seeds"),
        *("crafter_score_percent", "crafter_score_low", "crafter_score_high"),
        *("progress_percent", "progress_low", "progress_high", "mean_achievements"),
        *("mean_env_return", "env_return_low", "env_return_high"),
        *("mean_shaped_return", "shaped_return_low", "shaped_return_high", "mean_steps", "protocol"),
    )
    stored = (
        (
            *(policy, "stored here", its.n_episodes, its.n_seeds),
            *_ends(its.score),
            *_ends(its.progress.times(100)),
            its.achievements.value,
            *_ends(its.env_return),
            *_ends(its.shaped_return),
            *(its.steps.value, "stored here; intervals: 95%, bootstrap over seeds"),
        )
        for policy, its in summaries.items()
    )
    others = (
        (
            *(its.label, "published", its.episodes, None, its.score, None, None, 100 * its.progress, None, None),
            *(its.mean_achievements, its.mean_return, None, None, None, None, None, its.mean_steps, its.protocol),
        )
        for its in published
    )
    return [heading, *stored, *others]


def success_csv(summaries: Mapping[str, Summary], published: Sequence[PublishedRow]) -> Table:
    heading = ("achievement", "who", "where", "successes", "episodes", "seeds", "share", "low", "high")
    stored = (
        (name, policy, "stored here", its.n_successes[at], its.n_episodes, its.n_seeds, *_ends(rate))
        for policy, its in summaries.items()
        for at, (name, rate) in enumerate(zip(ACHIEVEMENTS, its.success, strict=True))
    )
    others = (
        (name, its.label, "published", None, its.episodes, None, share, None, None)
        for its in published
        for name, share in (its.success or {}).items()
    )
    return [heading, *stored, *others]


def pay_csv(pays: Mapping[str, Sequence[ComponentPay]]) -> Table:
    heading = ("group", "kind", "name", "mean_of_an_episode", "share", "total")
    rows = ((group, p.kind, p.name, p.mean, p.share, p.total) for group, parts in pays.items() for p in parts)
    return [heading, *rows]


def show_pay(pays: Mapping[str, Sequence[ComponentPay]]) -> None:
    table = pd.DataFrame(
        [
            {
                "group": group,
                "component": component_name(part.kind, part.name),
                "mean": part.mean,
                "share": 100 * part.share,
                "total": part.total,
            }
            for group, parts in pays.items()
            for part in parts
        ]
    )
    show_table(
        table,
        _PAY_COLUMNS,
        rows_in_sight=_ROWS_IN_SIGHT,
        key="policies-pay",
        alt="What each component paid",
        formats={"mean": signed, "total": signed, "share": "{:.1f}"},
    )


def difficulty_csv(summaries: Mapping[str, Mapping[str, Summary]]) -> Table:
    """summaries: difficulty -> policy -> summary."""
    heading = (
        *("difficulty", "who", "episodes", "seeds", "mean_achievements", "achievements_low", "achievements_high"),
        *("mean_shaped_return", "shaped_return_low", "shaped_return_high"),
    )
    rows = (
        (
            *(group, policy, its.n_episodes, its.n_seeds),
            *_ends(its.achievements),
            *_ends(its.shaped_return),
        )
        for group, of_group in summaries.items()
        for policy, its in of_group.items()
    )
    return [heading, *rows]


def episodes_csv(policies: Sequence[str], episodes: Sequence[EpisodeSummary]) -> Table:
    """policies: of each episode."""
    heading = (
        *("episode", "run", "who", "seed", "world", "reward_configuration"),
        *("achievements", "shaped_return", "env_return", "steps", "ended"),
    )
    rows = (
        (
            *(e.id, e.run_id, who, e.seed, e.world_episode, e.config_hash),
            *(e.n_achievements, e.shaped_return, e.env_return, e.n_steps, e.stop_reason or ""),
        )
        for who, e in zip(policies, episodes, strict=True)
    )
    return [heading, *rows]


def times_csv(policies: Sequence[str], episodes: Sequence[EpisodeSummary], times: Floats) -> Table:
    """policies: of each episode. times: float64 (episodes, achievements), NaN without an unlock."""
    heading = ("episode", "who", *(f"{name}_step" for name in ACHIEVEMENTS))
    rows = (
        (episode.id, who, *(None if np.isnan(step) else int(step) for step in steps))
        for episode, who, steps in zip(episodes, policies, times, strict=True)
    )
    return [heading, *rows]


def _ends(estimate: Estimate) -> tuple[float, float | None, float | None]:
    return estimate.value, estimate.low, estimate.high
