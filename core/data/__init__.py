"""Tables and texts that the product needs at run time."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from ruamel.yaml import YAML


@cache
def _reward_tables() -> dict[str, Any]:
    text = files(__name__).joinpath("reward_tables.yaml").read_text(encoding="utf-8")
    loader: Any = YAML(typ="safe")
    tables: dict[str, Any] = loader.load(text)
    return tables


def inventory_weights() -> dict[str, float]:
    """Default weight for each point by which an inventory entry rises (a fresh dict)."""
    return {name: float(weight) for name, weight in _reward_tables()["inventory_weights"].items()}


def achievement_count_weights() -> dict[str, float]:
    """Default weight for each count by which an achievement rises (a fresh dict)."""
    return {name: float(weight) for name, weight in _reward_tables()["achievement_count_weights"].items()}


def published_scores() -> dict[str, dict[str, Any]]:
    """Published results by the name of their entry (a fresh dict).

    Each has at least episodes and progress_pct; most have success: achievement -> share of episodes that unlocked it.
    Sources: the repositories danijar/crafter (scores/) and balrog-ai/experiments, at the commits the file names.
    """
    rows = json.loads(files(__name__).joinpath("crafter_scores.json").read_text(encoding="utf-8"))["rows"]
    return {row["entry"]: row for row in rows}
