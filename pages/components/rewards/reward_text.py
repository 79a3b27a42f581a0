"""Texts about reward configurations. Plain text: show it with `st.text`, or escape it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from core.rewards import STRATEGIES
from core.types import RewardConfig
from pages.components.text.format import exact, name_text
from pages.components.text.sentences import lambda_text

# What a table's entry means, the field of the table, and the weight of an entry, which may be a default.
_TABLES: tuple[tuple[str, str, Callable[[RewardConfig, str], Any]], ...] = (
    (", unlock weight", "weights", lambda config, name: config.weights.get(name, 1.0)),
    (", max times paid", "k_limits", lambda config, name: _limit(config.k_limits.get(name, 1))),
    (
        ", weight per repeat",
        "achievement_count_weights",
        lambda config, name: config.achievement_count_weights.get(name, config.default_achievement_count_weight),
    ),
    (
        ", weight per point gained",
        "inventory_weights",
        lambda config, name: config.inventory_weights.get(name, config.default_inventory_weight),
    ),
)
_DEFAULTS = (
    ("default weight per repeat", "default_achievement_count_weight"),
    ("default weight per point gained", "default_inventory_weight"),
)


def strategy_label(strategy: str) -> str:
    """The display name; of an unknown strategy, its name."""
    return STRATEGIES[strategy].label if strategy in STRATEGIES else strategy


def reward_text(config: RewardConfig) -> str:
    """`Per achievement, λ 1 (0 counts as 1)`, or `off` if shaping is off."""
    if not config.is_active:
        return "off"
    return f"{strategy_label(config.strategy)}, {lambda_text(config)}"


def differences(old: RewardConfig, new: RewardConfig) -> tuple[str, ...]:
    """The differences, one line each: `collect drink, weight per repeat: 0.06 → 0`.

    An empty cell and the default typed into it are equal.
    """
    return tuple(_differences(old, new))


def _differences(old: RewardConfig, new: RewardConfig) -> Iterator[str]:
    if old.is_active != new.is_active:
        yield f"shaping: {_on(old)} → {_on(new)}"
    if old.strategy != new.strategy:
        yield f"strategy: {strategy_label(old.strategy)} → {strategy_label(new.strategy)}"
    if old.effective_lambda != new.effective_lambda:
        yield f"{lambda_text(old)} → {lambda_text(new)}"
    if old.step_beta != new.step_beta:
        yield f"step beta: {exact(old.step_beta)} → {exact(new.step_beta)}"
    if old.strategy == new.strategy:
        yield from _changed("", old.params, new.params, lambda config, name: config.params.get(name), old, new)
    if _uses_tables(old) or _uses_tables(new):
        yield from _table_differences(old, new)


def _uses_tables(config: RewardConfig) -> bool:
    kind = STRATEGIES.get(config.strategy)
    return kind is not None and kind.uses_tables


def _table_differences(old: RewardConfig, new: RewardConfig) -> Iterator[str]:
    for what, table, value in _TABLES:
        yield from _changed(what, getattr(old, table), getattr(new, table), value, old, new)
    for what, field in _DEFAULTS:
        before, after = getattr(old, field), getattr(new, field)
        if before != after:
            yield f"{what}: {exact(before)} → {exact(after)}"


def _changed(
    what: str,
    old_names: dict[str, Any],
    new_names: dict[str, Any],
    value: Callable[[RewardConfig, str], Any],
    old: RewardConfig,
    new: RewardConfig,
) -> Iterator[str]:
    for name in dict.fromkeys((*old_names, *new_names)):
        before, after = value(old, name), value(new, name)
        if before != after:
            yield f"{name_text(name)}{what}: {_value(before)} → {_value(after)}"


def _on(config: RewardConfig) -> str:
    return "on" if config.is_active else "off"


def _limit(limit: int) -> int | str:
    return limit if limit > 0 else "no limit"


def _value(value: object) -> str:
    return exact(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
