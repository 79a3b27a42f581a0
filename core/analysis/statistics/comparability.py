"""What differs between the episodes that are compared, so that a higher limit is not mistaken for skill."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
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
    """values: each value with the number of episodes of each policy that have it, the most common first."""

    aspect: str
    values: tuple[tuple[Hashable, dict[str, int]], ...]


@dataclass(frozen=True, slots=True)
class SeedOverlap:
    """seeds: of each policy, sorted. common: those that all policies played."""

    seeds: dict[str, tuple[int, ...]]
    common: tuple[int, ...]

    @property
    def is_the_same(self) -> bool:
        """Whether all policies played the same seeds."""
        return all(its == self.common for its in self.seeds.values())


def differences(episodes: Sequence[EpisodeSummary], policies: Sequence[str]) -> tuple[Difference, ...]:
    """Everything that differs between these episodes, within a policy or between policies.

    policies: the policy of each episode. Settings are compared within one policy only; a value is then the names and
    texts of those that vary. `ENDED_EARLY` is listed if any episode failed, was aborted or was interrupted.
    """
    found = [_counted(aspect, map(value, episodes), policies) for aspect, value in _ASPECTS.items()]
    early = [not episode.n_steps or episode.status is not EpisodeStatus.COMPLETED for episode in episodes]
    if any(early):
        found.append(_counted(ENDED_EARLY, early, policies))
    by_policy = _by_policy(episodes, policies)
    for policy, names in varying_settings(episodes, policies).items():
        its = [tuple((name, setting_text(e.spec.policy.params, name)) for name in names) for e in by_policy[policy]]
        found.append(_counted(SETTINGS, its, [policy] * len(its)))
    return tuple(each for each in found if len(each.values) > 1 or each.aspect == ENDED_EARLY)


def varying_settings(episodes: Sequence[EpisodeSummary], policies: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Policy -> the names of the settings that differ between its episodes; only policies that have some."""
    varying: dict[str, tuple[str, ...]] = {}
    for policy, its in _by_policy(episodes, policies).items():
        given = [episode.spec.policy.params for episode in its]
        names = dict.fromkeys(name for settings in given for name in settings)
        varying[policy] = tuple(name for name in names if len({setting_text(each, name) for each in given}) > 1)
    return {policy: names for policy, names in varying.items() if names}


def setting_text(settings: Mapping[str, object], name: str) -> str:
    """A setting as text; equal values give equal texts."""
    if name not in settings:
        return "not given"
    value = settings[name]
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def seed_overlap(episodes: Sequence[EpisodeSummary], policies: Sequence[str]) -> SeedOverlap:
    seeds = {policy: {episode.seed for episode in its} for policy, its in _by_policy(episodes, policies).items()}
    common = set[int].intersection(*seeds.values()) if seeds else set[int]()
    return SeedOverlap({policy: tuple(sorted(its)) for policy, its in seeds.items()}, tuple(sorted(common)))


def _by_policy(episodes: Sequence[EpisodeSummary], policies: Sequence[str]) -> dict[str, list[EpisodeSummary]]:
    grouped: dict[str, list[EpisodeSummary]] = {}
    for episode, policy in zip(episodes, policies, strict=True):
        grouped.setdefault(policy, []).append(episode)
    return grouped


def _counted(aspect: str, values: Iterable[Hashable], policies: Sequence[str]) -> Difference:
    counts: dict[Hashable, Counter[str]] = {}
    for value, policy in zip(values, policies, strict=True):
        counts.setdefault(value, Counter())[policy] += 1
    most_first = sorted(counts.items(), key=lambda entry: -entry[1].total())
    return Difference(aspect, tuple((value, dict(by)) for value, by in most_first))
