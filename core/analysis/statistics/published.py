"""Published results, each with its protocol. Sources: `core/data/crafter_scores.json`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from core import data

RANDOM: Final = "Random policy (crafter repo)"
HUMAN: Final = "Human experts (crafter repo)"

_ENTRY: Final = re.compile(r"(LLM|VLM)/(\d{4})(\d{2})(\d{2})[-_](.+)")
_AGENTS: Final = re.compile(r"^(robust_naive|robust_cot|naive)[-_]")
_SEES: Final = {"LLM": "sees words", "VLM": "sees words and a picture"}


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One published result. None: not published.

    entry: its name in the source. label: short. progress: mean share (0 to 1) of all achievements in an episode, with
    its standard error over episodes. score: the Crafter score in percent. score_deviation: its standard deviation
    between runs, if it is a mean over runs. success: achievement -> share (0 to 1) of episodes. protocol: a sentence.
    """

    entry: str
    label: str
    source: str
    episodes: int
    progress: float
    progress_error: float
    score: float | None
    score_deviation: float | None
    mean_achievements: float | None
    mean_return: float | None
    mean_steps: float | None
    success: dict[str, float] | None
    protocol: str

    @property
    def is_of_a_model(self) -> bool:
        return self.entry not in (RANDOM, HUMAN)


def published_rows() -> tuple[PublishedRow, ...]:
    """The random policy and the human experts first, then models by their progress."""
    rows = [_row(entry, fields) for entry, fields in data.published_scores().items()]
    return tuple(sorted(rows, key=lambda row: (row.is_of_a_model, row.entry != RANDOM, -row.progress)))


def _row(entry: str, fields: dict[str, Any]) -> PublishedRow:
    return PublishedRow(
        entry=entry,
        label=_label(entry),
        source=fields["source"],
        episodes=fields["episodes"],
        progress=fields["progress_pct"] / 100,
        progress_error=fields["se"] / 100,
        score=fields.get("crafter_score_pct"),
        score_deviation=fields.get("score_sd"),
        mean_achievements=fields.get("mean_achievements"),
        mean_return=fields.get("mean_return"),
        mean_steps=fields.get("mean_steps"),
        success=fields.get("success"),
        protocol=_protocol(entry, fields),
    )


def _label(entry: str) -> str:
    model = _ENTRY.fullmatch(entry)
    if model is None:
        return entry.removesuffix(" (crafter repo)")
    kind, year, month, _, name = model.groups()
    return f"{_AGENTS.sub('', name)} ({kind}, {year}-{month})"


def _protocol(entry: str, fields: dict[str, Any]) -> str:
    """How it was played and counted, from the two repositories and the paper."""
    model = _ENTRY.fullmatch(entry)
    if model is not None:
        agent = _AGENTS.match(model[5])
        how = f", agent {agent[1]}" if agent else ""
        return (
            f"BALROG: {fields['episodes']} episodes, each in a world of its own, up to 2,000 steps or death; the model "
            f"{_SEES[model[1]]}{how}; score from the success rates of all episodes."
        )
    if entry == RANDOM:
        steps = fields["episodes"] * fields["mean_steps"] / 1e6
        return (
            f"Hafner 2022: {fields['episodes']:,} episodes over {steps:.1f} million steps, each a new world, up to "
            f"10,000 steps or death; score is the mean over runs, ± {fields['score_sd']:g} standard deviation."
        )
    return (
        f"Hafner 2022: {fields['episodes']} episodes of human experts, each a new world, up to 10,000 steps or death; "
        f"score is the mean over runs, ± {fields['score_sd']:g} standard deviation, not that of all episodes together."
    )
