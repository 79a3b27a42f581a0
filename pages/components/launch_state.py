"""What the launch form starts from: the link it was opened with, else what it last held in this session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, fields
from typing import Any

import streamlit as st

from core.params import kind_of
from core.policies import POLICIES
from core.rewards import STRATEGIES
from core.types import Limits, OnDone, RewardConfig
from pages.components.address import show_form_in_address
from pages.components.form_state import FormState, param_name
from pages.components.link_values import any_number, in_link, one_of, reader_of, whole
from pages.components.plain import short
from pages.components.state import store

LAUNCH = FormState("launch_")
"""What the form holds."""

PREFIX = LAUNCH.prefix
"""The session-state key of a field of the form is this and its name."""

LAUNCH_BUTTON = f"{PREFIX}now"
"""The form's one button that is always drawn. Buttons are forgotten when the page is left, fields are not."""


_MOST_ECHOED = 60
_TROUBLES = f"{PREFIX}link_troubles"
_POLICY_BEFORE = f"{PREFIX}policy_before"
_MODEL_DECISIONS = 10  # to begin with: each is a call that takes its time and may cost money
_NAME_IS_USED = f"{PREFIX}name_is_used"
_PROFILE = "param_llm_profile"

PROFILE_OF_LINK = f"{PREFIX}profile_of_link"
"""Where a link named a connection profile: its name, or an empty one where there is none of that name. It is taken over
by the form of the connection once that is drawn."""


@dataclass(frozen=True, slots=True)
class LinkField:
    """A field of the form that a link can carry. `read` raises ValueError, with a sentence, for what it cannot use."""

    default: Any
    read: Callable[[str], Any]
    always: bool = False  # part of the link although it holds the default
    named: str = ""
    """Its name in links, where that is not the field's own. Streamlit takes parameters of a link away that have the
    name of a filter of the traces page when one comes from there; a field's own name is understood all the same."""
    called: str = ""  # in sentences, where that is not the field's own name
    policy: str = ""  # part of the link with that policy only
    strategy: str = ""  # part of the link with that reward strategy only


def _profile(name: str) -> str:
    """Only the name of a profile goes into a link: an address in it could make somebody send a key elsewhere."""
    if name not in {profile.name for profile in store().model_profiles()}:
        raise ValueError("there is no connection profile of that name any more; give the connection in the Policy tab.")
    return name


def _strategy_field(strategy: str, spec: Field[Any]) -> str:
    return param_name(f"strategy_{strategy}", spec.name)


_LIMITS = Limits()
LINK_FIELDS: dict[str, LinkField] = {
    "seeds": LinkField("0", str, always=True, named="play"),
    "policy": LinkField("scripted", one_of(POLICIES), always=True, named="by"),
    "episodes": LinkField(1, whole, always=True),
    "strategy": LinkField("per_achievement", one_of(STRATEGIES)),
    "lambda": LinkField(1.0, any_number),
    "max_steps": LinkField(_LIMITS.max_steps, whole),
    "max_decisions": LinkField(_LIMITS.max_decisions, whole),
    "max_seconds": LinkField(_LIMITS.max_time_s, any_number),
    "on_done": LinkField(OnDone.TERMINATE.value, one_of({choice.value: choice for choice in OnDone})),
    _PROFILE: LinkField("", _profile, named="profile", called="profile", policy="llm"),
    **{
        _strategy_field(kind.name, spec): LinkField(
            spec.default,
            reader_of(kind_of(spec)),
            named=f"{kind.name}.{spec.name}",
            called=f"{kind.name}.{spec.name}",
            strategy=kind.name,
        )
        for kind in STRATEGIES.values()
        for spec in fields(kind.params_type)
    },
}


def reward_values(reward: RewardConfig) -> dict[str, Any]:
    """What of a reward configuration a link can carry, for `link_of`: its tables are not part of it."""
    kind = STRATEGIES.get(reward.strategy)
    params = fields(kind.params_type) if kind else ()
    return {
        "strategy": reward.strategy,
        "lambda": reward.indicator_lambda,
        **{_strategy_field(reward.strategy, spec): reward.params.get(spec.name, spec.default) for spec in params},
    }


def begin() -> None:
    """Fill the form: on arrival by a link from the link, then with defaults where nothing is held yet.

    A value of the link that cannot be used is said, and the default stands in its place.
    """
    arriving = LAUNCH_BUTTON not in st.session_state
    if st.session_state.pop(_NAME_IS_USED, False):
        st.session_state[f"{PREFIX}name"] = ""
    names = set(LINK_FIELDS) | {field.named for field in LINK_FIELDS.values()}
    if arriving and not names.isdisjoint(st.query_params):
        troubles: list[str] = []
        for name, field in LINK_FIELDS.items():
            st.session_state[PREFIX + name] = _from_link(name, field, troubles)
        st.session_state[_POLICY_BEFORE] = st.session_state[f"{PREFIX}policy"]
        if not {_PROFILE, LINK_FIELDS[_PROFILE].named}.isdisjoint(st.query_params):
            st.session_state[PROFILE_OF_LINK] = st.session_state[PREFIX + _PROFILE]
        st.session_state[_TROUBLES] = (troubles, _form_link())
    for name in LINK_FIELDS:
        keep(name, _default(name, st.session_state.get(f"{PREFIX}policy")))
    _follow_policy()


def _default(name: str, policy: str | None) -> Any:
    """Of a field, which may depend on the policy."""
    return _MODEL_DECISIONS if name == "max_decisions" and policy == "llm" else LINK_FIELDS[name].default


def _follow_policy() -> None:
    """A cap that nobody has set is that of the policy chosen now."""
    now = st.session_state[f"{PREFIX}policy"]
    before = st.session_state.get(_POLICY_BEFORE, now)
    key = f"{PREFIX}max_decisions"
    if before != now and st.session_state[key] == _default("max_decisions", before):
        st.session_state[key] = _default("max_decisions", now)
    st.session_state[_POLICY_BEFORE] = now


def name_is_used() -> None:
    """A name belongs to one launch: the form is without it the next time."""
    st.session_state[_NAME_IS_USED] = True


def keep(name: str, default: Any) -> str:
    """The session-state key of a field, with `default` in it where nothing is held yet."""
    return LAUNCH.keep(name, default)


def show_link() -> None:
    """Put the form into the page's address, so that it can be sent."""
    show_form_in_address("launch", _form_link())


def _form_link() -> dict[str, str]:
    return link_of({name: st.session_state[PREFIX + name] for name in LINK_FIELDS})


def link_of(values: Mapping[str, Any]) -> dict[str, str]:
    """Query parameters of the launch page that fill its form with `values`; defaults are left out."""
    return {
        field.named or name: in_link(values[name])
        for name, field in LINK_FIELDS.items()
        if name in values
        and values[name] is not None
        and field.policy in ("", values.get("policy"))
        and field.strategy in ("", values.get("strategy"))
        and (field.always or values[name] != _default(name, values.get("policy")))
    }


def _from_link(name: str, field: LinkField, troubles: list[str]) -> Any:
    text = st.query_params.get(field.named, st.query_params.get(name))
    default = _default(name, st.session_state.get(f"{PREFIX}policy"))
    if text is None:
        return default
    try:
        return field.read(text)
    except ValueError as error:
        instead = "It was left empty." if default == "" else f"It was set to {default}."
        troubles.append(f'The link\'s "{field.called or name}" is "{short(text, _MOST_ECHOED)}": {error} {instead}')
        return default


def link_troubles() -> list[str]:
    """Sentences on what the link held and could not be used, until the form is changed.

    The page runs by itself too, when worlds have been made; they must outlast that.
    """
    troubles, filled = st.session_state.get(_TROUBLES, ((), {}))
    return list(troubles) if filled == _form_link() else []
