"""The base class of reward strategies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from core.errors import InvalidConfig, InvalidReward
from core.facts import Change
from core.text import cut, visible
from core.types import Floats, RewardComponent, RewardConfig

if TYPE_CHECKING:  # it brings scipy, which no worker needs
    from core.facts.columns import FactColumns

Params = TypeVar("Params")

VERSION_PARAM: Final = "strategy_version"
"""The entry of `RewardConfig.params` with the strategy's version, from version 2 on. It is part of the hash."""


@dataclass(frozen=True, slots=True)
class NoParams:
    """For strategies without parameters of their own."""


class Strategy(ABC, Generic[Params]):
    """Turns a decision into reward components. It has no state; `RewardShaper` counts credits.

    name, aliases: lower case, unique among all strategies.
    version: starts at 1; raise it whenever the same configuration and facts would earn something else.
    uses_tables: whether it uses weights, limits and resource tables, so that forms show them.
    is_potential_based: whether it pays the environment's reward (times a weight) plus gamma x phi(after) - phi(before)
    with phi = 0 after the end, for some phi of the state. Such shaping does not change the best policies, so the audit
    does not call it farming.
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
        """What `change` earns. credits: how often each unlock was paid before in this episode; each component of kind
        `achievement` that is yielded counts as one more."""

    def values(self, columns: FactColumns) -> Floats | None:
        """The sum of the components of each decision, for many decisions at once: float64 (N,).

        It must equal what `components` yields, within 1e-9 of the size of its parts. None, the default: re-scoring goes
        decision by decision, about a hundred times slower.
        """
        return None


@contextmanager
def strategy_errors(what: str) -> Generator[None]:
    """The boundary to strategies, which users may write: whatever they raise becomes an InvalidReward.

    what: which strategy failed and where. SystemExit is caught too: it would end the worker process.
    """
    try:
        yield
    except InvalidConfig:  # already a sentence for users
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  foreign code
        raise InvalidReward(f"{what}: {type(error).__name__}: {cut(visible(str(error)), 300)}") from error
