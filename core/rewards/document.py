"""Writes and reads reward configurations as the JSON that trainers use."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any, Final, cast

from core.errors import InvalidReward, did_you_mean
from core.params import Integer
from core.rewards.config import checked_reward
from core.text import quoted
from core.types import RewardConfig

FORMAT: Final = "craftscope.step_rewards"
VERSION: Final = 1
MAX_CHARACTERS: Final = 1_000_000
"""Of a configuration as JSON. The default configuration has about two thousand."""

_TABLES: Final = ("weights", "k_limits", "inventory_weights", "achievement_count_weights", "params")
_BODY: Final = "step_rewards"
_ENVELOPE: Final = ("format", "version", "config_hash", _BODY)
# In the order in which trainers write them; the tables follow.
KEYS: Final = (
    *("enabled", "mode", "strategy", "indicator_lambda", "step_beta", "weights", "k_limits"),
    *("inventory_weights", "achievement_count_weights"),
    *("default_inventory_weight", "default_achievement_count_weight", "params"),
)


def to_document(config: RewardConfig) -> str:
    """The checked configuration as indented JSON. Raises InvalidReward.

    ``{"format": "craftscope.step_rewards", "version": 1, "config_hash": "...", "step_rewards": {...}}``: `step_rewards`
    has the names that trainers know (`enabled`, `mode`, `strategy`, `indicator_lambda`, `step_beta`, `weights`,
    `k_limits`) and our additional tables and parameters.
    """
    config = checked_reward(config)
    values = asdict(config)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "config_hash": config.config_hash,
        _BODY: {key: values[key] for key in KEYS},
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def to_changes(config: RewardConfig) -> str:
    """What differs from the defaults, as one line of JSON that `from_document` reads: short enough for most URLs.

    A table that differs is written as a whole. Raises InvalidReward.
    """
    values, defaults = asdict(checked_reward(config)), asdict(RewardConfig())
    changed = {key: values[key] for key in KEYS if key == "strategy" or values[key] != defaults[key]}
    return json.dumps(changed, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def from_document(
    text: str, *, achievements: Collection[str] | None = None, items: Collection[str] | None = None
) -> RewardConfig:
    """The checked configuration of such a JSON text, or of its `step_rewards` object alone.

    Missing keys and tables that are null have their defaults: trainers write both. `config_hash` is not compared,
    because files may be edited by hand. achievements, items: see `checked_reward`. Raises InvalidReward for anything
    else.
    """
    document = _parsed(text)
    where = "The configuration"
    if _BODY in document:
        _refuse_unknown(document, _ENVELOPE, "The document")
        if document.get("format", FORMAT) != FORMAT:
            raise InvalidReward(f'"format" is {quoted(document["format"])}; this program reads "{FORMAT}".')
        if Integer(1, VERSION).read(document.get("version", VERSION)) is None:
            raise InvalidReward(
                f'"version" is {quoted(document["version"])}, and this Craftscope reads up to {VERSION}; update it.'
            )
        where = f'"{_BODY}"'
        document = _object(document[_BODY], where)
    _refuse_unknown(document, KEYS, where)
    given: dict[str, Any] = {key: value for key, value in document.items() if value is not None or key not in _TABLES}
    return checked_reward(RewardConfig(**given), achievements=achievements, items=items)


def _parsed(text: str) -> dict[str, Any]:
    if len(text) > MAX_CHARACTERS:
        raise InvalidReward(
            f"The text has {len(text):,} characters, and a reward configuration has at most {MAX_CHARACTERS:,}; "
            "this is another file."
        )
    if not text.strip():
        raise InvalidReward("The text is empty; give the JSON of a reward configuration.")
    try:
        value = json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        raise InvalidReward(
            f"The text is not JSON: {error.msg} in line {error.lineno}, column {error.colno}."
        ) from error
    except (ValueError, RecursionError) as error:
        raise InvalidReward("The JSON has thousands of digits or brackets in a row; give a configuration.") from error
    return _object(value, "The JSON")


def _object(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidReward(f"{where} is {quoted(value)}; give an object.")
    return cast(dict[str, Any], value)


def _refuse_unknown(given: Mapping[str, Any], known: Collection[str], where: str) -> None:
    for key in given:
        if key not in known:
            hint = did_you_mean(key[:200], known) or "."
            raise InvalidReward(f"{where} has the unknown key {quoted(key)}{hint} Known are: {', '.join(known)}.")
