"""How far a shaping is from a potential's difference, decision by decision.

A shaping F leaves the best policies as they are, in every world and for every reward, only where it is
F = gamma x phi(after) - phi(before) for some potential phi: A. Y. Ng, D. Harada, S. Russell, "Policy invariance under
reward transformations", ICML 1999. In episodes phi has to be 0 after the end, whatever ended them: M. Grzes, "Reward
shaping in episodic reinforcement learning", AAMAS 2017. Here a decision counts as one step of the process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.analysis import next_resource
from core.errors import InvalidInput
from core.facts.columns import FactColumns
from core.rewards.potentials import POTENTIALS
from core.scenes import PackedScenes

Floats = NDArray[np.float64]

TOLERANCE: Final = 1e-9
"""Deviations up to this share of the numbers that they come from, or of 1, are rounding."""


class Reading(StrEnum):
    """What a trainer does with the shaped reward, and so what of it is the shaping F."""

    ADDED = "added"  # to the environment's reward: F is the shaped reward
    INSTEAD = "instead"  # of the environment's reward: F is the shaped reward minus the environment's

    def shaping(self, rewards: Floats, env_rewards: Floats) -> Floats:
        """F of each decision: float64 (n,)."""
        return rewards - env_rewards if self is Reading.INSTEAD else rewards


@dataclass(frozen=True, slots=True)
class PotentialChoice:
    """A potential to pick. needs_scenes: it looks at the map."""

    name: str
    label: str
    description: str
    needs_scenes: bool = False


CHOICES: Final[dict[str, PotentialChoice]] = {
    **{name: PotentialChoice(name, each.label, each.description) for name, each in POTENTIALS.items()},
    next_resource.NAME: PotentialChoice(next_resource.NAME, next_resource.LABEL, next_resource.DESCRIPTION, True),
}


@dataclass(frozen=True)
class PotentialCheck:
    """A shaping compared with scale x (gamma x phi(after) - phi(before)) over the n decisions of one episode.

    shaping, before, after: float64 (n,): F, and phi before and after each decision; `after` is 0 at the end.
    ended: whether the last decision is the end; else the episode was cut off and phi stays what it was there.
    """

    shaping: Floats
    before: Floats
    after: Floats
    gamma: float
    scale: float
    ended: bool

    @cached_property
    def difference(self) -> Floats:
        """gamma x phi(after) - phi(before)."""
        return self.gamma * self.after - self.before

    @cached_property
    def expected(self) -> Floats:
        """What a shaping by this potential pays."""
        return self.scale * self.difference

    @cached_property
    def deviation(self) -> Floats:
        """F minus what is expected."""
        return self.shaping - self.expected

    @cached_property
    def violations(self) -> NDArray[np.int64]:
        """The decisions that deviate by more than rounding, in order."""
        size = abs(self.scale) * (np.abs(self.gamma * self.after) + np.abs(self.before)) + np.abs(self.shaping)
        agrees = np.abs(self.deviation) <= TOLERANCE * np.maximum(1.0, size)
        return np.flatnonzero(~agrees).astype(np.int64)

    @property
    def largest(self) -> int | None:
        """The decision that deviates most; None where none does."""
        return self._largest_of(self.violations)

    @property
    def largest_is_end(self) -> bool:
        """Whether the decision that deviates most is the end, where phi is 0."""
        return self.ended and self.largest == len(self.shaping) - 1

    @property
    def largest_before_end(self) -> int | None:
        """The one that deviates most of all but the last, which pays the whole potential back; None where none does."""
        return self._largest_of(self.violations[self.violations < len(self.shaping) - 1])

    def _largest_of(self, decisions: NDArray[np.int64]) -> int | None:
        return int(decisions[np.argmax(np.abs(self.deviation[decisions]))]) if len(decisions) else None

    @property
    def total_deviation(self) -> float:
        """The sum of all deviations, each by its size."""
        return float(np.abs(self.deviation).sum())

    @property
    def discounted_shaping(self) -> float:
        """What the shaping added to the return that a trainer with this gamma sees."""
        return self._discounted(self.shaping)

    @property
    def discounted_expected(self) -> float:
        """What a shaping by this potential adds to it: -scale x phi(start), whatever the policy does, once it ended."""
        return self._discounted(self.expected)

    @property
    def best_scale(self) -> float | None:
        """The scale with the least sum of squared deviations; None where the potential's difference is always 0."""
        power = float(self.difference @ self.difference)
        return float(self.shaping @ self.difference) / power if power > 0 else None

    @property
    def explained(self) -> float:
        """How much of the shaping's sum of squares is gone at the best scale, 0 to 1; 1 where there is no shaping."""
        power = float(self.shaping @ self.shaping)
        if power == 0:
            return 1.0
        rest = self.shaping - (self.best_scale or 0.0) * self.difference
        return max(0.0, 1.0 - float(rest @ rest) / power)

    def _discounted(self, values: Floats) -> float:
        return float(values @ self.gamma ** np.arange(len(values), dtype=np.float64))


def potential_around(name: str, columns: FactColumns, scenes: PackedScenes | None = None) -> tuple[Floats, Floats]:
    """phi before and after each decision of one episode: two float64 (N,).

    scenes: all of it, for a potential that needs them. Raises InvalidInput where scenes are needed and missing.
    """
    if name in POTENTIALS:
        return POTENTIALS[name].around(columns)
    if scenes is None:
        raise InvalidInput(f'The potential "{name}" needs the episode\'s stored scenes.')
    return next_resource.around(columns, scenes)


def check(
    shaping: Floats,
    around: tuple[Floats, Floats],
    *,
    is_end: NDArray[np.bool_] | Sequence[bool],
    gamma: float = 0.99,
    scale: float = 1.0,
) -> PotentialCheck:
    """Compare a shaping with a potential.

    shaping: (n,), see `Reading.shaping`. around: phi before and after, see `potential_around`. is_end: (n,), see
    `FactColumns.is_end`.
    """
    before, after = around
    ends = np.asarray(is_end, np.bool_)
    ended = bool(len(ends) and ends[-1])
    return PotentialCheck(np.asarray(shaping, np.float64), before, np.where(ends, 0.0, after), gamma, scale, ended)
