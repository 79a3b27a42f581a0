"""What a policy is: it sees an observation and the decisions before it, and answers with tool calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from core.env.observation import Observation
from core.types import Decision, PolicyReply, Spent

HISTORY_LENGTH = 16  # decisions a policy is shown, at most
# Kinds of error, of a reply or a PolicyError, that are no failure of the policy:
OUT_OF_TIME = "out_of_time"  # what was waited for did not come within the time allowed
STOPPED = "stopped"  # a person asked to stop while it waited
BudgetSpent = Callable[[Spent], bool]
"""Whether the run may ask no model any more, with this much spent that is not recorded yet."""

OUT_OF_BUDGET = "out_of_budget"  # the run may ask no model any more


class Policy(Protocol):
    """Plays one episode at a time. `reset` comes before the first `decide` of each world, `close` once at the end.

    `decide` sees nothing but its arguments: the observation and the previous decisions, newest last, at most
    `HISTORY_LENGTH`. It raises `PolicyError` when it cannot answer; a bad answer is data in the reply instead.

    Nothing cuts a `decide` short: no thread, no signal. One that only computes answers in milliseconds; one that may
    wait for something has to be a `WaitingPolicy` too.
    """

    name: str

    def reset(self, seed: int) -> None:
        """Forgets the world before; everything random from here on follows from `seed`."""
        ...

    def decide(self, observation: Observation, history: Sequence[Decision]) -> PolicyReply:
        """Answers one observation."""
        ...

    def close(self) -> None:
        """Gives back what the policy holds (connections, say)."""
        ...


@runtime_checkable
class WaitingPolicy(Policy, Protocol):
    """A policy whose `decide` may wait for something outside: a model, a person, another program."""

    def allow(
        self,
        time_left_s: float,
        should_stop: Callable[[], bool],
        budget_spent: BudgetSpent,
    ) -> None:
        """Comes before each `decide`, which then has to return or raise within that many seconds.

        They are what is left of the rollout's `max_time_s`. Where the answer does not come in time, the reply (or a
        PolicyError) has the kind `OUT_OF_TIME`: the episode then ends by that cap and not as failed. While it waits it
        asks `should_stop` at least once a second, and answers with the kind `STOPPED` once that is true. Before it asks
        a model again within one `decide`, it asks `budget_spent` with what this `decide` has spent so far, and answers
        with the kind `OUT_OF_BUDGET` where that is true.
        """
        ...


@runtime_checkable
class SeeingPolicy(Policy, Protocol):
    """A policy that looks at pictures: `Observation.picture` is drawn for it, so many pixels wide and high.

    picture_px: 0 for none.
    """

    picture_px: int


@dataclass(frozen=True, slots=True)
class PolicyKind:
    """A registered policy: the name it is stored under, what people read, and its parameters.

    params: a frozen dataclass whose fields come from `core.params`; their metadata is the form's
    labels, bounds and help.
    make: builds a policy from such a record, the policy seed and the cap on actions per call.
    check: raises InvalidConfig for a record whose parts are each possible but cannot be played; asked before a launch.
    retired: parameters of earlier versions, which stored runs still hold.
    """

    name: str
    label: str
    description: str
    params: type[Any]
    make: MakePolicy
    check: Callable[[Any], None] | None = None
    retired: tuple[str, ...] = ()


class MakePolicy(Protocol):
    """Builds a policy from its parameters, its seed, and how many actions one call may hold."""

    def __call__(self, params: Any, *, seed: int, max_actions: int) -> Policy: ...
