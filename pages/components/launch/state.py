"""What the launch form starts from: the link it was opened with, else what it last held in this session.

A link holds all that the form says, except the texts of a policy (they may be an address, a key or a prompt) and what
is too long for an address. Those it names, and the form that it fills says that they are missing.
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
from core.types import EnvConfig, Limits, OnDone, PolicySpec, RewardConfig
from pages.components.browser.url import show_form_in_address
from pages.components.links.values import MOST, any_number, fits, in_link, one_of, reader_of, whole
from pages.components.shared.form_state import FormState, param_name
from pages.components.shared.state import store
from pages.components.text.escape import one_line

LAUNCH = FormState("launch_")
"""What the form holds."""

PREFIX = LAUNCH.prefix
"""The session-state key of a field of the form is this and its name."""

LAUNCH_BUTTON = f"{PREFIX}now"
"""The form's one button that is always drawn. Buttons are forgotten when the page is left, fields are not."""


_MAX_ECHOED = 60
_MAX_NAMED = 5
_REWARDS = "rewards"
_WITHOUT = "without"
_MISSING = f"{PREFIX}link_without"
_TROUBLES = f"{PREFIX}link_troubles"
_SAID_AT = f"{PREFIX}link_troubles_at"
_POLICY_BEFORE = f"{PREFIX}policy_before"
DEFAULT_SEED = 42
_MODEL_DECISIONS = 10  # to begin with: each is a call that takes its time and may cost money
_NAME_IS_USED = f"{PREFIX}name_is_used"
_PROFILE = "param_llm_profile"
_OF_A_PROFILE = ("llm.base_url", "llm.model", "llm.key_name")

REWARD_OF_LINK = f"{PREFIX}reward_of_link"
"""Where a link filled the form: the reward configuration that it says, a checked one. It is taken over by the form of
the reward before that is drawn."""

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


def _profile(name: str) -> str:
    """Only the name of a profile goes into a link: an address in it could make somebody send a key elsewhere."""
    if name not in {profile.name for profile in store().profiles.all().rows}:
        raise ValueError("no saved connection has that name. Enter the connection in the Policy tab.")
    return name


def _own_fields(params: type[Any], owner: str, name: str, *, policy: str = "") -> dict[str, LinkField]:
    """A field for each parameter that is no text. owner: as in `param_name`. name: what links call whose they are."""
    return {
        param_name(owner, spec.name): LinkField(
            spec.default,
            reader_of(kind_of(spec)),
            named=f"{name}.{spec.name}",
            called=f"{name}.{spec.name}",
            policy=policy,
        )
        for spec in fields(params)
        if not (policy and _is_text(spec))
    }


def _is_text(spec: Field[Any]) -> bool:
    return isinstance(kind_of(spec), Text)


_LIMITS, _WORLD = Limits(), EnvConfig()
_SOME = reader_of(Integer(1, MOST))
LINK_FIELDS: dict[str, LinkField] = {
    "seeds": LinkField(str(DEFAULT_SEED), str, always=True, named="play"),
    "policy": LinkField("scripted", one_of(POLICIES), always=True, named="by"),
    "episodes": LinkField(1, whole, always=True),
    "name": LinkField("", str),
    "max_steps": LinkField(_LIMITS.max_steps, whole),
    "max_decisions": LinkField(_LIMITS.max_decisions, whole),
    "max_seconds": LinkField(_LIMITS.max_time_s, any_number),
    "max_ops": LinkField(_LIMITS.max_ops, whole),
    "on_done": LinkField(OnDone.TERMINATE.value, one_of({choice.value: choice for choice in OnDone})),
    "width": LinkField(_WORLD.area[0], whole),
    "height": LinkField(_WORLD.area[1], whole),
    "length": LinkField(_WORLD.length, whole),
    "max_actions": LinkField(5, _SOME),
    "budget_calls": LinkField(None, _SOME, policy="llm"),
    "budget_tokens": LinkField(None, _SOME, policy="llm"),
    "budget_usd": LinkField(None, reader_of(Number(0.0001, MOST)), policy="llm"),
    _PROFILE: LinkField("", _profile, named="profile", called="profile", policy="llm"),
    **{
        name: field
        for kind in POLICIES.values()
        for name, field in _own_fields(kind.params, kind.name, kind.name, policy=kind.name).items()
    },
}

# A reward configuration that has the default tables is in a link by these; any other is one text, by `_REWARDS`.
_REWARD_FIELDS: dict[str, LinkField] = {
    "strategy": LinkField("per_achievement", one_of(STRATEGIES)),
    "lambda": LinkField(1.0, any_number),
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
_KNOWN = {*_ALL_FIELDS, *(field.named for field in _ALL_FIELDS.values()), _REWARDS, _WITHOUT} - {""}


def reward_values(reward: RewardConfig) -> dict[str, Any]:
    """A reward configuration, for `link_of`. One that cannot be used is part of the link too, whose form says why."""
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
    """The checked configuration that has these values of `_REWARD_FIELDS`. Raises InvalidReward."""
    strategy, scale = values["strategy"], values["lambda"]
    own = {
        spec.name: param_name(f"strategy_{strategy}", spec.name) for spec in fields(STRATEGIES[strategy].params_type)
    }
    params = {name: values[field] for name, field in own.items()}
    return checked(RewardConfig(strategy=strategy, indicator_lambda=1.0 if scale is None else scale, params=params))


def policy_values(policy: PolicySpec) -> dict[str, Any]:
    """A policy and its settings, for `link_of`: of its texts only the name of a connection profile, and which it has
    beside that."""
    kind = POLICIES.get(policy.name)
    held = {spec: policy.params.get(spec.name, spec.default) for spec in (fields(kind.params) if kind else ())}
    values = {param_name(policy.name, spec.name): value for spec, value in held.items()}
    of_profile = _OF_A_PROFILE if values.get(_PROFILE) else ()
    texts = {f"{policy.name}.{spec.name}" for spec, value in held.items() if _is_text(spec) and value != spec.default}
    texts -= {"llm.profile", *of_profile}
    return {"policy": policy.name, **values, _WITHOUT: [name for name in _TEXTS if name in texts]}


def begin() -> None:
    """Fill the form: on arrival by a link from the link, then with defaults where nothing is held yet.

    A value of the link that cannot be used is said, and the default stands in its place.
    """
    arriving = LAUNCH_BUTTON not in st.session_state
    if arriving and not _KNOWN.isdisjoint(st.query_params):
        _fill_from_link()
    if st.session_state.pop(_NAME_IS_USED, False):
        st.session_state[f"{PREFIX}name"] = ""
    for name in LINK_FIELDS:
        keep(name, _default(name, st.session_state.get(f"{PREFIX}policy")))
    _follow_policy()


def _fill_from_link() -> None:
    troubles: list[str] = []
    for name, field in LINK_FIELDS.items():
        # What another policy was set to stays as it is, unless the link says that too.
        if _given(name, field) is not None or field.policy in ("", st.session_state.get(f"{PREFIX}policy")):
            st.session_state[PREFIX + name] = _from_link(name, field, troubles)
    st.session_state[_POLICY_BEFORE] = st.session_state[f"{PREFIX}policy"]
    if _given(_PROFILE, LINK_FIELDS[_PROFILE]) is not None:
        st.session_state[PROFILE_OF_LINK] = st.session_state[PREFIX + _PROFILE]
    st.session_state[REWARD_OF_LINK] = _reward_from_link(troubles)
    st.session_state[_MISSING] = st.query_params.get(_WITHOUT, "").split(",")
    unknown = [
        name for name in st.query_params if name not in _KNOWN and name.split(".")[0] in {*POLICIES, *STRATEGIES}
    ]
    for name in unknown[:_MAX_NAMED]:
        troubles.append(f'The link\'s "{one_line(name, _MAX_ECHOED)}" is not a setting of this form.')
    st.session_state[_TROUBLES] = troubles
    st.session_state[_SAID_AT] = None


def _reward_from_link(troubles: list[str]) -> RewardConfig:
    values = {name: _from_link(name, field, troubles) for name, field in _REWARD_FIELDS.items()}
    try:
        if (text := st.query_params.get(_REWARDS)) is not None:
            return from_document(text, achievements=ACHIEVEMENTS, items=ITEMS)
        return _reward_of(values)
    except InvalidReward as error:
        troubles.append(f"The link's rewards cannot be used: {error} The form shows the defaults.")
        return _reward_of({name: field.default for name, field in _REWARD_FIELDS.items()})


def _default(name: str, policy: str | None) -> Any:
    """Of a field, which may depend on the policy."""
    return _MODEL_DECISIONS if name == "max_decisions" and policy == "llm" else _ALL_FIELDS[name].default


def _follow_policy() -> None:
    """A limit that nobody has set is that of the policy chosen now."""
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


def show_link(reward: RewardConfig, policy: PolicySpec) -> None:
    """Put the form into the page's address, so that it can be sent. reward, policy: what it says, checked or not."""
    show_form_in_address("launch", _form_link(reward, policy))


def _form_link(reward: RewardConfig, policy: PolicySpec) -> dict[str, str]:
    held = {name: st.session_state[PREFIX + name] for name in LINK_FIELDS}
    return link_of({**held, **policy_values(policy), **reward_values(reward)})


def link_of(values: Mapping[str, Any]) -> dict[str, str]:
    """Query parameters of the launch page that fill its form with `values`; defaults are left out.

    values: by the names of `LINK_FIELDS`, with what `reward_values` and `policy_values` say.
    """
    parts = {
        name: in_link(values[name])
        for name, field in _ALL_FIELDS.items()
        if name in values
        and values[name] is not None
        and field.policy in ("", values.get("policy"))
        and (field.always or values[name] != _default(name, values.get("policy")))
    }
    if values.get(_REWARDS):
        parts[_REWARDS] = values[_REWARDS]
    too_long = [name for name, text in parts.items() if not fits(text)]
    named = {name: field.named or name for name, field in _ALL_FIELDS.items()}
    link = {named.get(name, name): text for name, text in parts.items() if name not in too_long}
    without = [*too_long, *values.get(_WITHOUT, ())]
    return link | ({_WITHOUT: ",".join(without)} if without else {})


def _given(name: str, field: LinkField) -> str | None:
    """What the link says of a field."""
    return st.query_params.get(field.named, st.query_params.get(name))


def _from_link(name: str, field: LinkField, troubles: list[str]) -> Any:
    text = _given(name, field)
    default = _default(name, st.session_state.get(f"{PREFIX}policy"))
    if text is None:
        return default
    try:
        return field.read(text)
    except ValueError as error:
        instead = "It stays empty." if default in ("", None) else f"It was set to {default}."
        troubles.append(f'The link\'s "{field.called or name}" is "{one_line(text, _MAX_ECHOED)}": {error} {instead}')
        return default


def link_troubles(reward: RewardConfig, policy: PolicySpec) -> list[str]:
    """Sentences on what the link held and could not be used, until the form is changed. reward, policy: what it says.

    The page runs by itself too, when worlds have been made; they must outlast that.
    """
    troubles = st.session_state.get(_TROUBLES, ())
    if (missing := st.session_state.pop(_MISSING, None)) is not None:
        troubles = st.session_state[_TROUBLES] = [*troubles, *_say_what_is_missing(missing, policy)]
    if not troubles:
        return []
    now = _form_link(reward, policy)
    if st.session_state.get(_SAID_AT) is None:
        st.session_state[_SAID_AT] = now
    return list(troubles) if st.session_state[_SAID_AT] == now else []


def _say_what_is_missing(names: list[str], policy: PolicySpec) -> Iterator[str]:
    """names: what the link says that it leaves out; a text that this session still holds is not missing."""
    missing = [field.called or name for name, field in _ALL_FIELDS.items() if name in names]
    missing += [_REWARDS] if _REWARDS in names else []
    for name, spec in _TEXTS.items():
        is_its_own = name == f"{policy.name}.{spec.name}"
        if name in names and is_its_own and policy.params.get(spec.name, spec.default) == spec.default:
            missing.append(f"“{spec.metadata['label']}”")
    if missing:
        yield (
            f"The link leaves out what its form held as {', '.join(missing)}: an address holds no texts of a policy, "
            "and nothing that is too long for it. Give it again; until then the form holds the default."
        )
