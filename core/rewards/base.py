"""What a reward strategy is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.errors import InvalidConfig, InvalidReward
from core.text import cut, visible
from core.types import RewardComponent, RewardConfig, StateFacts

if TYPE_CHECKING:  # it brings scipy, which no worker needs
    from core.facts.columns import FactColumns

Params = TypeVar("Params")

VERSION_PARAM: Final = "strategy_version"
"""The entry of `RewardConfig.params` that names a strategy's version, from 2 on. It counts in the hash."""


@dataclass(frozen=True, slots=True)
class NoParams:
    """For strategies that need nothing beyond `RewardConfig`'s own fields."""


@dataclass(frozen=True)
class Change:
    """One decision as strategies see it: the facts before and after, which can be read and not changed.

    env_reward: what the environment paid for its steps. is_end: the world is over after it, or a limit was reached.
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

    name, aliases: in lower case, and of no other strategy.
    version: 1, and raised whenever the same configuration and facts would earn something else.
    uses_tables: whether weights, limits and resource tables play a part; forms show them then.
    is_potential_based: whether it pays the environment's reward (times a weight) plus gamma x phi(after) - phi(before)
    with phi = 0 after the end, for some phi of the state. Such shaping leaves the best policies as they are, so the
    audit does not call it farming.
    params_type: a frozen dataclass whose fields come from `core.params`; built from `RewardConfig.params`.
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

        Has to equal what `components` gives, within 1e-9 of the size of its parts. Without it, re-scoring goes
        decision by decision, some hundred times slower.
        """
        return None


@contextmanager
def strategy_errors(what: str) -> Generator[None]:
    """The one boundary to strategies, which anyone may write: whatever they raise becomes an InvalidReward.

    what: which strategy failed and where. SystemExit is caught too: it would end the worker process.
    """
    try:
        yield
    except InvalidConfig:  # has its sentence already
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  foreign code
        raise InvalidReward(f"{what}: {type(error).__name__}: {cut(visible(str(error)), 300)}") from error
