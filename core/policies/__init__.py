"""The registered policies. To add one, see CONTRIBUTING.md."""

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
    PicturePolicy,
    Policy,
    PolicyKind,
    WaitingPolicy,
)
from core.policies.farmer import FarmerParams, FarmerPolicy
from core.policies.llm import LlmParams, check_llm, make_llm
from core.policies.random import RandomParams, RandomPolicy
from core.policies.scripted import ScriptedParams, ScriptedPolicy
from core.text import cut, visible
from core.types import PolicySpec

__all__ = [
    "HISTORY_LENGTH",
    "OUT_OF_BUDGET",
    "OUT_OF_TIME",
    "POLICIES",
    "Policy",
    "STOPPED",
    "BudgetSpent",
    "PicturePolicy",
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
        description="Every action equally likely, drawn from its own generator: the baseline to beat.",
        params=RandomParams,
        make=RandomPolicy,
    ),
    PolicyKind(
        name="farmer",
        label="Farmer",
        description="For teaching: plays like Scripted until its first drink, then repeats one action for reward. "
        "The audit should find it.",
        params=FarmerParams,
        make=FarmerPolicy,
    ),
    PolicyKind(
        name="llm",
        label="Language model",
        description="Calls a model on any server with OpenAI's chat completions API, once per decision.",
        params=LlmParams,
        make=make_llm,
        check=check_llm,
        retired=("key_for",),
    ),
)
POLICIES: dict[str, PolicyKind] = {kind.name: kind for kind in _KINDS}


def make_policy(spec: PolicySpec, *, seed: int, max_actions: int) -> Policy:
    """max_actions: the limit of actions per call.

    Raises InvalidConfig for an unknown policy, an unknown parameter, or a value out of range.
    """
    kind, params = _read(spec)
    return kind.make(params, seed=seed, max_actions=max_actions)


def checked_policy(spec: PolicySpec) -> PolicySpec:
    """The spec with its canonical name and all parameters, so that later defaults do not change it.

    Raises InvalidConfig like `make_policy`.
    """
    kind, params = _read(spec)
    if kind.check is not None:
        kind.check(params)
    return PolicySpec(kind.name, asdict(params))


def _read(spec: PolicySpec) -> tuple[PolicyKind, Any]:
    kind = POLICIES.get(spec.name.strip().casefold())
    if kind is None:
        hint = did_you_mean(spec.name, POLICIES) or "."
        raise InvalidConfig(
            f'There is no policy "{cut(visible(spec.name), 100)}"{hint} Choose one of: {", ".join(POLICIES)}.'
        )
    return kind, read_params(kind.params, spec.params, f'policy "{kind.name}"', kind.retired)
