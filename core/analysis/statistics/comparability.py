"""What is not the same for all episodes that are compared, so that a limit is not mistaken for skill."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from core.store import EpisodeSummary
from core.types import EpisodeStatus

REWARD = "reward configuration"
SETTINGS = "policy settings"
ENDED_EARLY = "ended early"

_ASPECTS: Final[dict[str, Callable[[EpisodeSummary], Hashable]]] = {
    REWARD: lambda episode: episode.config_hash,
    "step limit": lambda episode: episode.spec.limits.max_steps,
    "decision limit": lambda episode: episode.spec.limits.max_decisions,
    "operation limit": lambda episode: episode.spec.limits.max_ops,
    "given ops": lambda episode: episode.spec.limits.ops_given,
    "time limit": lambda episode: episode.spec.limits.max_time_s,
    "actions a call may hold": lambda episode: episode.spec.max_actions_per_call,
    "world's area": lambda episode: episode.spec.env.area,
    "view": lambda episode: episode.spec.env.view,
    "world's length": lambda episode: episode.spec.env.length,
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that differs. values: each value with the number of episodes of each policy that have it."""

    aspect: str
    values: tuple[tuple[Hashable, dict[str, int]], ...]


@dataclass(frozen=True, slots=True)
class SeedOverlap:
    """Which seeds the policies share. seeds: of each policy, in order. common: those that all of them played."""

    seeds: dict[str, tuple[int, ...]]
    common: tuple[int, ...]

    @property
    def is_the_same(self) -> bool:
        """Whether all of them played the same seeds."""
        return all(its == self.common for its in self.seeds.values())


def differences(episodes: Sequence[EpisodeSummary], policies: Sequence[str]) -> tuple[Difference, ...]:
    """Everything that differs between these episodes, within a policy or between policies.

    policies: which one played each episode, side by side. Settings are compared within one policy only; a value is then
    the names and texts of those that vary. Episodes that failed, were aborted or interrupted are told from those that
    came to their end.
    """
    found = [
        _difference(aspect, [value(episode) for episode in episodes], policies) for aspect, value in _ASPECTS.items()
    ]
    early = [not episode.n_steps or episode.status is not EpisodeStatus.COMPLETED for episode in episodes]
    if any(early):
        found.append(_difference(ENDED_EARLY, early, policies, always=True))
    return (*(some for some in found if some is not None), *_settings(episodes, policies))


def varying_settings(episodes: Sequence[EpisodeSummary], policies: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The names of the settings that were not the same in all episodes of a policy, for policies that have such."""
    seen: dict[str, dict[str, Counter[str]]] = {}
    n_episodes = Counter(policies)
    for episode, policy in zip(episodes, policies, strict=True):
        of_policy = seen.setdefault(policy, {})
        settings = episode.spec.policy.params
        for name in settings:
            of_policy.setdefault(name, Counter())[setting_text(settings, name)] += 1
    varying = {
        policy: tuple(name for name, texts in settings.items() if max(texts.values()) < n_episodes[policy])
        for policy, settings in seen.items()
    }
    return {policy: names for policy, names in varying.items() if names}


def setting_text(settings: Mapping[str, object], name: str) -> str:
    """A setting as text; equal values give equal texts."""
    if name not in settings:
        return "not given"
    value = settings[name]
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def seed_overlap(episodes: Sequence[EpisodeSummary], policies: Sequence[str]) -> SeedOverlap:
    """The seeds of each policy and those that all share."""
    seeds: dict[str, set[int]] = {}
    for episode, policy in zip(episodes, policies, strict=True):
        seeds.setdefault(policy, set()).add(episode.seed)
    common = set[int].intersection(*seeds.values()) if seeds else set[int]()
    return SeedOverlap({policy: tuple(sorted(its)) for policy, its in seeds.items()}, tuple(sorted(common)))


def _difference(
    aspect: str, values: Sequence[Hashable], policies: Sequence[str], *, always: bool = False
) -> Difference | None:
    counts: dict[Hashable, Counter[str]] = {}
    for value, policy in zip(values, policies, strict=True):
        counts.setdefault(value, Counter())[policy] += 1
    if len(counts) < 2 and not always:
        return None
    most_first = sorted(counts.items(), key=lambda entry: -entry[1].total())
    return Difference(aspect, tuple((value, dict(by)) for value, by in most_first))


def _settings(episodes: Sequence[EpisodeSummary], policies: Sequence[str]) -> tuple[Difference, ...]:
    of_policy: dict[str, list[Hashable]] = {}
    varying = varying_settings(episodes, policies)
    for episode, policy in zip(episodes, policies, strict=True):
        if policy in varying:
            its = tuple((name, setting_text(episode.spec.policy.params, name)) for name in varying[policy])
            of_policy.setdefault(policy, []).append(its)
    found = (_difference(SETTINGS, settings, [policy] * len(settings)) for policy, settings in of_policy.items())
    return tuple(some for some in found if some is not None)
