"""The policies that can be launched by name. How to add one: write it, and register it here."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from core.errors import InvalidConfig, did_you_mean
from core.params import read_params
from core.policies.base import (
    HISTORY_LENGTH,
    OUT_OF_BUDGET,
    OUT_OF_TIME,
    STOPPED,
    BudgetSpent,
    Policy,
    PolicyKind,
    SeeingPolicy,
    WaitingPolicy,
)
from core.policies.farmer import FarmerParams, FarmerPolicy
from core.policies.llm import LlmParams, check_llm, make_llm
from core.policies.random import RandomParams, RandomPolicy
from core.policies.scripted import ScriptedParams, ScriptedPolicy
from core.text import quoted
from core.types import PolicySpec

__all__ = [
    "HISTORY_LENGTH",
    "OUT_OF_BUDGET",
    "OUT_OF_TIME",
    "POLICIES",
    "Policy",
    "PolicyKind",
    "STOPPED",
    "BudgetSpent",
    "SeeingPolicy",
    "WaitingPolicy",
    "checked_policy",
    "make_policy",
]

_KINDS = (
    PolicyKind(
        name="scripted",
        label="Scripted",
        description="Follows a readable script: tools, food, shelter at night, a fenced plant. Sees the whole map.",
        params=ScriptedParams,
        make=ScriptedPolicy,
    ),
    PolicyKind(
        name="random",
        label="Random",
        description="Every action equally likely, drawn from its own generator: the least any policy should beat.",
        params=RandomParams,
        make=RandomPolicy,
    ),
    PolicyKind(
        name="farmer",
        label="Farmer",
        description="For teaching: plays as scripted until its first drink, then repeats what a reward may pay for "
        "again and again. The audit should find it.",
        params=FarmerParams,
        make=FarmerPolicy,
    ),
    PolicyKind(
        name="llm",
        label="Language model",
        description="Asks a model on any server that speaks OpenAI's chat completions, one call a decision.",
        params=LlmParams,
        make=make_llm,
        check=check_llm,
        retired=("key_for",),
    ),
)
POLICIES: dict[str, PolicyKind] = {kind.name: kind for kind in _KINDS}


def make_policy(spec: PolicySpec, *, seed: int, max_actions: int) -> Policy:
    """Builds the policy that a spec names; `max_actions` is how many actions one call may hold.

    Raises InvalidConfig for an unknown name, an unknown parameter, or a value out of range.
    """
    kind, params = _read(spec)
    return kind.make(params, seed=seed, max_actions=max_actions)


def checked_policy(spec: PolicySpec) -> PolicySpec:
    """The spec under its registered name with all its parameters, so that later defaults change nothing of it.

    Raises InvalidConfig as `make_policy`.
    """
    kind, params = _read(spec)
    if kind.check is not None:
        kind.check(params)
    return PolicySpec(kind.name, asdict(params))


def _read(spec: object) -> tuple[PolicyKind, Any]:
    if not isinstance(spec, PolicySpec):
        raise InvalidConfig(f"The policy is {quoted(spec)}; give a PolicySpec, such as PolicySpec('random').")
    kind = _kind(spec.name)
    return kind, read_params(kind.params, spec.params, f'policy "{kind.name}"', kind.retired)


def _kind(name: object) -> PolicyKind:
    if not isinstance(name, str):
        raise InvalidConfig(
            f"The policy's name is {quoted(name)} and not a text; choose one of: {', '.join(POLICIES)}."
        )
    kind = POLICIES.get(name.strip().casefold())
    if kind is None:
        hint = did_you_mean(name, POLICIES) or "."
        raise InvalidConfig(f'There is no policy "{quoted(name)[1:-1]}"{hint} Choose one of: {", ".join(POLICIES)}.')
    return kind
