"""The launch form's values in this session, and what its link sets them to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import streamlit as st

from core.env.rules import ACHIEVEMENTS, ITEMS
from core.errors import InvalidReward
from core.policies import POLICIES
from core.rewards import STRATEGIES, from_document
from core.text import join
from core.types import EpisodeSpec, PolicySpec, RewardConfig
from pages.components.browser.url import write_form_to_url
from pages.components.launch import link
from pages.components.shared.form_state import FormState, param_name
from pages.components.text.escape import one_line

LAUNCH = FormState("launch_")

PREFIX = LAUNCH.prefix
"""Prefix of a field's session-state key."""

LAUNCH_BUTTON = f"{PREFIX}now"
"""Always drawn. Streamlit drops a button's state when the page is left, so a missing one means a new visit."""

_MAX_ECHOED = 60
_MAX_NAMED = 5
_MISSING = f"{PREFIX}link_without"
_PROBLEMS = f"{PREFIX}link_problems"
_SHOWN_FOR = f"{PREFIX}link_problems_for"
_POLICY_BEFORE = f"{PREFIX}policy_before"
_CLEAR_NAME = f"{PREFIX}clear_name"

REWARD_OF_LINK = f"{PREFIX}reward_of_link"
"""The checked reward configuration of a link, until the reward form takes it over."""

PROFILE_OF_LINK = f"{PREFIX}profile_of_link"
"""The connection profile that a link names (empty if unknown), until the connection form takes it over."""


def begin() -> None:
    """Fills the form from the link when the page is opened by one; then fills empty fields with defaults.

    Invalid values of the link become the default; `link_problems` reports them.
    """
    arriving = LAUNCH_BUTTON not in st.session_state
    if arriving and not link.KNOWN.isdisjoint(st.query_params):
        _fill_from_link()
    if st.session_state.pop(_CLEAR_NAME, False):
        st.session_state[f"{PREFIX}name"] = ""
    for name in link.FORM_FIELDS:
        LAUNCH.keep(name, link.default_of(name, st.session_state.get(f"{PREFIX}policy")))
    _follow_policy()


def _fill_from_link() -> None:
    problems: list[str] = []
    for name, field in link.FORM_FIELDS.items():
        # Settings of other policies stay, unless the link has them.
        if _given(name, field) is not None or field.policy in ("", st.session_state.get(f"{PREFIX}policy")):
            st.session_state[PREFIX + name] = _from_link(name, field, problems)
    st.session_state[_POLICY_BEFORE] = st.session_state[f"{PREFIX}policy"]
    if _given(link.PROFILE, link.FORM_FIELDS[link.PROFILE]) is not None:
        st.session_state[PROFILE_OF_LINK] = st.session_state[PREFIX + link.PROFILE]
    st.session_state[REWARD_OF_LINK] = _reward_from_link(problems)
    st.session_state[_MISSING] = st.query_params.get(link.OMITTED, "").split(",")
    unknown = [
        name for name in st.query_params if name not in link.KNOWN and name.split(".")[0] in {*POLICIES, *STRATEGIES}
    ]
    for name in unknown[:_MAX_NAMED]:
        problems.append(f'Unknown setting in the link: "{one_line(name, _MAX_ECHOED)}".')
    st.session_state[_PROBLEMS] = problems
    st.session_state[_SHOWN_FOR] = None


def fill(spec: EpisodeSpec, notes: Sequence[str]) -> None:
    """Fills the form with an episode's settings, in a callback. notes: sentences shown until the form is changed."""
    values = link.spec_values(spec, (spec.seed,), 1)
    for name in link.FORM_FIELDS.keys() & values.keys():
        st.session_state[PREFIX + name] = values[name]
    for name, value in spec.policy.params.items():
        if f"{spec.policy.name}.{name}" in link.TEXTS:
            st.session_state[PREFIX + param_name(spec.policy.name, name)] = value
    st.session_state[_POLICY_BEFORE] = spec.policy.name
    st.session_state[REWARD_OF_LINK] = spec.reward
    st.session_state[_PROBLEMS] = list(notes)
    st.session_state[_SHOWN_FOR] = None


def _reward_from_link(problems: list[str]) -> RewardConfig:
    values = {name: _from_link(name, field, problems) for name, field in link.REWARD_FIELDS.items()}
    try:
        if (text := st.query_params.get(link.REWARDS)) is not None:
            return from_document(text, achievements=ACHIEVEMENTS, items=ITEMS)
        return link.reward_of(values)
    except InvalidReward as error:
        problems.append(f"Invalid reward configuration in the link: {error} The form shows the defaults.")
        return link.reward_of({name: field.default for name, field in link.REWARD_FIELDS.items()})


def _follow_policy() -> None:
    """Changes the decision limit to the chosen policy's default, unless the user has set it."""
    now = st.session_state[f"{PREFIX}policy"]
    before = st.session_state.get(_POLICY_BEFORE, now)
    key = f"{PREFIX}max_decisions"
    if before != now and st.session_state[key] == link.default_of("max_decisions", before):
        st.session_state[key] = link.default_of("max_decisions", now)
    st.session_state[_POLICY_BEFORE] = now


def clear_name_next_time() -> None:
    """A name belongs to one run, so the form starts without it after a launch."""
    st.session_state[_CLEAR_NAME] = True


def show_link(reward: RewardConfig, policy: PolicySpec) -> None:
    """Writes the form to the URL. reward, policy: as entered, valid or not."""
    write_form_to_url("launch", _form_link(reward, policy))


def _form_link(reward: RewardConfig, policy: PolicySpec) -> dict[str, str]:
    held = {name: st.session_state[PREFIX + name] for name in link.FORM_FIELDS}
    return link.link_of({**held, **link.policy_values(policy), **link.reward_values(reward)})


def _given(name: str, field: link.LinkField) -> str | None:
    return st.query_params.get(field.named, st.query_params.get(name))


def _from_link(name: str, field: link.LinkField, problems: list[str]) -> Any:
    text = _given(name, field)
    default = link.default_of(name, st.session_state.get(f"{PREFIX}policy"))
    if text is None:
        return default
    try:
        return field.read(text)
    except ValueError as error:
        instead = "Left empty." if default in ("", None) else f"Set to {default}."
        problems.append(f'The link\'s "{field.named or name}" is "{one_line(text, _MAX_ECHOED)}": {error} {instead}')
        return default


def link_problems(reward: RewardConfig, policy: PolicySpec) -> list[str]:
    """Messages about invalid or missing values of the link, until the form is changed. reward, policy: as entered.

    They must survive reruns without a change: the page reruns by itself when worlds were generated.
    """
    problems = st.session_state.get(_PROBLEMS, ())
    if (missing := st.session_state.pop(_MISSING, None)) is not None:
        problems = st.session_state[_PROBLEMS] = [*problems, *_missing_from_link(missing, policy)]
    if not problems:
        return []
    now = _form_link(reward, policy)
    if st.session_state.get(_SHOWN_FOR) is None:
        st.session_state[_SHOWN_FOR] = now
    return list(problems) if st.session_state[_SHOWN_FOR] == now else []


def _missing_from_link(names: list[str], policy: PolicySpec) -> Iterator[str]:
    """names: what the link leaves out. A text that this session still has is not missing."""
    missing = [f"“{field.named or name}”" for name, field in link.ALL_FIELDS.items() if name in names]
    missing += ["reward configuration"] if link.REWARDS in names else []
    for name, spec in link.TEXTS.items():
        is_its_own = name == f"{policy.name}.{spec.name}"
        if name in names and is_its_own and policy.params.get(spec.name, spec.default) == spec.default:
            missing.append(f"“{spec.metadata['label']}”")
    if missing:
        yield (
            f"This link does not include the {join(missing)}: links hold neither texts of a policy nor values too long "
            "for a URL. The form shows the defaults instead."
        )
