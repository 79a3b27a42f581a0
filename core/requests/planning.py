"""A trainer's request as a run, the same that the dashboard plays."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from core.env.rules import ACHIEVEMENTS, ENGINE_VERSION, ITEMS
from core.errors import InvalidConfig, InvalidInput, did_you_mean
from core.plan import LaunchPlan, Op, cut_ops, limits_from_ops, make_run, parse_ops, seed_from_run_id
from core.policies import POLICIES, checked_policy
from core.policies.llm import endpoint_of, keys_for
from core.requests.request import BranchOptions, PolicyOptions, ReadRequest, RolloutRequest
from core.rewards import from_document
from core.rewards.document import KEYS
from core.settings import model_hosts, read_key, written_key_hosts
from core.text import cut, quoted, visible
from core.types import EnvConfig, Limits, OnDone, PolicySpec, RewardConfig, Run, RunSource

MODEL_POLICY: Final = "crafter-react"
"""What trainers call the language-model policy."""

_ENVIRONMENTS: Final = ("crafter", "crafterclassic", "crafter-classic")
_POLICY_NAMES: Final = {MODEL_POLICY: "llm", "crafter_react": "llm"} | {name: name for name in POLICIES}
# What old clients that name a math task expect.
_MATH_DECISIONS: Final = 200
_MATH_CALLS: Final = 10
_MATH_TOKENS: Final = 1024
_MATH_OPS: Final = ["agent", "env"] * 10
_DEFAULT_CALLS: Final = 10
_DEFAULT_TOKENS: Final = 512
_CORRELATION: Final = ("cid", "trace", "trace_correlation_id")  # parameters of an inference URL
_MAX_ACTIONS: Final = 5


@dataclass(frozen=True, slots=True)
class PlannedRollout:
    """A request as a run of one episode. inference_url: as the policy uses it; empty for a policy without a model."""

    run: Run
    inference_url: str
    warnings: tuple[str, ...]


def plan_request(read: ReadRequest, env: EnvConfig | None = None) -> PlannedRollout:
    """The run that answers a request; nothing is stored. env: the world's size and length.

    The request is stored in the run's configuration as it was given, with the warnings. The key for the inference URL
    is the one that CRAFTSCOPE_KEYS pairs with its host, if any.

    Raises InvalidInput, which begins with the path of what is wrong.
    """
    request, env = read.request, env or EnvConfig()
    warnings = list(read.warnings)
    _check_branch(request.branch)
    maths = _math_names(request)
    if maths:
        warnings.append(
            f"{' and '.join(maths)} begins with “math”: played as Crafter with difficulty normal, step rewards on, "
            f"and by default {_MATH_DECISIONS} decisions, {_MATH_CALLS} calls, {_MATH_TOKENS:,} tokens an answer and "
            f"{len(_MATH_OPS)} ops."
        )
    _check_environment(request.env.env_name)
    given_name = request.policy.policy_name
    policy_name = policy_by_name(MODEL_POLICY if given_name and _is_math(given_name) else given_name)
    if request.on_done is None:
        warnings.append("on_done is missing: the rollout ends with its world (older versions went on in the next one).")
    difficulty = "normal" if maths else request.env.config.difficulty
    if difficulty not in (None, "normal"):
        warnings.append(
            f"env.config.difficulty {quoted(difficulty)} is stored and changes nothing: there is one world."
        )
    correlation_id, url = _correlated(request)
    policy = policy_spec(
        policy_name,
        request.policy.config,
        url,
        default_tokens=_MATH_TOKENS if maths else _DEFAULT_TOKENS,
        logprobs=request.record.logprobs,
    )
    reward = _reward(request, bool(maths), warnings)
    with _at("run_id"):  # checked here, also where it gives no seed
        derived_seed = seed_from_run_id(request.run_id)
    seed = derived_seed if request.env.seed is None else request.env.seed
    plan = LaunchPlan(
        seeds=(seed,),
        episodes_per_seed=1,
        policy=policy,
        reward=reward,
        limits=_limits(request, bool(maths), env),
        env=env,
        on_done=OnDone(request.on_done or OnDone.TERMINATE),
        max_actions_per_call=_MAX_ACTIONS,
    )
    with _at("policy.config"):
        run = make_run(
            plan, engine_version=ENGINE_VERSION, run_id=request.run_id, achievements=ACHIEVEMENTS, items=ITEMS
        )
    run = replace(
        run,
        config=run.config | {"request": read.given, "warnings": warnings},
        source=RunSource.SERVICE,
        mode=request.mode,
        training_session_id=request.training_session_id,
        trace_correlation_id=correlation_id,
        session_url=_session_url(request.synth_base_url),
    )
    return PlannedRollout(run, url if policy_name == "llm" else "", tuple(warnings))


def _check_branch(branch: BranchOptions | None) -> None:
    for name in BranchOptions.__struct_fields__:
        value = getattr(branch, name, None)
        if value not in (None, False, 0, "", "none") and value != [] and value != {}:
            raise InvalidInput(
                f"branch.{name}: is {quoted(value)}; episodes cannot be forked. Leave branch out, or branch live "
                "environments with POST /branch."
            )


def _is_math(name: str) -> bool:
    return name.strip().casefold().startswith("math")


def _math_names(request: RolloutRequest) -> list[str]:
    """The fields that name a math task."""
    names = {"env.env_name": request.env.env_name, "policy.policy_name": request.policy.policy_name}
    return [field for field, name in names.items() if name and _is_math(name)]


def _check_environment(name: str | None) -> None:
    if name and not _is_math(name) and name.strip().casefold() not in _ENVIRONMENTS:
        raise InvalidInput(f"env.env_name: is {quoted(name)}; the environment here is crafter.")


def policy_by_name(given: str | None) -> str:
    """The registered name of a policy that a trainer names; a language model where it names none.

    Raises InvalidInput.
    """
    name = _POLICY_NAMES.get((given or MODEL_POLICY).strip().casefold())
    if name is None:
        hint = did_you_mean(given or "", _POLICY_NAMES) or "."
        known = ", ".join(name for name in _POLICY_NAMES if name != "llm")
        raise InvalidInput(f"policy.policy_name: is {quoted(given)}{hint} Give one of: {known}.")
    return name


def _correlated(request: RolloutRequest) -> tuple[str | None, str]:
    """(the correlation id, the inference URL, which in mode `rl` carries it)."""
    config = request.policy.config
    url = (config.inference_url or "").strip()
    in_url = {name: value for name, value in _query(url) if name in _CORRELATION and value}
    given = config.trace_correlation_id or config.trace or next(iter(in_url.values()), None)
    if given is not None and not given.isprintable():
        raise InvalidInput(f"policy.config.trace_correlation_id: is {quoted(given)}; give printable characters.")
    if request.mode == "rl":
        if given is None:
            raise InvalidInput(
                "policy.config.trace_correlation_id: is missing; mode rl needs it, here or as cid in inference_url."
            )
        if url and not in_url:
            parts = urlsplit(url)
            url = urlunsplit(parts._replace(query=urlencode([*_query(url), ("cid", given)])))
    return given, url


def _query(url: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(urlsplit(url).query, keep_blank_values=True)
    except ValueError:  # such as an unfinished IPv6 address; `endpoint_of` says so
        return []


def policy_spec(
    name: str, config: PolicyOptions, url: str, *, default_tokens: int = _DEFAULT_TOKENS, logprobs: bool = False
) -> PolicySpec:
    """A policy by its registered name. url: the inference URL of a language model. Raises InvalidInput."""
    if name != "llm":
        return PolicySpec(name)
    if not url:
        raise InvalidInput("policy.config.inference_url: is missing; give the URL of the model's server.")
    if not config.model:
        raise InvalidInput("policy.config.model: is missing; give the name that the model's server uses.")
    with _at("policy.config.inference_url"):
        endpoint_of(url, allowed_hosts=model_hosts())
        # Only keys that were paired on purpose: whoever may ask for rollouts must not spend every key of this machine.
        names = [key for key in keys_for(url, written_key_hosts()) if read_key(key)]
    params = {
        "base_url": url,
        "model": config.model,
        "key_name": names[0] if names else "",
        "temperature": config.temperature,
        "top_p": config.top_p,
        "max_tokens": config.max_completion_tokens or config.max_tokens or default_tokens,
        "history": config.history,
        "observe": "both" if config.use_vision else "text",
        "system_prompt": config.system_prompt or "",
        "logprobs": "yes" if logprobs else "no",
    }
    with _at("policy.config"):
        return checked_policy(PolicySpec(name, params))


def _reward(request: RolloutRequest, maths: bool, warnings: list[str]) -> RewardConfig:
    """The step rewards, of the policy's configuration if it has any, else of the environment's."""
    places = (("policy.config", request.policy.config.step_rewards), ("env.config", request.env.config.step_rewards))
    for place, given in places:
        if given is not None:
            return read_reward(f"{place}.step_rewards", given, warnings)
    return RewardConfig() if maths else RewardConfig(enabled=False)


def read_reward(path: str, given: Mapping[str, Any], warnings: list[str]) -> RewardConfig:
    """The reward configuration in a request. path: of its field. Adds to the warnings. Raises InvalidInput."""
    fields = {name: value for name, value in given.items() if name in KEYS}
    if unknown := [f"{path}.{cut(visible(name), 100)}" for name in given if name not in KEYS]:
        warnings.append(f"Unknown fields ({', '.join(unknown[:10])}): stored with the run, without effect.")
    # In a request a missing switch means off; in a file of ours it means on.
    if missing := [name for name in ("enabled", "mode") if fields.get(name) is None]:
        fields |= {"enabled": False, "mode": fields.get("mode") or RewardConfig().mode}
        warnings.append(f"{path}.{missing[0]} is missing: step rewards are off.")
    with _at(path):
        return from_document(json.dumps(fields), achievements=ACHIEVEMENTS, items=ITEMS)


def _limits(request: RolloutRequest, maths: bool, env: EnvConfig) -> Limits:
    """Limits in decisions, by the ops if there are any."""
    given = {
        "max_steps_per_episode": request.env.config.env_params.max_steps_per_episode,
        "max_llm_calls": request.policy.config.max_llm_calls,
    }
    if maths:
        given = {
            "max_steps_per_episode": given["max_steps_per_episode"] or _MATH_DECISIONS,
            "max_llm_calls": given["max_llm_calls"] or _MATH_CALLS,
        }
    limits = Limits(
        max_steps=env.length,
        max_decisions=min(given["max_steps_per_episode"] or env.length, given["max_llm_calls"] or _DEFAULT_CALLS),
        max_ops=request.safety.max_ops,
        max_time_s=request.safety.max_time_s,
    )
    ops = request.ops if request.ops is not None else (_MATH_OPS if maths else None)
    if ops is None:
        return limits
    with _at("ops"):
        kept = cut_ops(parse_ops(ops), **given)
        if Op.ENV not in kept:
            raise InvalidInput("ops has no env op, so no step would be played.")
        return limits_from_ops(kept, replace(limits, max_decisions=len(ops)))


def _session_url(url: str | None) -> str | None:
    if url is None:
        return None
    with _at("synth_base_url"):
        parts = urlsplit(url)
        if "@" in parts.netloc or not url.isprintable():
            raise ValueError("it has a user name, a password or characters that no URL has")
    return url


@contextmanager
def _at(path: str) -> Generator[None, None, None]:
    """Puts the path of a request's field before what is wrong with it."""
    try:
        yield
    except InvalidConfig as error:
        raise InvalidConfig(f"{path}: {error}") from error
    except (InvalidInput, ValueError) as error:
        raise InvalidInput(f"{path}: {error}") from error
