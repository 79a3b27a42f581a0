"""Texts of the Lab about episodes, decisions and their rewards. Plain text: never show it as Markdown."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import count

from core.store import EpisodeSummary
from core.text import plural
from core.types import RewardBreakdown, RewardComponent
from pages.components.text.escape import one_line
from pages.components.text.format import exact, short_id, signed
from pages.components.text.sentences import component_label, component_phrase

AS_PLAYED = "as played"

_MAX_NAME_LENGTH = 24
_MAX_PARTS = 4


def policy_of(episode: EpisodeSummary) -> str:
    return one_line(episode.policy, _MAX_NAME_LENGTH)


def id_of(episode: EpisodeSummary) -> str:
    return one_line(short_id(episode.id), 8)


def episode_name(episode: EpisodeSummary) -> str:
    """`farmer 1a2b3c4d`."""
    return f"{policy_of(episode)} {id_of(episode)}"


def world_text(episode: EpisodeSummary) -> str:
    """`seed 13`; with the world's number, if it is not the first of the episode."""
    return f"seed {episode.seed}" + (f", world {episode.world_episode}" if episode.world_episode != 1 else "")


def episode_title(episode: EpisodeSummary) -> str:
    """`farmer 1a2b3c4d on seed 13, 5 achievements`."""
    return f"{episode_name(episode)} on {world_text(episode)}, {plural(episode.n_achievements, 'achievement')}"


def from_to(before: float, after: float) -> str:
    """`+61.50 → +34.80`; `+61.50` if it does not change."""
    old, new = signed(before), signed(after)
    return new if old == new else f"{old} → {new}"


def change_lines(before: RewardBreakdown, after: RewardBreakdown) -> tuple[str, ...]:
    """One line for each changed component of a decision's reward: `collect drink count +5 × 0.06 → × 0`."""
    lines = list(_changed_parts(before, after))
    if before.effective_lambda != after.effective_lambda:
        lines.insert(0, f"λ {exact(before.effective_lambda)} → {exact(after.effective_lambda)}")
    if len(lines) > _MAX_PARTS:
        lines = [*lines[:_MAX_PARTS], f"and {plural(len(lines) - _MAX_PARTS, 'more component')}"]
    return tuple(lines)


def _changed_parts(before: RewardBreakdown, after: RewardBreakdown) -> list[str]:
    old = {(part.kind, part.name): part for part in before.components}
    new = {(part.kind, part.name): part for part in after.components}
    scales = before.effective_lambda, after.effective_lambda
    changed = [
        key for key in dict.fromkeys((*old, *new)) if _pays(old.get(key), scales[0]) != _pays(new.get(key), scales[1])
    ]
    changed.sort(key=lambda key: -abs(_pays(new.get(key), scales[1]) - _pays(old.get(key), scales[0])))
    return [_part_change(old.get(key), new.get(key)) for key in changed]


def _part_change(old: RewardComponent | None, new: RewardComponent | None) -> str:
    if old is None:
        return f"new: {component_phrase(new)}" if new else ""
    if new is None:
        return f"{component_phrase(old)} → not paid"
    if old.delta == new.delta and old.weight != new.weight:
        return f"{component_phrase(old)} → {'' if old.kind == 'achievement' else '× '}{exact(new.weight)}"
    if old.value != new.value:
        return f"{component_label(old.kind, old.name)}: {from_to(old.value, new.value)}"
    return component_phrase(old)  # same value, different lambda


def _pays(part: RewardComponent | None, scale: float) -> float:
    return part.value * scale if part else 0.0


def policy_names(episodes: Sequence[EpisodeSummary]) -> list[str]:
    """The policy of each episode, with the model if it has one. Short, on one line, not yet escaped."""
    label: dict[tuple[str, str], str] = {}
    names: list[str] = []
    for episode in episodes:
        model = episode.spec.policy.params.get("model")
        who = episode.policy, model if isinstance(model, str) else ""
        if who not in label:
            text = one_line(" · ".join(part for part in who if part) or "unnamed", _MAX_NAME_LENGTH)
            label[who] = distinct(text, label.values())
        names.append(label[who])
    return names


def distinct(text: str, taken: Collection[str]) -> str:
    """`text`, with a number appended if it is already in `taken`."""
    numbered = (text if number == 1 else f"{text} ({number})" for number in count(1))
    return next(name for name in numbered if name not in taken)
