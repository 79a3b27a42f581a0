"""The policy protocols: observation and previous decisions in, tool calls out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from core.env.observation import Observation
from core.types import Decision, PolicyReply, Spent

HISTORY_LENGTH = 16  # previous decisions that a policy is given, at most

# Error kinds of a reply or a PolicyError that end an episode without failing it.
OUT_OF_TIME = "out_of_time"
STOPPED = "stopped"  # a user stopped the run during the call
OUT_OF_BUDGET = "out_of_budget"

BudgetSpent = Callable[[Spent], bool]
"""Whether the run's budget is spent, given what this decision spent and the store does not have yet."""


class Policy(Protocol):
    """Plays one episode at a time: `reset` before the first `decide` of each world, `close` once at the end.

    `decide` gets the observation and the previous decisions, newest last, at most `HISTORY_LENGTH`. It raises
    PolicyError if it cannot answer; an invalid answer is data in the reply.

    Nothing interrupts `decide`. A policy that may wait for something must also be a `WaitingPolicy`.
    """

    name: str

    def reset(self, seed: int) -> None:
        """Forget the previous world. All randomness until the next reset follows from `seed`."""
        ...

    def decide(self, observation: Observation, history: Sequence[Decision]) -> PolicyReply: ...

    def close(self) -> None: ...


@runtime_checkable
class WaitingPolicy(Policy, Protocol):
    """A policy whose `decide` may wait: for a model, a user, another program."""

    def set_limits(self, time_left_s: float, should_stop: Callable[[], bool], budget_spent: BudgetSpent) -> None:
        """Called before each `decide`, which must then return or raise within `time_left_s` seconds.

        Afterwards the reply (or PolicyError) has the kind `OUT_OF_TIME`. While waiting, `decide` calls `should_stop` at
        least once a second, and answers with `STOPPED` once it is true. Before it calls a model again within one
        `decide`, it calls `budget_spent`, and answers with `OUT_OF_BUDGET` if that is true.
        """
        ...


@runtime_checkable
class PicturePolicy(Policy, Protocol):
    """A policy that gets `Observation.picture`. picture_px: its width and height in pixels; 0: no picture."""

    picture_px: int


@dataclass(frozen=True, slots=True)
class PolicyKind:
    """A registered policy.

    params: a frozen dataclass whose fields come from `core.params`.
    make(params, *, seed, max_actions): a new policy. max_actions: the limit of actions per call.
    check: raises InvalidConfig for a record that cannot be launched although each value is valid.
    retired: parameters of earlier versions, which stored runs still contain.
    """

    name: str
    label: str
    description: str
    params: type[Any]
    make: Callable[..., Policy]
    check: Callable[[Any], None] | None = None
    retired: tuple[str, ...] = ()
