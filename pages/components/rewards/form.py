"""A reward configuration as a form. Empty cells of its tables mean the default.

Values that the form does not show (the mode, names that this version of Crafter lacks, tables that the strategy does
not use) are kept from the configuration that filled the form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.env.rules import ACHIEVEMENTS, ITEMS
from core.rewards import STRATEGIES
from core.types import RewardConfig
from pages.components.browser.debounced_rerun import debounced_rerun
from pages.components.shared.form_state import FormState, param_name
from pages.components.shared.param_field import param_fields
from pages.components.text.escape import escape, one_line
from pages.components.text.format import exact, listed, name_text

DEFAULT = RewardConfig(strategy="per_achievement")
"""The form's initial configuration."""

_ACTIVE_MODE = DEFAULT.mode
_FILLED_FROM = "reward_filled_from"
_REVISION = "tables_revision"
_MAX_NAME_LENGTH = 40
_MAX_NAMED = 6

_DIGITS = "Type plain digits, such as 100000: cells read 1e5 as 15."

_ACHIEVEMENT_COLUMNS: dict[str, Any] = {
    "achievement": st.column_config.TextColumn("Achievement", disabled=True, width="medium"),
    "weight": st.column_config.NumberColumn("Unlock weight", help=f"Paid when unlocked. Empty: 1.0. {_DIGITS}"),
    "limit": st.column_config.NumberColumn(
        "Max times paid",
        help="How many times per episode the unlock pays. Empty: once. 0: no limit.",
        step=1,
        format="%d",
    ),
    "count": st.column_config.NumberColumn(
        "Weight per repeat",
        help=f"Paid every time it is achieved, the first time included. Empty: the default for other counts. {_DIGITS}",
    ),
}
_INVENTORY_COLUMNS = {
    "item": st.column_config.TextColumn("Inventory entry", disabled=True, width="medium"),
    "weight": st.column_config.NumberColumn(
        "Weight per point gained", help=f"Empty: the default for other entries. {_DIGITS}"
    ),
}
_NARROW_COLUMNS: dict[str, Any] = {
    "achievement": _ACHIEVEMENT_COLUMNS["achievement"] | {"width": 124},
    "weight": _ACHIEVEMENT_COLUMNS["weight"] | {"label": "Unlock", "width": 72},
    "limit": _ACHIEVEMENT_COLUMNS["limit"] | {"label": "Limit", "width": 66},
    "count": _ACHIEVEMENT_COLUMNS["count"] | {"label": "Each", "width": 66},
}


def reward_form(form: FormState, *, narrow: bool = False) -> RewardConfig:
    """Draw the form and return its configuration, not yet checked. narrow: for a column of a third of the page."""
    carried = filled_from(form)
    general = _narrow_general if narrow else _wide_general
    config = replace(carried, **general(form), params={})
    _show_hidden_values(form, carried)
    own = fields(STRATEGIES[config.strategy].params_type)
    params = param_fields(form, f"strategy_{config.strategy}", own, in_a_row=1 if narrow else 2, fine=True)
    config = replace(config, params=params)
    return _with_tables(form, config, narrow) if STRATEGIES[config.strategy].uses_tables else config


def fill_reward_form(form: FormState, config: RewardConfig) -> None:
    """Fill the form with `config`, a checked one. Call it before the form is drawn, or in a callback."""
    form.put(_FILLED_FROM, config)
    form.put("strategy", config.strategy)
    form.put("reward_enabled", config.enabled)
    form.put("lambda", config.indicator_lambda)
    form.put("step_beta", config.step_beta)
    for spec in fields(STRATEGIES[config.strategy].params_type):
        name = param_name(f"strategy_{config.strategy}", spec.name)
        form.put(name, config.params.get(spec.name, spec.default))
    _fill_tables(form, config)


def weight_of(config: RewardConfig, kind: str, name: str) -> float:
    """Weight of a component in a configuration. kind: as in `RewardComponent`, one that `set_weight` can change."""
    return _CELLS[kind].pays(config, name)


def can_set_weight(strategy: str, kind: str, name: str) -> bool:
    """Whether a table of the form has a cell for that component."""
    return STRATEGIES[strategy].uses_tables and kind in _CELLS and name in _TABLES[_CELLS[kind].table].names


def cell_label(kind: str) -> str:
    """The form's label of that cell."""
    return _CELLS[kind].label


def set_weight(form: FormState, kind: str, name: str, weight: float) -> None:
    """Set one cell, as if typed. Call it before the form is drawn, or in a callback."""
    cell = _CELLS[kind]
    table = _TABLES[cell.table]
    entries: pd.DataFrame = form.get(f"{cell.table}_kept", table.of(filled_from(form))).copy()
    entries.loc[table.names.index(name), cell.column] = weight
    form.put(f"{cell.table}_kept", entries)
    form.put(_REVISION, form.get(_REVISION, 0) + 1)


# ------------------------------------------------------------------------------------------------------- general


def _wide_general(form: FormState) -> dict[str, Any]:
    left, right = st.columns([3, 2], gap="medium")
    with left:
        strategy = st.radio(
            "Strategy",
            list(STRATEGIES),
            format_func=lambda name: STRATEGIES[name].label,
            captions=[kind.description for kind in STRATEGIES.values()],
            key=form.keep("strategy", DEFAULT.strategy),
            persist_state="session",
        )
    with right:
        enabled = _enabled(form)
        scale = _lambda(form)
        st.caption(_lambda_note(enabled, scale))
        beta = _step_beta(form)
    return {"strategy": strategy, "enabled": enabled, "indicator_lambda": scale, "step_beta": beta}


def _narrow_general(form: FormState) -> dict[str, Any]:
    strategy = st.selectbox(
        "Strategy",
        list(STRATEGIES),
        format_func=lambda name: STRATEGIES[name].label,
        key=form.keep("strategy", DEFAULT.strategy),
        persist_state="session",
        help="\n\n".join(f"**{kind.label}**: {kind.description}" for kind in STRATEGIES.values()),
    )
    left, right = st.columns(2)
    with left:
        scale = _lambda(form)
    with right:
        beta = _step_beta(form)
    enabled = _enabled(form)
    st.caption(_lambda_note(enabled, scale))
    return {"strategy": strategy, "enabled": enabled, "indicator_lambda": scale, "step_beta": beta}


def _enabled(form: FormState) -> bool:
    return st.toggle("Shape rewards", key=form.keep("reward_enabled", True), persist_state="session")


def _lambda(form: FormState) -> float | None:
    return st.number_input(
        "Lambda",
        key=form.keep("lambda", 1.0),
        value=None,
        placeholder="1 (empty)",
        format="%g",
        step=0.1,
        persist_state="session",
        help="Multiplies every decision's reward. Negative values are allowed.",
    )


def _step_beta(form: FormState) -> float:
    return st.number_input(
        "Step beta",
        key=form.keep("step_beta", 0.0),
        format="%g",
        step=0.1,
        persist_state="session",
        help="Stored and shown with the run. It has no effect on rewards.",
    )


def _lambda_note(enabled: bool, scale: float | None) -> str:
    if not enabled:
        return "Shaping is off: every decision's shaped reward is 0."
    if not scale:
        given = "An empty lambda" if scale is None else "Lambda 0"
        return f"{given} counts as 1, so rewards are paid in full. Turn shaping off to pay nothing."
    return f"Multiplier: {exact(scale)}"


def filled_from(form: FormState) -> RewardConfig:
    """The configuration that filled the form."""
    return form.get(_FILLED_FROM, DEFAULT)


def _show_hidden_values(form: FormState, config: RewardConfig) -> None:
    """Warn of values that the form does not show."""
    if config.mode != _ACTIVE_MODE:
        st.warning(
            f"The mode “{escape(one_line(config.mode, _MAX_NAME_LENGTH))}” pays nothing. Only the mode "
            f"“{escape(_ACTIVE_MODE)}” pays rewards."
        )
        st.button("Turn rewards on", key=form.key("activate"), on_click=_activate, args=(form,))
    unknown = [name for table in _TABLES.values() for name in table.unknown_names(config)]
    if unknown:
        names = listed([one_line(name, _MAX_NAME_LENGTH) for name in unknown], _MAX_NAMED)
        st.caption(escape(f"Unknown to this version of Crafter, but kept: {names}."))


def _activate(form: FormState) -> None:
    form.put(_FILLED_FROM, replace(filled_from(form), mode=_ACTIVE_MODE))


# ------------------------------------------------------------------------------------------------------- tables


def _with_tables(form: FormState, config: RewardConfig, narrow: bool) -> RewardConfig:
    with st.container(key=form.key("tables")):
        achievements_tab, inventory_tab = st.tabs(["Achievements", "Inventory"])
        with achievements_tab:
            default_count, achievements = _table(form, "achievements", narrow)
        with inventory_tab:
            default_item, inventory = _table(form, "inventory", narrow)
    debounced_rerun(form.key("tables"))
    st.button("Reset the tables to defaults", key=form.key("reset_tables"), on_click=_fill_tables, args=(form, DEFAULT))
    return replace(
        config,
        weights=_others(config.weights, ACHIEVEMENTS) | _filled(ACHIEVEMENTS, achievements["weight"]),
        k_limits=_others(config.k_limits, ACHIEVEMENTS) | _filled(ACHIEVEMENTS, achievements["limit"]),
        inventory_weights=_others(config.inventory_weights, ITEMS) | _filled(ITEMS, inventory["weight"]),
        achievement_count_weights=_others(config.achievement_count_weights, ACHIEVEMENTS)
        | _filled(ACHIEVEMENTS, achievements["count"]),
        default_inventory_weight=default_item,
        default_achievement_count_weight=default_count,
    )


def _table(form: FormState, name: str, narrow: bool) -> tuple[float, pd.DataFrame]:
    """The default weight and the entries of one table."""
    table = _TABLES[name]
    default = st.number_input(
        table.default_label,
        key=form.keep(table.default_field, table.default_weight_of(filled_from(form))),
        persist_state="session",
        format="%g",
        step=0.01,
        width=320,
    )
    entries = _edited(form, name, table, table.narrow_columns if narrow else table.columns)
    st.caption(table.note)
    return default, entries


def _achievements_of(config: RewardConfig) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "achievement": [name_text(name) for name in ACHIEVEMENTS],
            "weight": pd.array([config.weights.get(name) for name in ACHIEVEMENTS], dtype="Float64"),
            "limit": pd.array([config.k_limits.get(name) for name in ACHIEVEMENTS], dtype="Int64"),
            "count": pd.array([config.achievement_count_weights.get(name) for name in ACHIEVEMENTS], dtype="Float64"),
        }
    )


def _inventory_of(config: RewardConfig) -> pd.DataFrame:
    weights = [config.inventory_weights.get(name) for name in ITEMS]
    return pd.DataFrame({"item": [name_text(name) for name in ITEMS], "weight": pd.array(weights, dtype="Float64")})


@dataclass(frozen=True)
class _Table:
    """How the two tables differ."""

    names: tuple[str, ...]  # its rows
    of: Callable[[RewardConfig], pd.DataFrame]
    given: Callable[[RewardConfig], Iterable[Mapping[str, float]]]  # the part of a configuration that it shows
    columns: Mapping[str, Any]
    narrow_columns: Mapping[str, Any]
    default_label: str
    default_field: str
    default_weight_of: Callable[[RewardConfig], float]
    note: str

    def unknown_names(self, config: RewardConfig) -> list[str]:
        """Names in a configuration without a row, beyond those of the default tables."""
        known = {name for default in self.given(DEFAULT) for name in default} | set(self.names)
        return list(dict.fromkeys(name for given in self.given(config) for name in given if name not in known))


_TABLES = {
    "achievements": _Table(
        names=ACHIEVEMENTS,
        of=_achievements_of,
        given=lambda config: (config.weights, config.k_limits, config.achievement_count_weights),
        columns=_ACHIEVEMENT_COLUMNS,
        narrow_columns=_NARROW_COLUMNS,
        default_label="Default weight per repeat",
        default_field="default_count_weight",
        default_weight_of=lambda config: config.default_achievement_count_weight,
        note="A first unlock can pay three times: as an unlock, as a count, and as the inventory entry that rises. "
        "Counts keep paying: drinking pays even when thirst is full.",
    ),
    "inventory": _Table(
        names=ITEMS,
        of=_inventory_of,
        given=lambda config: (config.inventory_weights,),
        columns=_INVENTORY_COLUMNS,
        narrow_columns=_INVENTORY_COLUMNS,
        default_label="Default weight per point gained",
        default_field="default_inventory_weight",
        default_weight_of=lambda config: config.default_inventory_weight,
        note="Losses cost nothing, so health, food, drink and energy pay again each time they refill, and saplings "
        "each time they are collected.",
    ),
}


@dataclass(frozen=True)
class _Cell:
    """The form's cell for the weight of a component."""

    table: str
    column: str
    label: str
    pays: Callable[[RewardConfig, str], float]


_CELLS = {
    "achievement": _Cell("achievements", "weight", "unlock", lambda config, name: config.weights.get(name, 1.0)),
    "achievement_count": _Cell(
        "achievements",
        "count",
        "each time",
        lambda config, name: config.achievement_count_weights.get(name, config.default_achievement_count_weight),
    ),
    "inventory": _Cell(
        "inventory",
        "weight",
        "each point",
        lambda config, name: config.inventory_weights.get(name, config.default_inventory_weight),
    ),
}


def _edited(form: FormState, name: str, table: _Table, columns: Mapping[str, Any]) -> pd.DataFrame:
    """The table as last edited, also if the editor was not drawn in between."""
    base_key = form.key(f"{name}_base")
    editor_key = form.key(f"{name}_editor_{form.get(_REVISION, 0)}")
    # The editor applies its edits to its first input, which must not change while it is drawn.
    if editor_key not in st.session_state:
        st.session_state[base_key] = form.get(f"{name}_kept", table.of(filled_from(form)))
    edited = st.data_editor(
        st.session_state[base_key],
        key=editor_key,
        hide_index=True,
        column_config=dict(columns),
        placeholder="default",
        height=38 + 35 * len(table.names),
        row_height=35,
        on_change="ignore",
    )
    form.put(f"{name}_kept", edited)
    return edited


def _fill_tables(form: FormState, config: RewardConfig) -> None:
    for name, table in _TABLES.items():
        form.put(f"{name}_kept", table.of(config))
        form.put(table.default_field, table.default_weight_of(config))
    form.put(_REVISION, form.get(_REVISION, 0) + 1)


def _filled(names: Sequence[str], column: Iterable[Any]) -> dict[str, Any]:
    """The cells that are not empty. The rows are `names`, shown as words."""
    return {name: np.asarray(value).item() for name, value in zip(names, column, strict=True) if pd.notna(value)}


def _others(given: Mapping[str, Any], shown: tuple[str, ...]) -> dict[str, Any]:
    """Entries that this version of Crafter lacks; kept as they are."""
    return {name: value for name, value in given.items() if name not in shown}
