"""Rubrics: what a judge looks at in an episode (`outcome`) and in a decision (`events`), as JSON files.

A file holds `version`, `goal_text`, `aggregation` (`weighted_sum`) and `criteria`, each with `id`, `description` and
`weight`. Ids are unique; weights are positive and sum to 1.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from core.errors import InvalidConfig, did_you_mean
from core.text import quoted

RUBRICS_DIR = Path(__file__).resolve().parents[1] / "rubrics"
RUBRIC_NAMES = ("outcome", "events")
AGGREGATIONS = ("weighted_sum",)

# Weights are written with a few decimals, so their sum is 1 but for rounding.
SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Criterion:
    """One thing to judge. weight: its share of the whole, above 0 and at most 1."""

    id: str
    description: str
    weight: float


@dataclass(frozen=True, slots=True)
class Rubric:
    """What to judge and how the parts are put together. name: the file's name without suffix."""

    name: str
    version: str
    goal_text: str
    aggregation: str
    criteria: tuple[Criterion, ...]


def load_rubrics(folder: Path = RUBRICS_DIR) -> dict[str, Rubric]:
    """The `outcome` and `events` rubrics by name. Raises InvalidConfig as `load_rubric` does."""
    return {name: load_rubric(folder / f"{name}.json") for name in RUBRIC_NAMES}


def load_rubric(path: Path) -> Rubric:
    """Read and validate one file.

    Raises InvalidConfig, naming the file and the field, where it cannot be read or breaks a rule.
    """
    where = f"{path.parent.name}/{path.name}"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidConfig(f"{where} cannot be read ({error.strerror}); put the file back at {path}.") from error
    except UnicodeDecodeError as error:
        raise InvalidConfig(f"{where} is not UTF-8 text (byte {error.start}); save it as UTF-8.") from error
    return parse_rubric(text, name=path.stem, where=where)


def parse_rubric(text: str, *, name: str, where: str) -> Rubric:
    """The rubric in `text`. `where` is what error messages call the file. Raises InvalidConfig."""
    try:
        document: object = json.loads(text, object_pairs_hook=_unique_keys)
    except json.JSONDecodeError as error:
        raise InvalidConfig(f"{where} is not JSON: line {error.lineno}, column {error.colno}: {error.msg}.") from error
    except ValueError as error:  # a number with more digits than Python converts
        raise InvalidConfig(f"{where} holds a number with thousands of digits; shorten it.") from error
    except RecursionError as error:
        raise InvalidConfig(f"{where} is nested too deeply to be a rubric.") from error
    except _DuplicateKey as error:
        raise InvalidConfig(f'{where} has the field "{error}" twice in one object; keep one of them.') from error
    fields = _fields(document, where, ("version", "goal_text", "aggregation", "criteria"))
    return Rubric(
        name=name,
        version=_text(fields["version"], f"{where}: version"),
        goal_text=_text(fields["goal_text"], f"{where}: goal_text"),
        aggregation=_aggregation(fields["aggregation"], f"{where}: aggregation"),
        criteria=_criteria(fields["criteria"], f"{where}: criteria"),
    )


class _DuplicateKey(Exception):
    """Leaves the JSON reader. Raised inside this module only."""


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _DuplicateKey(key)
        found[key] = value
    return found


def _fields(value: object, where: str, names: Iterable[str]) -> dict[str, object]:
    """The object's fields; exactly `names` have to be there."""
    expected = tuple(names)
    if not isinstance(value, dict):
        raise InvalidConfig(f"{where} is {quoted(value)}; give an object with {', '.join(expected)}.")
    found = cast(dict[str, object], value)
    for name in found:
        if name not in expected:
            hint = did_you_mean(name, expected) or "."
            raise InvalidConfig(f'{where} has an unknown field "{name}"{hint} Its fields are {", ".join(expected)}.')
    for name in expected:
        if name not in found:
            raise InvalidConfig(f'{where} lacks the field "{name}"; add it.')
    return found


def _criteria(value: object, where: str) -> tuple[Criterion, ...]:
    items = cast(list[object], value) if isinstance(value, list) else []
    if not items:
        raise InvalidConfig(f"{where} is {quoted(cast(object, value))}; give a list of at least one criterion.")
    criteria = tuple(_criterion(item, f"{where}[{i}]") for i, item in enumerate(items))
    first_with: dict[str, int] = {}
    for i, criterion in enumerate(criteria):
        if criterion.id in first_with:
            raise InvalidConfig(
                f'{where}[{i}].id is "{criterion.id}", which criteria[{first_with[criterion.id]}] has already; '
                "give each criterion an id of its own."
            )
        first_with[criterion.id] = i
    total = math.fsum(criterion.weight for criterion in criteria)
    if not math.isclose(total, 1.0, rel_tol=0.0, abs_tol=SUM_TOLERANCE):
        raise InvalidConfig(f"{where}: the weights sum to {total:.10g}; change them so that they sum to 1.")
    return criteria


def _criterion(value: object, where: str) -> Criterion:
    fields = _fields(value, where, ("id", "description", "weight"))
    return Criterion(
        id=_text(fields["id"], f"{where}.id"),
        description=_text(fields["description"], f"{where}.description"),
        weight=_weight(fields["weight"], f"{where}.weight"),
    )


def _weight(value: object, where: str) -> float:
    # The comparison is false for NaN too, which Python's JSON reader lets through.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise InvalidConfig(f"{where} is {quoted(value)}; give a number above 0 and at most 1.")
    return float(value)


def _aggregation(value: object, where: str) -> str:
    aggregation = _text(value, where)
    if aggregation not in AGGREGATIONS:
        hint = did_you_mean(aggregation, AGGREGATIONS) or "."
        raise InvalidConfig(f'{where} is "{aggregation}"{hint} Known are: {", ".join(AGGREGATIONS)}.')
    return aggregation


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidConfig(f"{where} is {quoted(value)}; give a text that is not empty.")
    return value.strip()
