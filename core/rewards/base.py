"""What a reward strategy is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.types import RewardComponent, RewardConfig, StateFacts

if TYPE_CHECKING:  # it brings scipy, which no worker needs
    from core.facts.columns import FactColumns

Params = TypeVar("Params")

VERSION_PARAM: Final = "strategy_version"
"""Where a checked configuration says which version of its strategy earned what is stored; it counts in the hash."""


@dataclass(frozen=True, slots=True)
class NoParams:
    """For strategies that `RewardConfig`'s own fields are enough for."""


@dataclass(frozen=True)
class Change:
    """One decision as strategies see it: the facts before and after, whose tables can be read and not changed.

    env_reward: what the environment paid for its steps. is_end: the world is over after it, or a counted cap reached.
    """

    before: StateFacts
    after: StateFacts
    env_reward: float = 0.0
    is_end: bool = False

    @cached_property
    def unlocked(self) -> tuple[str, ...]:
        """Achievements false (or absent) before and true after, in the order of `after`."""
        had = self.before.achievements
        return tuple(name for name, has in self.after.achievements.items() if has and not had.get(name, False))


class Strategy(ABC, Generic[Params]):
    """Turns a decision into components. It keeps nothing between decisions; the shaper counts credits.

    name: what it is stored under; aliases: other names that mean it (all in lower case, none that another has).
    version: 1, and raised whenever the same configuration and facts would earn something else; from 2 on it is part of
    a checked configuration (`params["strategy_version"]`) and so of its hash.
    uses_tables: whether weights, limits and resource tables play a part; forms show them then.
    is_potential_based: whether it pays the environment's reward (times a weight) plus gamma x phi(after) - phi(before)
    with phi = 0 after the end, for some phi of the state. Such shaping leaves the best policies as they are, so the
    audit does not call it farming.
    params_type: a frozen dataclass whose fields come from `core.params`; built from `RewardConfig.params`.

    All of this is checked when it is added to `STRATEGIES`. Whatever its methods raise or return that is no reward
    becomes an InvalidReward that names it.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    aliases: ClassVar[tuple[str, ...]] = ()
    label: ClassVar[str]
    description: ClassVar[str]
    uses_tables: ClassVar[bool] = False
    is_potential_based: ClassVar[bool] = False
    params_type: ClassVar[type[Any]] = NoParams

    def __init__(self, config: RewardConfig, params: Params) -> None:
        self.config = config
        self.params = params

    @abstractmethod
    def components(self, change: Change, credits: Mapping[str, int]) -> Iterator[RewardComponent]:
        """What `change` earns. `credits` says how often each unlock was paid before in this episode; every component
        of kind `achievement` that comes out counts as one more."""

    def values(self, columns: FactColumns) -> NDArray[np.float64] | None:
        """The sum of the components of every decision at once, float64 (N,); None where only `components` knows.

        What `columns` hands out can be read and not changed. It has to give what `components` gives, within 1e-9 of
        the size of its parts. Without it, re-scoring everything goes decision by decision, some hundred times slower.
        """
        return None
