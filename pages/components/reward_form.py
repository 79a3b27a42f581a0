"""The reward configuration as a form. Empty cells of its tables mean the default."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import pandas as pd
import streamlit as st

from core import data
from core.env.rules import ACHIEVEMENTS, ITEMS
from core.rewards import STRATEGIES
from core.types import RewardConfig
from pages.components.format import words
from pages.components.launch_state import PREFIX, keep

_WITHOUT_TABLES = ("consistent",)

_ACHIEVEMENT_COLUMNS = {
    "achievement": st.column_config.TextColumn("Achievement", disabled=True, width="medium"),
    "weight": st.column_config.NumberColumn(
        "Unlock pays", help="Paid when it is unlocked. Empty: 1.0.", step=0.01, format="%.2f"
    ),
    "limit": st.column_config.NumberColumn(
        "At most, times", help="How often an episode pays the unlock. Empty: once. 0: no limit.", step=1, format="%d"
    ),
    "count": st.column_config.NumberColumn(
        "Each time pays",
        help="Paid whenever it is achieved, the first time too. Empty: the default for other counts.",
        step=0.01,
        format="%.2f",
    ),
}
_INVENTORY_COLUMNS = {
    "item": st.column_config.TextColumn("Inventory entry", disabled=True, width="medium"),
    "weight": st.column_config.NumberColumn(
        "Each point more pays", help="Empty: the default for other entries.", step=0.01, format="%.2f"
    ),
}


def reward_form() -> RewardConfig:
    """Draw the form; the configuration it says, not yet checked."""
    left, right = st.columns([3, 2], gap="medium")
    with left:
        strategy = st.radio(
            "Strategy",
            list(STRATEGIES),
            format_func=lambda name: STRATEGIES[name].label,
            captions=[kind.description for kind in STRATEGIES.values()],
            key=keep("strategy", "per_achievement"),
            persist_state="session",
        )
    with right:
        enabled = st.toggle("Shape rewards", key=keep("reward_enabled", True), persist_state="session")
        scale = st.number_input(
            "Lambda",
            key=keep("lambda", 1.0),
            value=None,
            placeholder="1 (empty)",
            persist_state="session",
            help="Every decision's reward is multiplied by it. Negative values are allowed.",
        )
        st.caption(_lambda_in_words(enabled, scale))
        beta = st.number_input(
            "Step beta",
            key=keep("step_beta", 0.0),
            persist_state="session",
            help="Carried with the run and shown beside it. It multiplies nothing.",
        )
    params = _params_form(strategy)
    config = RewardConfig(strategy=strategy, indicator_lambda=scale, enabled=enabled, step_beta=beta, params=params)
    return config if strategy in _WITHOUT_TABLES else _with_tables(config)


def _lambda_in_words(enabled: bool, scale: float | None) -> str:
    if not enabled:
        return "Shaping is off: every decision's shaped reward is 0."
    if not scale:
        given = "An empty lambda" if scale is None else "Lambda 0"
        return f"{given} counts as 1, so rewards are paid in full. Turn shaping off to pay nothing."
    return f"Rewards are paid times {scale:g}."


def _params_form(strategy: str) -> dict[str, float]:
    """One number for each parameter of a strategy that has some."""
    kind = STRATEGIES[strategy].params_type
    defaults = kind()
    return {
        spec.name: st.number_input(
            spec.metadata["label"],
            min_value=float(spec.metadata["low"]),
            max_value=float(spec.metadata["high"]),
            key=keep(f"strategy_{strategy}_{spec.name}", float(getattr(defaults, spec.name))),
            persist_state="session",
            help=spec.metadata["description"],
        )
        for spec in fields(kind)
    }


def _with_tables(config: RewardConfig) -> RewardConfig:
    achievements_tab, inventory_tab = st.tabs(["Achievements", "Inventory"])
    with achievements_tab:
        default_count, achievements = _table("achievements")
    with inventory_tab:
        default_item, inventory = _table("inventory")
    st.button("Back to the default tables", key=f"{PREFIX}reset_tables", on_click=_reset_tables)
    return RewardConfig(
        strategy=config.strategy,
        indicator_lambda=config.indicator_lambda,
        enabled=config.enabled,
        step_beta=config.step_beta,
        params=config.params,
        weights=_filled(ACHIEVEMENTS, achievements["weight"]),
        k_limits=_filled(ACHIEVEMENTS, achievements["limit"]),
        inventory_weights=_others(data.inventory_weights(), ITEMS) | _filled(ITEMS, inventory["weight"]),
        achievement_count_weights=_others(data.achievement_count_weights(), ACHIEVEMENTS)
        | _filled(ACHIEVEMENTS, achievements["count"]),
        default_inventory_weight=default_item,
        default_achievement_count_weight=default_count,
    )


def _table(name: str) -> tuple[float, pd.DataFrame]:
    """One table: what entries without a value pay, and the entries."""
    table = _TABLES[name]
    otherwise = st.number_input(
        table.otherwise,
        key=keep(table.otherwise_field, table.otherwise_pays),
        persist_state="session",
        step=0.01,
        width=320,
    )
    entries = _edited(name, table.default(), table.columns)
    st.caption(table.note)
    return otherwise, entries


def _default_achievements() -> pd.DataFrame:
    counts = data.achievement_count_weights()
    return pd.DataFrame(
        {
            "achievement": [words(name) for name in ACHIEVEMENTS],
            "weight": pd.array([None] * len(ACHIEVEMENTS), dtype="Float64"),
            "limit": pd.array([None] * len(ACHIEVEMENTS), dtype="Int64"),
            "count": pd.array([counts.get(name) for name in ACHIEVEMENTS], dtype="Float64"),
        }
    )


def _default_inventory() -> pd.DataFrame:
    weights = data.inventory_weights()
    items = [words(name) for name in ITEMS]
    return pd.DataFrame({"item": items, "weight": pd.array([weights.get(name) for name in ITEMS], dtype="Float64")})


@dataclass(frozen=True)
class _Table:
    """What sets one of the two tables apart from the other."""

    default: Callable[[], pd.DataFrame]
    columns: Mapping[str, Any]
    otherwise: str  # the label of what is paid where the table says nothing
    otherwise_field: str
    otherwise_pays: float
    note: str


_TABLES = {
    "achievements": _Table(
        default=_default_achievements,
        columns=_ACHIEVEMENT_COLUMNS,
        otherwise="Any other achievement pays, each time",
        otherwise_field="default_count_weight",
        otherwise_pays=RewardConfig().default_achievement_count_weight,
        note="A first unlock is paid up to three times over: as an unlock, as a count, and as the inventory entry that "
        "rises. Counts go on paying for as long as they rise: drinking pays at full thirst too.",
    ),
    "inventory": _Table(
        default=_default_inventory,
        columns=_INVENTORY_COLUMNS,
        otherwise="Any other entry pays, each point more",
        otherwise_field="default_inventory_weight",
        otherwise_pays=RewardConfig().default_inventory_weight,
        note="Falls cost nothing, so health, food, drink and energy earn again each time they refill, and saplings "
        "each time they are collected.",
    ),
}


def _edited(name: str, default: pd.DataFrame, columns: Mapping[str, Any]) -> pd.DataFrame:
    """The table as the person left it, also after the editor was away for a while."""
    kept_key, base_key = f"{PREFIX}{name}_kept", f"{PREFIX}{name}_base"
    editor_key = f"{PREFIX}{name}_editor_{st.session_state.get(f'{PREFIX}tables_revision', 0)}"
    # The editor applies its edits to what it was given first; that must stay the same for as long as it is drawn.
    if editor_key not in st.session_state:
        st.session_state[base_key] = st.session_state.get(kept_key, default)
    edited = st.data_editor(
        st.session_state[base_key],
        key=editor_key,
        hide_index=True,
        column_config=dict(columns),
        placeholder="default",
        height=38 + 35 * len(default),
        row_height=35,
    )
    st.session_state[kept_key] = edited
    return edited


def _reset_tables() -> None:
    for name, table in _TABLES.items():
        st.session_state.pop(f"{PREFIX}{name}_kept", None)
        st.session_state.pop(f"{PREFIX}{table.otherwise_field}", None)
    st.session_state[f"{PREFIX}tables_revision"] = st.session_state.get(f"{PREFIX}tables_revision", 0) + 1


def _filled(names: Sequence[str], column: Iterable[Any]) -> dict[str, Any]:
    """The cells that are not empty. The rows of a table are those of `names`, which it shows as words."""
    return {name: value for name, value in zip(names, column, strict=True) if pd.notna(value)}


def _others(defaults: Mapping[str, float], shown: tuple[str, ...]) -> dict[str, float]:
    """Entries of the default table that this Crafter does not have; they are carried as they are."""
    return {name: weight for name, weight in defaults.items() if name not in shown}
