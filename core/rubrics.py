"""Rubrics: what a judge scores in an episode (`outcome`) and in a decision (`events`), as JSON files."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from core.errors import InvalidConfig

RUBRICS_DIR = Path(__file__).resolve().parents[1] / "rubrics"
RUBRIC_NAMES = ("outcome", "events")

_NonEmpty = Annotated[str, Meta(pattern=r"\S")]
_ROUNDING = 1e-9  # weights are written with a few decimals


class Criterion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing to judge. weight: its share of the score."""

    id: _NonEmpty
    description: _NonEmpty
    weight: Annotated[float, Meta(gt=0, le=1)]


class Rubric(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rubric file. Criterion ids are unique; weights sum to 1."""

    version: _NonEmpty
    goal_text: _NonEmpty
    aggregation: Annotated[str, Meta(pattern="^weighted_sum$")]
    criteria: Annotated[tuple[Criterion, ...], Meta(min_length=1)]

    def __post_init__(self) -> None:
        # msgspec reports a ValueError raised here like an error of its own.
        ids = [criterion.id for criterion in self.criteria]
        if repeated := next((name for name in ids if ids.count(name) > 1), None):
            raise ValueError(f'Criterion id "{repeated}" is used twice')
        total = math.fsum(criterion.weight for criterion in self.criteria)
        if not math.isclose(total, 1.0, abs_tol=_ROUNDING):
            raise ValueError(f"Weights sum to {total:.10g}, expected 1")


def load_rubrics(folder: Path = RUBRICS_DIR) -> dict[str, Rubric]:
    """The `outcome` and `events` rubrics by name. Raises InvalidConfig."""
    return {name: load_rubric(folder / f"{name}.json") for name in RUBRIC_NAMES}


def load_rubric(path: Path) -> Rubric:
    """Raises InvalidConfig, naming the file and the field, if it cannot be read or is invalid."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Rubric)
    except OSError as error:
        raise InvalidConfig(f"Cannot read the rubric {path}: {error.strerror}. Restore the file.") from error
    except msgspec.DecodeError as error:
        raise InvalidConfig(f"Invalid rubric {path.parent.name}/{path.name}: {error}. Correct the file.") from error
