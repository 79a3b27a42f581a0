"""A reward configuration as the JSON that a trainer takes, and back."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any, Final, NoReturn, cast

from core.errors import InvalidReward, did_you_mean
from core.params import quoted
from core.rewards.limits import LARGEST, MOST_CHARACTERS
from core.rewards.validation import checked
from core.types import RewardConfig

FORMAT: Final = "craftscope.step_rewards"
VERSION: Final = 1

_BODY: Final = "step_rewards"
_ENVELOPE: Final = ("format", "version", "config_hash", _BODY)
# In the order in which trainers write them; the tables follow.
_KEYS: Final = (
    *("enabled", "mode", "strategy", "indicator_lambda", "step_beta", "weights", "k_limits"),
    *("inventory_weights", "achievement_count_weights"),
    *("default_inventory_weight", "default_achievement_count_weight", "params"),
)


def to_document(config: RewardConfig) -> str:
    """The checked configuration as indented JSON. Raises InvalidReward where it cannot be used.

    ``{"format": "craftscope.step_rewards", "version": 1, "config_hash": "...", "step_rewards": {...}}``: what stands in
    `step_rewards` has the names that trainers know (`enabled`, `mode`, `strategy`, `indicator_lambda`, `step_beta`,
    `weights`, `k_limits`) and, beside them, the tables that were fixed in the program once.
    """
    config = checked(config)
    values = asdict(config)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "config_hash": config.config_hash,
        _BODY: {key: values[key] for key in _KEYS},
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def to_changes(config: RewardConfig) -> str:
    """What a checked configuration says beyond the defaults, as JSON in one line that `from_document` reads.

    Short enough for an address; the tables that differ are whole. Raises InvalidReward where it cannot be used.
    """
    values, defaults = asdict(checked(config)), asdict(RewardConfig())
    changed = {key: values[key] for key in _KEYS if key == "strategy" or values[key] != defaults[key]}
    return json.dumps(changed, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def from_document(
    text: object, *, achievements: Collection[str] | None = None, items: Collection[str] | None = None
) -> RewardConfig:
    """The checked configuration of such a JSON text, or of one that is only what stands in its `step_rewards`.

    Keys that are left out have their defaults. `config_hash` says what was exported and is not compared: a file may be
    edited by hand. achievements, items: the environment's names; see `checked`. Raises InvalidReward for anything else.
    """
    document = _parsed(text)
    if _BODY in document:
        body = _unwrapped(document)
        _refuse_unknown(body, _KEYS, f'"{_BODY}"')
    else:
        body = document
        _refuse_unknown(body, (*_KEYS, _BODY), "The configuration")
    return checked(RewardConfig(**body), achievements=achievements, items=items)


def _parsed(text: object) -> dict[str, Any]:
    if not isinstance(text, str):
        raise InvalidReward(f"The configuration is {quoted(text)}; give JSON as text.")
    if len(text) > MOST_CHARACTERS:
        raise InvalidReward(
            f"The text has {len(text):,} characters, and a reward configuration has at most {MOST_CHARACTERS:,}; "
            "this is another file."
        )
    if not text.strip():
        raise InvalidReward("The text is empty; give the JSON of a reward configuration.")
    try:
        text.encode("utf-8")
        value = json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_once_each, parse_constant=_no_number)
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # escapes can hold half a character, too
    except json.JSONDecodeError as error:
        raise InvalidReward(
            f"The text is no JSON: {error.msg} in line {error.lineno}, column {error.colno}."
        ) from error
    except RecursionError:
        raise InvalidReward("The JSON is nested too deeply to be a reward configuration.") from None
    except UnicodeEncodeError as error:
        raise InvalidReward("The text holds half a character (a lone surrogate); save it as UTF-8.") from error
    except ValueError as error:  # a whole number with thousands of digits
        raise InvalidReward(
            f"The JSON holds a number with too many digits; give numbers from -{LARGEST:,.0f} to {LARGEST:,.0f}."
        ) from error
    if not isinstance(value, dict):
        raise InvalidReward(f'The JSON is {quoted(value)}; give an object with a "{_BODY}" in it.')
    return cast(dict[str, Any], value)


def _unwrapped(document: Mapping[str, Any]) -> dict[str, Any]:
    """What stands in `step_rewards`, with what stands beside it checked."""
    _refuse_unknown(document, _ENVELOPE, "The document")
    if document.get("format", FORMAT) != FORMAT:
        raise InvalidReward(f'"format" is {quoted(document["format"])}; this program reads "{FORMAT}".')
    version = document.get("version", VERSION)
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise InvalidReward(f'"version" is {quoted(version)}; give {VERSION}.')
    if version > VERSION:
        raise InvalidReward(
            f'"version" is {quoted(version)}, and this Craftscope reads up to {VERSION}; update Craftscope.'
        )
    body = document[_BODY]
    if not isinstance(body, dict):
        raise InvalidReward(f'"{_BODY}" is {quoted(body)}; give an object.')
    return cast(dict[str, Any], body)


def _refuse_unknown(given: Mapping[str, Any], known: Collection[str], where: str) -> None:
    for key in given:
        if key not in known:
            hint = did_you_mean(key[:200], known) or "."
            raise InvalidReward(
                f"{where} has the key {quoted(key)}, which is not known{hint} Known are: {', '.join(known)}."
            )


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise InvalidReward(f"The key {quoted(key)} is there twice in one object; keep one of them.")
        found[key] = value
    return found


def _no_number(name: str) -> NoReturn:
    raise InvalidReward(f"The JSON holds {name}, which is no number; give a finite one.")
