"""The launch form as a link.

A link holds the whole form, except a policy's texts (such as a base URL or a prompt) and values too long for a URL. It
names those, so that the form it fills can report them as missing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, asdict, dataclass, fields
from typing import Any

from core.errors import InvalidReward
from core.params import Integer, Number, Text, kind_of
from core.policies import POLICIES
from core.rewards import STRATEGIES, checked_reward, to_changes
from core.types import EnvConfig, EpisodeSpec, Limits, OnDone, PolicySpec, RewardConfig
from pages.components.links.values import (
    MAX_NUMBER,
    fits_in_url,
    link_text,
    one_of,
    parse_names,
    parse_number,
    parse_whole,
    reader_of,
)
from pages.components.shared.form_state import param_name
from pages.components.shared.state import store
from pages.components.text.format import seeds_text

DEFAULT_SEED = 42
REWARDS = "rewards"
OMITTED = "without"  # the URL parameter with the names of what the link leaves out
PROFILE = "param_llm_profile"

_MODEL_DECISIONS = 10  # initially: each is a call that takes time and may cost money
_OF_A_PROFILE = ("llm.base_url", "llm.model", "llm.key_name")


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
FORM_FIELDS: dict[str, LinkField] = {
    "seeds": LinkField(str(DEFAULT_SEED), str, always=True, named="play"),
    "policy": LinkField("scripted", one_of(POLICIES), always=True, named="by"),
    "episodes": LinkField(1, parse_whole, always=True),
    "name": LinkField("", str),
    "also_policies": LinkField([], parse_names),
    "also_rewards": LinkField([], parse_names),
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
    PROFILE: LinkField("", _profile, named="profile", policy="llm"),
    **{
        name: field
        for kind in POLICIES.values()
        for name, field in _own_fields(kind.params, kind.name, kind.name, policy=kind.name).items()
    },
}

# For reward configurations with the default tables; any other is one JSON text, in `REWARDS`.
REWARD_FIELDS: dict[str, LinkField] = {
    "strategy": LinkField("per_achievement", one_of(STRATEGIES)),
    "lambda": LinkField(1.0, parse_number),
    **{
        name: field
        for kind in STRATEGIES.values()
        for name, field in _own_fields(kind.params_type, f"strategy_{kind.name}", kind.name).items()
    },
}

TEXTS = {
    f"{kind.name}.{spec.name}": spec for kind in POLICIES.values() for spec in fields(kind.params) if _is_text(spec)
}
ALL_FIELDS = FORM_FIELDS | REWARD_FIELDS
KNOWN = {*ALL_FIELDS, *(field.named for field in ALL_FIELDS.values()), REWARDS, OMITTED} - {""}


def reward_values(reward: RewardConfig) -> dict[str, Any]:
    """For `link_of`. Invalid configurations are included: the form that the link fills shows the error."""
    try:
        config = checked_reward(reward)
        values = {
            "strategy": config.strategy,
            "lambda": config.indicator_lambda,
            **{param_name(f"strategy_{config.strategy}", name): value for name, value in config.params.items()},
        }
        return values if config == reward_of(values) else {REWARDS: to_changes(config)}
    except InvalidReward:
        return {REWARDS: json.dumps(asdict(reward), separators=(",", ":"), default=str)}


def reward_of(values: Mapping[str, Any]) -> RewardConfig:
    """The configuration with these values of `REWARD_FIELDS`. Raises InvalidReward."""
    strategy, scale = values["strategy"], values["lambda"]
    own = {
        spec.name: param_name(f"strategy_{strategy}", spec.name) for spec in fields(STRATEGIES[strategy].params_type)
    }
    params = {name: values[field] for name, field in own.items()}
    return checked_reward(
        RewardConfig(strategy=strategy, indicator_lambda=1.0 if scale is None else scale, params=params)
    )


def policy_values(policy: PolicySpec) -> dict[str, Any]:
    """For `link_of`: the settings, and under `OMITTED` the names of texts that the link leaves out."""
    kind = POLICIES.get(policy.name)
    held = {spec: policy.params.get(spec.name, spec.default) for spec in (fields(kind.params) if kind else ())}
    values = {param_name(policy.name, spec.name): value for spec, value in held.items()}
    of_profile = _OF_A_PROFILE if values.get(PROFILE) else ()
    texts = {f"{policy.name}.{spec.name}" for spec, value in held.items() if _is_text(spec) and value != spec.default}
    texts -= {"llm.profile", *of_profile}
    return {"policy": policy.name, **values, OMITTED: [name for name in TEXTS if name in texts]}


def spec_values(spec: EpisodeSpec, seeds: Sequence[int], episodes_per_seed: int) -> dict[str, Any]:
    """For `link_of`: the form that launches such episodes."""
    return {
        "seeds": seeds_text(seeds),
        **policy_values(spec.policy),
        "episodes": episodes_per_seed,
        **reward_values(spec.reward),
        "max_steps": spec.limits.max_steps,
        "max_decisions": spec.limits.max_decisions,
        "max_seconds": spec.limits.max_time_s,
        "max_ops": spec.limits.max_ops,
        "max_actions": spec.max_actions_per_call,
        "width": spec.env.area[0],
        "height": spec.env.area[1],
        "length": spec.env.length,
        "on_done": spec.on_done.value,
    }


def default_of(name: str, policy: str | None) -> Any:
    return _MODEL_DECISIONS if name == "max_decisions" and policy == "llm" else ALL_FIELDS[name].default


def link_of(values: Mapping[str, Any]) -> dict[str, str]:
    """Query parameters that fill the form; defaults are left out.

    values: by the names of `FORM_FIELDS`, merged with `reward_values` and `policy_values`.
    """
    parts = {
        name: link_text(values[name])
        for name, field in ALL_FIELDS.items()
        if name in values
        and values[name] is not None
        and field.policy in ("", values.get("policy"))
        and (field.always or values[name] != default_of(name, values.get("policy")))
    }
    if values.get(REWARDS):
        parts[REWARDS] = values[REWARDS]
    too_long = [name for name, text in parts.items() if not fits_in_url(text)]
    named = {name: field.named or name for name, field in ALL_FIELDS.items()}
    link = {named.get(name, name): text for name, text in parts.items() if name not in too_long}
    without = [*too_long, *values.get(OMITTED, ())]
    return link | ({OMITTED: ",".join(without)} if without else {})
