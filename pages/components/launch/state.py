"""The launch form's initial values: from its link, else from this session.

A link holds the whole form, except a policy's texts (such as a base URL or a prompt) and values too long for a URL. It
names those, so that the form it fills can report them as missing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, asdict, dataclass, fields
from typing import Any

import streamlit as st

from core.env.rules import ACHIEVEMENTS, ITEMS
from core.errors import InvalidReward
from core.params import Integer, Number, Text, kind_of
from core.policies import POLICIES
from core.rewards import STRATEGIES, checked, from_document, to_changes
from core.text import join
from core.types import EnvConfig, Limits, OnDone, PolicySpec, RewardConfig
from pages.components.browser.url import write_form_to_url
from pages.components.links.values import (
    MAX_NUMBER,
    fits_in_url,
    link_text,
    one_of,
    parse_number,
    parse_whole,
    reader_of,
)
from pages.components.shared.form_state import FormState, param_name
from pages.components.shared.state import store
from pages.components.text.escape import one_line

LAUNCH = FormState("launch_")

PREFIX = LAUNCH.prefix
"""Prefix of a field's session-state key."""

LAUNCH_BUTTON = f"{PREFIX}now"
"""Always drawn. Streamlit drops a button's state when the page is left, so a missing one means a new visit."""

_MAX_ECHOED = 60
_MAX_NAMED = 5
_REWARDS = "rewards"
_OMITTED = "without"
_MISSING = f"{PREFIX}link_without"
_PROBLEMS = f"{PREFIX}link_problems"
_SHOWN_FOR = f"{PREFIX}link_problems_for"
_POLICY_BEFORE = f"{PREFIX}policy_before"
DEFAULT_SEED = 42
_MODEL_DECISIONS = 10  # initially: each is a call that takes time and may cost money
_CLEAR_NAME = f"{PREFIX}clear_name"
_PROFILE = "param_llm_profile"
_OF_A_PROFILE = ("llm.base_url", "llm.model", "llm.key_name")

REWARD_OF_LINK = f"{PREFIX}reward_of_link"
"""The checked reward configuration of a link, until the reward form takes it over."""

PROFILE_OF_LINK = f"{PREFIX}profile_of_link"
"""The connection profile that a link names (empty if unknown), until the connection form takes it over."""


@dataclass(frozen=True, slots=True)
class LinkField:
    """A field that a link can carry. `read` raises ValueError with a message."""

    default: Any
    read: Callable[[str], Any]
    always: bool = False  # in the link even at its default
    named: str = ""
    """Another name in links: Streamlit removes URL parameters named like a filter of the Traces page when coming from
    there. The field's own name is read too."""
    policy: str = ""  # in the link for this policy only


def _profile(name: str) -> str:
    """A link holds only a profile's name: a URL in it could trick a user into sending a key to another host."""
    if name not in {profile.name for profile in store().profiles.all().rows}:
        raise ValueError("no saved connection has that name. Enter the connection in the Policy tab.")
    return name


def _own_fields(params: type[Any], owner: str, name: str, *, policy: str = "") -> dict[str, LinkField]:
    """A field for each parameter that is not text. owner: as in `param_name`. name: of the owner in links."""
    return {
        param_name(owner, spec.name): LinkField(
            spec.default,
            reader_of(kind_of(spec)),
            named=f"{name}.{spec.name}",
            policy=policy,
        )
        for spec in fields(params)
        if not (policy and _is_text(spec))
    }


def _is_text(spec: Field[Any]) -> bool:
    return isinstance(kind_of(spec), Text)


_LIMITS, _WORLD = Limits(), EnvConfig()
_COUNT = reader_of(Integer(1, MAX_NUMBER))
LINK_FIELDS: dict[str, LinkField] = {
    "seeds": LinkField(str(DEFAULT_SEED), str, always=True, named="play"),
    "policy": LinkField("scripted", one_of(POLICIES), always=True, named="by"),
    "episodes": LinkField(1, parse_whole, always=True),
    "name": LinkField("", str),
    "max_steps": LinkField(_LIMITS.max_steps, parse_whole),
    "max_decisions": LinkField(_LIMITS.max_decisions, parse_whole),
    "max_seconds": LinkField(_LIMITS.max_time_s, parse_number),
    "max_ops": LinkField(_LIMITS.max_ops, parse_whole),
    "on_done": LinkField(OnDone.TERMINATE.value, one_of({choice.value: choice for choice in OnDone})),
    "width": LinkField(_WORLD.area[0], parse_whole),
    "height": LinkField(_WORLD.area[1], parse_whole),
    "length": LinkField(_WORLD.length, parse_whole),
    "max_actions": LinkField(5, _COUNT),
    "budget_calls": LinkField(None, _COUNT, policy="llm"),
    "budget_tokens": LinkField(None, _COUNT, policy="llm"),
    "budget_usd": LinkField(None, reader_of(Number(0.0001, MAX_NUMBER)), policy="llm"),
    _PROFILE: LinkField("", _profile, named="profile", policy="llm"),
    **{
        name: field
        for kind in POLICIES.values()
        for name, field in _own_fields(kind.params, kind.name, kind.name, policy=kind.name).items()
    },
}

# For reward configurations with the default tables; any other is one JSON text, in `_REWARDS`.
_REWARD_FIELDS: dict[str, LinkField] = {
    "strategy": LinkField("per_achievement", one_of(STRATEGIES)),
    "lambda": LinkField(1.0, parse_number),
    **{
        name: field
        for kind in STRATEGIES.values()
        for name, field in _own_fields(kind.params_type, f"strategy_{kind.name}", kind.name).items()
    },
}

_TEXTS = {
    f"{kind.name}.{spec.name}": spec for kind in POLICIES.values() for spec in fields(kind.params) if _is_text(spec)
}
_ALL_FIELDS = LINK_FIELDS | _REWARD_FIELDS
_KNOWN = {*_ALL_FIELDS, *(field.named for field in _ALL_FIELDS.values()), _REWARDS, _OMITTED} - {""}


def reward_values(reward: RewardConfig) -> dict[str, Any]:
    """For `link_of`. Invalid configurations are included: the form that the link fills shows the error."""
    try:
        config = checked(reward)
        values = {
            "strategy": config.strategy,
            "lambda": config.indicator_lambda,
            **{param_name(f"strategy_{config.strategy}", name): value for name, value in config.params.items()},
        }
        return values if config == _reward_of(values) else {_REWARDS: to_changes(config)}
    except InvalidReward:
        return {_REWARDS: json.dumps(asdict(reward), separators=(",", ":"), default=str)}


def _reward_of(values: Mapping[str, Any]) -> RewardConfig:
    """The configuration with these values of `_REWARD_FIELDS`. Raises InvalidReward."""
    strategy, scale = values["strategy"], values["lambda"]
    own = {
        spec.name: param_name(f"strategy_{strategy}", spec.name) for spec in fields(STRATEGIES[strategy].params_type)
    }
    params = {name: values[field] for name, field in own.items()}
    return checked(RewardConfig(strategy=strategy, indicator_lambda=1.0 if scale is None else scale, params=params))


def policy_values(policy: PolicySpec) -> dict[str, Any]:
    """For `link_of`: the settings, and under `_OMITTED` the names of texts that the link leaves out."""
    kind = POLICIES.get(policy.name)
    held = {spec: policy.params.get(spec.name, spec.default) for spec in (fields(kind.params) if kind else ())}
    values = {param_name(policy.name, spec.name): value for spec, value in held.items()}
    of_profile = _OF_A_PROFILE if values.get(_PROFILE) else ()
    texts = {f"{policy.name}.{spec.name}" for spec, value in held.items() if _is_text(spec) and value != spec.default}
    texts -= {"llm.profile", *of_profile}
    return {"policy": policy.name, **values, _OMITTED: [name for name in _TEXTS if name in texts]}


def begin() -> None:
    """Fills the form from the link when the page is opened by one; then fills empty fields with defaults.

    Invalid values of the link become the default; `link_problems` reports them.
    """
    arriving = LAUNCH_BUTTON not in st.session_state
    if arriving and not _KNOWN.isdisjoint(st.query_params):
        _fill_from_link()
    if st.session_state.pop(_CLEAR_NAME, False):
        st.session_state[f"{PREFIX}name"] = ""
    for name in LINK_FIELDS:
        keep(name, _default(name, st.session_state.get(f"{PREFIX}policy")))
    _follow_policy()


def _fill_from_link() -> None:
    problems: list[str] = []
    for name, field in LINK_FIELDS.items():
        # Settings of other policies stay, unless the link has them.
        if _given(name, field) is not None or field.policy in ("", st.session_state.get(f"{PREFIX}policy")):
            st.session_state[PREFIX + name] = _from_link(name, field, problems)
    st.session_state[_POLICY_BEFORE] = st.session_state[f"{PREFIX}policy"]
    if _given(_PROFILE, LINK_FIELDS[_PROFILE]) is not None:
        st.session_state[PROFILE_OF_LINK] = st.session_state[PREFIX + _PROFILE]
    st.session_state[REWARD_OF_LINK] = _reward_from_link(problems)
    st.session_state[_MISSING] = st.query_params.get(_OMITTED, "").split(",")
    unknown = [
        name for name in st.query_params if name not in _KNOWN and name.split(".")[0] in {*POLICIES, *STRATEGIES}
    ]
    for name in unknown[:_MAX_NAMED]:
        problems.append(f'Unknown setting in the link: "{one_line(name, _MAX_ECHOED)}".')
    st.session_state[_PROBLEMS] = problems
    st.session_state[_SHOWN_FOR] = None


def _reward_from_link(problems: list[str]) -> RewardConfig:
    values = {name: _from_link(name, field, problems) for name, field in _REWARD_FIELDS.items()}
    try:
        if (text := st.query_params.get(_REWARDS)) is not None:
            return from_document(text, achievements=ACHIEVEMENTS, items=ITEMS)
        return _reward_of(values)
    except InvalidReward as error:
        problems.append(f"Invalid reward configuration in the link: {error} The form shows the defaults.")
        return _reward_of({name: field.default for name, field in _REWARD_FIELDS.items()})


def _default(name: str, policy: str | None) -> Any:
    return _MODEL_DECISIONS if name == "max_decisions" and policy == "llm" else _ALL_FIELDS[name].default


def _follow_policy() -> None:
    """Changes the decision limit to the chosen policy's default, unless the user has set it."""
    now = st.session_state[f"{PREFIX}policy"]
    before = st.session_state.get(_POLICY_BEFORE, now)
    key = f"{PREFIX}max_decisions"
    if before != now and st.session_state[key] == _default("max_decisions", before):
        st.session_state[key] = _default("max_decisions", now)
    st.session_state[_POLICY_BEFORE] = now


def clear_name_next_time() -> None:
    """A name belongs to one run, so the form starts without it after a launch."""
    st.session_state[_CLEAR_NAME] = True


def keep(name: str, default: Any) -> str:
    """The session-state key of a field, set to `default` if it has no value."""
    return LAUNCH.keep(name, default)


def show_link(reward: RewardConfig, policy: PolicySpec) -> None:
    """Writes the form to the URL. reward, policy: as entered, valid or not."""
    write_form_to_url("launch", _form_link(reward, policy))


def _form_link(reward: RewardConfig, policy: PolicySpec) -> dict[str, str]:
    held = {name: st.session_state[PREFIX + name] for name in LINK_FIELDS}
    return link_of({**held, **policy_values(policy), **reward_values(reward)})


def link_of(values: Mapping[str, Any]) -> dict[str, str]:
    """Query parameters that fill the form; defaults are left out.

    values: by the names of `LINK_FIELDS`, merged with `reward_values` and `policy_values`.
    """
    parts = {
        name: link_text(values[name])
        for name, field in _ALL_FIELDS.items()
        if name in values
        and values[name] is not None
        and field.policy in ("", values.get("policy"))
        and (field.always or values[name] != _default(name, values.get("policy")))
    }
    if values.get(_REWARDS):
        parts[_REWARDS] = values[_REWARDS]
    too_long = [name for name, text in parts.items() if not fits_in_url(text)]
    named = {name: field.named or name for name, field in _ALL_FIELDS.items()}
    link = {named.get(name, name): text for name, text in parts.items() if name not in too_long}
    without = [*too_long, *values.get(_OMITTED, ())]
    return link | ({_OMITTED: ",".join(without)} if without else {})


def _given(name: str, field: LinkField) -> str | None:
    return st.query_params.get(field.named, st.query_params.get(name))


def _from_link(name: str, field: LinkField, problems: list[str]) -> Any:
    text = _given(name, field)
    default = _default(name, st.session_state.get(f"{PREFIX}policy"))
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
    missing = [f"“{field.named or name}”" for name, field in _ALL_FIELDS.items() if name in names]
    missing += ["reward configuration"] if _REWARDS in names else []
    for name, spec in _TEXTS.items():
        is_its_own = name == f"{policy.name}.{spec.name}"
        if name in names and is_its_own and policy.params.get(spec.name, spec.default) == spec.default:
            missing.append(f"“{spec.metadata['label']}”")
    if missing:
        yield (
            f"This link does not include the {join(missing)}: links hold neither texts of a policy nor values too long "
            "for a URL. The form shows the defaults instead."
        )
