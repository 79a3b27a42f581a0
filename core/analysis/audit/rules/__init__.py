"""All rules. To add one, write a file with a `RULE` and list it here."""

from __future__ import annotations

from typing import Any

from core.analysis.audit.records import Rule
from core.analysis.audit.rules import (
    loop_pays_best,
    no_effect,
    one_component,
    paid_twice,
    paying_loop,
    standing_still,
)
from core.analysis.audit.trail import Trail
from core.types import RewardConfig

EPISODE_RULES: tuple[Rule[Trail], ...] = (
    paying_loop.RULE,
    standing_still.RULE,
    one_component.RULE,
    paid_twice.RULE,
    no_effect.AFTER_END,
    no_effect.NO_CHANGE,
)
CONFIG_RULES: tuple[Rule[RewardConfig], ...] = (loop_pays_best.RULE,)
RULES: dict[str, Rule[Any]] = {rule.id: rule for rule in (*EPISODE_RULES, *CONFIG_RULES)}
