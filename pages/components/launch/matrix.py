"""Several policies and reward configurations in one launch: each policy with each configuration is a run."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import product
from typing import Any, Final

import streamlit as st

from core.batch import MAX_RUNS
from core.env.rules import ACHIEVEMENTS, ENGINE_VERSION, ITEMS
from core.errors import InvalidConfig
from core.plan import LaunchPlan, make_cell, make_run
from core.policies import POLICIES
from core.policies.llm import LlmParams
from core.text import plural
from core.types import ModelProfile, PolicySpec, RewardConfig, Run
from pages.components.launch.state import PREFIX
from pages.components.shared.state import store
from pages.components.text.escape import escape, one_line

_CONNECTION: Final = "connection:"
_MAX_NAME_LENGTH: Final = 60
_POLICIES: Final = f"{PREFIX}also_policies"
_REWARDS: Final = f"{PREFIX}also_rewards"


@dataclass(frozen=True, slots=True)
class Matrix:
    """What is played besides the form's own policy and reward configuration, each with a label."""

    policies: tuple[tuple[str, PolicySpec], ...] = ()
    rewards: tuple[tuple[str, RewardConfig], ...] = ()

    @property
    def is_one_run(self) -> bool:
        return not self.policies and not self.rewards


def matrix_fields(policy: PolicySpec) -> Matrix:
    """policy: the form's own."""
    connections = {f"{_CONNECTION}{profile.name}": profile for profile in store().profiles.all().rows}
    rewards = {saved.name: saved.config for saved in store().rewards.saved().rows}
    others = [name for name in POLICIES if name not in ("llm", policy.name)]
    _drop_unknown(_POLICIES, [*others, *connections])
    _drop_unknown(_REWARDS, list(rewards))
    with st.expander("Compare several", expanded=bool(st.session_state[_POLICIES] or st.session_state[_REWARDS])):
        names: list[str] = st.multiselect(
            "Other policies",
            [*others, *connections],
            format_func=_policy_label,
            key=_POLICIES,
            persist_state="session",
            placeholder="None",
            help="Each plays the same seeds with its default settings. A saved connection plays with the settings of "
            "the language model in the Policy tab, if that is chosen.",
        )
        chosen: list[str] = st.multiselect(
            "Other rewards",
            list(rewards),
            format_func=lambda name: one_line(name, _MAX_NAME_LENGTH),
            key=_REWARDS,
            persist_state="session",
            placeholder="None" if rewards else "None saved yet",
            help="Saved configurations. Each is a run of its own, because a policy may look at its rewards.",
        )
    return Matrix(
        tuple((name.removeprefix(_CONNECTION), _spec(name, policy, connections)) for name in names),
        tuple((name, rewards[name]) for name in chosen),
    )


def runs_of(plan: LaunchPlan, matrix: Matrix) -> tuple[Run, ...]:
    """A run for each cell. Raises InvalidInput."""
    checked = {"engine_version": ENGINE_VERSION, "achievements": ACHIEVEMENTS, "items": ITEMS}
    if matrix.is_one_run:
        return (make_run(plan, **checked),)
    batch_id = f"launch-{uuid.uuid4().hex[:12]}"
    rows, columns = cells_of(plan, matrix)
    if len(rows) * len(columns) > MAX_RUNS:
        raise InvalidConfig(f"{len(rows) * len(columns):,} runs are more than the limit of {MAX_RUNS}.")
    make: Any = partial(make_cell, plan, batch_id=batch_id, **checked)
    return tuple(
        make(policy, reward, cell=(row, column))
        for (row, policy), (column, reward) in product(enumerate(rows), enumerate(columns))
    )


def cells_of(
    plan: LaunchPlan, matrix: Matrix
) -> tuple[Sequence[tuple[str, PolicySpec]], Sequence[tuple[str, RewardConfig]]]:
    """All policies and all reward configurations, the form's own first."""
    own_policy = (_own_label(plan.policy), plan.policy)
    own_reward = (f"{plan.reward.strategy} {plan.reward.config_hash[:8]}", plan.reward)
    return (own_policy, *matrix.policies), (own_reward, *matrix.rewards)


def plans_of(plan: LaunchPlan, matrix: Matrix) -> list[LaunchPlan]:
    """The plan of each cell."""
    rows, columns = cells_of(plan, matrix)
    return [replace(plan, policy=policy, reward=reward) for (_, policy), (_, reward) in product(rows, columns)]


def size_text(plan: LaunchPlan, matrix: Matrix) -> str:
    """`3 policies × 2 rewards = 6`"""
    rows, columns = cells_of(plan, matrix)
    return f"{plural(len(rows), 'policy', 'policies')} × {plural(len(columns), 'reward')} = {len(rows) * len(columns)}"


def _own_label(policy: PolicySpec) -> str:
    return str(policy.params.get("model") or policy.name) if policy.name == "llm" else policy.name


def _policy_label(name: str) -> str:
    if name.startswith(_CONNECTION):
        return escape(one_line(name.removeprefix(_CONNECTION), _MAX_NAME_LENGTH))
    return POLICIES[name].label


def _spec(name: str, policy: PolicySpec, connections: dict[str, ModelProfile]) -> PolicySpec:
    if name not in connections:
        return PolicySpec(name, {field.name: field.default for field in fields(POLICIES[name].params)})
    profile = connections[name]
    held = policy.params if policy.name == "llm" else {field.name: field.default for field in fields(LlmParams)}
    own = {
        "base_url": profile.base_url,
        "model": profile.model,
        "key_name": profile.key_name,
        "profile": profile.name,
    }
    return PolicySpec("llm", {**held, **own})


def _drop_unknown(key: str, options: list[str]) -> None:
    """What was deleted since, or is the form's own policy now."""
    st.session_state[key] = [name for name in st.session_state[key] if name in options]
