"""The rules, each in a file of its own. A new one: a file with a `RULE`, and its name in the tuples here."""

from __future__ import annotations

from typing import Any

from core.analysis.audit.records import Rule
from core.analysis.audit.rules import (
    after_end,
    loop_pays_best,
    no_change,
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
    after_end.RULE,
    no_change.RULE,
)
CONFIG_RULES: tuple[Rule[RewardConfig], ...] = (loop_pays_best.RULE,)
RULES: dict[str, Rule[Any]] = {rule.id: rule for rule in (*EPISODE_RULES, *CONFIG_RULES)}
