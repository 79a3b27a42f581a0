"""How far a shaping is from the difference of a potential, decision by decision.

A shaping F leaves the best policies unchanged, in every world and for every reward, only if it is
F = gamma x phi(after) - phi(before) for some potential phi: A. Y. Ng, D. Harada, S. Russell, "Policy invariance under
reward transformations", ICML 1999. phi has to be 0 after the end of an episode, whatever ended it: M. Grzes, "Reward
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

from core.analysis.next_resource import NextResource
from core.analysis.tolerance import ROUNDING
from core.rewards.potentials import POTENTIALS, Potential
from core.types import Floats


class Reading(StrEnum):
    """How a trainer uses the shaped reward, which decides what the shaping F is."""

    ADDED = "added"  # to the environment's reward: F is the shaped reward
    INSTEAD = "instead"  # of the environment's reward: F is the shaped reward minus the environment's

    def shaping(self, rewards: Floats, env_rewards: Floats) -> Floats:
        """F of each decision: float64 (n,)."""
        return rewards - env_rewards if self is Reading.INSTEAD else rewards


CHOICES: Final[dict[str, Potential | type[NextResource]]] = {**POTENTIALS, NextResource.name: NextResource}
"""The potentials to compare with. The last one needs the scenes of an episode, which `NextResource` is made with."""


@dataclass(frozen=True)
class PotentialCheck:
    """A shaping compared with scale x (gamma x phi(after) - phi(before)) over the n decisions of one episode.

    shaping, before, after: float64 (n,): F, and phi before and after each decision; `after` is 0 at the end.
    ended: whether the last decision is the episode's end; else it was cut off, and phi keeps its last value.
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
        """The shaping that this potential would pay."""
        return self.scale * self.difference

    @cached_property
    def deviation(self) -> Floats:
        return self.shaping - self.expected

    @cached_property
    def violations(self) -> NDArray[np.int64]:
        """The decisions that deviate by more than rounding, in order."""
        size = abs(self.scale) * (np.abs(self.gamma * self.after) + np.abs(self.before)) + np.abs(self.shaping)
        return np.flatnonzero(np.abs(self.deviation) > ROUNDING * np.maximum(1.0, size)).astype(np.int64)

    @property
    def largest(self) -> int | None:
        """The decision that deviates most; None if none does."""
        return self._largest_of(self.violations)

    @property
    def largest_is_end(self) -> bool:
        """Whether the decision that deviates most is the episode's end, after which phi is 0."""
        return self.ended and self.largest == len(self.shaping) - 1

    @property
    def largest_before_end(self) -> int | None:
        """The same without the last decision, which pays back the whole potential."""
        return self._largest_of(self.violations[self.violations < len(self.shaping) - 1])

    def _largest_of(self, decisions: NDArray[np.int64]) -> int | None:
        return int(decisions[np.argmax(np.abs(self.deviation[decisions]))]) if len(decisions) else None

    @property
    def total_deviation(self) -> float:
        """The sum of all absolute deviations."""
        return float(np.abs(self.deviation).sum())

    @property
    def discounted_shaping(self) -> float:
        """What the shaping adds to the return of a trainer with this gamma."""
        return self._discounted(self.shaping)

    @property
    def discounted_expected(self) -> float:
        """What this potential would add to it: -scale x phi(start) in an ended episode, whatever the policy does."""
        return self._discounted(self.expected)

    @property
    def best_scale(self) -> float | None:
        """The scale with the smallest sum of squared deviations; None if the potential never changes."""
        power = float(self.difference @ self.difference)
        return float(self.shaping @ self.difference) / power if power > 0 else None

    @property
    def explained(self) -> float:
        """The share of the shaping's sum of squares that the best scale explains, 0 to 1; 1 without any shaping."""
        power = float(self.shaping @ self.shaping)
        if power == 0:
            return 1.0
        rest = self.shaping - (self.best_scale or 0.0) * self.difference
        return max(0.0, 1.0 - float(rest @ rest) / power)

    def _discounted(self, values: Floats) -> float:
        return float(values @ self.gamma ** np.arange(len(values), dtype=np.float64))


def check(
    shaping: Floats,
    around: tuple[Floats, Floats],
    *,
    is_end: NDArray[np.bool_] | Sequence[bool],
    gamma: float = 0.99,
    scale: float = 1.0,
) -> PotentialCheck:
    """Compare a shaping with a potential.

    shaping: float64 (n,), see `Reading.shaping`. around: phi before and after, see `Potential.around`. is_end: (n,),
    see `FactColumns.is_end`.
    """
    before, after = around
    ended = bool(len(is_end) and is_end[-1])
    return PotentialCheck(shaping, before, np.where(is_end, 0.0, after), gamma, scale, ended)
