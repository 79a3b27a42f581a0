"""What will run: seeds, ranges, caps and ops as people and trainers write them, checked once and expanded to a Run.

Everything behind `make_run` trusts what it gives.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import product
from numbers import Integral, Real
from typing import Any, cast

from core import __version__
from core.env.checks import MAX_SEED, checked_config, checked_seed
from core.errors import InvalidConfig, InvalidInput, InvalidSeeds, did_you_mean
from core.policies import checked_policy
from core.rewards import checked
from core.text import quoted
from core.types import Budget, EnvConfig, EpisodeSpec, Limits, OnDone, PolicySpec, QueuedEpisode, RewardConfig, Run

MAX_SEEDS = 1_000
MAX_EPISODES = 10_000
MAX_TEXT = 200

# A cap above this is a slip of the keyboard; it also keeps every count within a database column.
MAX_CAP = 1_000_000_000

_SEED_OR_RANGE = re.compile(r"([0-9]+)(?:\s*(?:-|–|\.\.)\s*([0-9]+))?")  # people paste en dashes
_EXAMPLE = 'such as "0-9, 42"'


# ------------------------------------------------------------------------------------------------- seeds


def parse_seeds(text: object, max_count: int = MAX_SEEDS) -> tuple[int, ...]:
    """The seeds in `text` ("0-9, 42"), in the order written, each once.

    Entries stand between commas, semicolons, spaces or line ends; a range is `low-high`, both included.
    Raises InvalidSeeds, naming the entry, where one cannot be read, and where there are none or over `max_count`.
    """
    if not isinstance(text, str):
        raise InvalidSeeds(f"The seeds are {quoted(text)}; write them as text, {_EXAMPLE}.")
    ranges = [_seed_range(entry, number) for number, entry in enumerate(_seed_entries(text), start=1)]
    if not ranges:
        raise InvalidSeeds(f"No seed is given; write seeds and ranges, {_EXAMPLE}.")
    count = _distinct(ranges)
    if count > max_count:
        raise InvalidSeeds(f"That is {count:,} seeds, and at most {max_count:,} can be given at once; ask for fewer.")
    return tuple(dict.fromkeys(seed for low, high in ranges for seed in range(low, high + 1)))


def seed_from_run_id(run_id: str) -> int:
    """The seed of a rollout that names none: the first 8 hex digits of its id's SHA-256, modulo 2**31 - 1.

    Raises InvalidConfig for an id that no run can have.
    """
    return int(hashlib.sha256(_checked_run_id(run_id).encode()).hexdigest()[:8], 16) % (2**31 - 1)


def policy_seed(seed: int, index: int) -> int:
    """The policy's seed in the `index`-th episode (from 0) of `seed`: 0 .. 2**31 - 1.

    Repeatable, and different for every index of one seed: the index moves on from a hash of the seed by an odd
    stride, which visits each of the 2**31 values once before it returns.
    """
    start = int.from_bytes(hashlib.blake2b(str(seed).encode(), digest_size=4).digest())
    return (start + index * 0x9E3779B1) % 2**31


def _seed_entries(text: str) -> Iterator[str]:
    for piece in map(str.strip, re.split(r"[,;\n]", text)):
        # Spaces separate too, but "0 - 9" is one entry.
        yield from [piece] if _SEED_OR_RANGE.fullmatch(piece) else piece.split()


def _seed_range(entry: str, number: int) -> tuple[int, int]:
    shown = quoted(entry)
    match = _SEED_OR_RANGE.fullmatch(entry)
    if match is None:
        raise InvalidSeeds(
            f"Entry {number}, {shown}, is no seed and no range; seeds are whole numbers from 0 to {MAX_SEED}, "
            f"written as numbers and ranges, {_EXAMPLE}."
        )
    low, high = (_seed(digits, shown, number) for digits in (match[1], match[2] or match[1]))
    if low > high:
        raise InvalidSeeds(f'Entry {number}, {shown}, runs backwards; write "{high}-{low}".')
    return low, high


def _seed(digits: str, shown: str, number: int) -> int:
    # Python refuses to convert thousands of digits, so they are counted first.
    if len(digits.lstrip("0")) > len(str(MAX_SEED)) or int(digits.lstrip("0") or "0") > MAX_SEED:
        raise InvalidSeeds(f"Entry {number}, {shown}, is out of range; seeds are whole numbers from 0 to {MAX_SEED}.")
    return int(digits.lstrip("0") or "0")


def _distinct(ranges: Iterable[tuple[int, int]]) -> int:
    """How many different numbers the ranges hold, without listing them."""
    count, counted_to = 0, -1
    for low, high in sorted(ranges):
        count += max(0, high - max(low - 1, counted_to))
        counted_to = max(counted_to, high)
    return count


# -------------------------------------------------------------------------------------------------- launch


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """What a person or a trainer asks for; `make_run` checks it.

    seeds: each plays `episodes_per_seed` episodes that differ in the policy's seed.
    max_actions_per_call: how many actions one tool call may hold.
    """

    seeds: tuple[int, ...]
    episodes_per_seed: int
    policy: PolicySpec
    reward: RewardConfig
    limits: Limits
    env: EnvConfig
    on_done: OnDone
    max_actions_per_call: int
    name: str = ""
    budget: Budget = Budget()


def make_run(
    plan: LaunchPlan,
    *,
    engine_version: str,
    run_id: str | None = None,
    achievements: Collection[str],
    items: Collection[str],
) -> Run:
    """Check `plan` and expand it to one queued episode per seed and index, a seed's episodes together.

    `achievements` and `items` are the environment's names; `run_id` is a new random one where None. The run's
    `config` is the checked plan as plain JSON data, with the engine's and this program's version.

    Raises InvalidSeeds, InvalidReward or InvalidConfig with a sentence that says what is wrong and what to do.
    """
    _require(plan, LaunchPlan, "The plan of a launch")
    plan = _checked_plan(plan, achievements, items)
    config: dict[str, Any] = json.loads(
        json.dumps(asdict(plan) | {"engine_version": engine_version, "product_version": __version__})
    )
    return Run(
        id=uuid.uuid4().hex if run_id is None else _checked_run_id(run_id),
        created_at=datetime.now(UTC),
        episodes=tuple(
            QueuedEpisode(uuid.uuid4().hex, _spec(plan, seed, index, engine_version), group_index=index)
            for seed, index in product(plan.seeds, range(plan.episodes_per_seed))
        ),
        name=config.pop("name"),
        config=config,
    )


def checked_limits(limits: Limits) -> Limits:
    """`limits` as plain numbers. Raises InvalidConfig where a cap is not positive and finite."""
    _require(limits, Limits, "limits")
    return Limits(
        max_steps=_positive(limits.max_steps, "max_steps"),
        max_decisions=_positive(limits.max_decisions, "max_decisions"),
        max_ops=_positive(limits.max_ops, "max_ops"),
        max_time_s=_seconds(limits.max_time_s, "max_time_s"),
        ops_given=None if limits.ops_given is None else _positive(limits.ops_given, "ops_given"),
    )


def _checked_plan(plan: LaunchPlan, achievements: Collection[str], items: Collection[str]) -> LaunchPlan:
    seeds = _checked_seeds(plan.seeds)
    episodes_per_seed = _positive(plan.episodes_per_seed, "episodes_per_seed")
    total = len(seeds) * episodes_per_seed
    if total > MAX_EPISODES:
        raise InvalidConfig(
            f"{len(seeds):,} seeds with {episodes_per_seed:,} episodes each are {total:,} episodes, and one launch "
            f"runs at most {MAX_EPISODES:,}; ask for fewer seeds or fewer episodes per seed."
        )
    return LaunchPlan(
        seeds=seeds,
        episodes_per_seed=episodes_per_seed,
        policy=checked_policy(plan.policy),
        reward=checked(plan.reward, achievements=achievements, items=items),
        limits=checked_limits(plan.limits),
        env=_checked_env(plan.env),
        on_done=_on_done(plan.on_done),
        max_actions_per_call=_positive(plan.max_actions_per_call, "max_actions_per_call"),
        name=_checked_name(plan.name),
        budget=checked_budget(plan.budget),
    )


def checked_budget(budget: Budget) -> Budget:
    """`budget` as plain numbers. Raises InvalidConfig where a part is not positive and finite."""
    _require(budget, Budget, "budget")
    cost = budget.max_cost_usd
    if cost is not None and (
        isinstance(cost, bool) or not isinstance(cast(object, cost), Real) or not 0 < cost <= MAX_CAP
    ):
        raise InvalidConfig(f"max_cost_usd is {quoted(cost)}; give US dollars above 0, at most {MAX_CAP:,}.")
    return Budget(
        max_calls=None if budget.max_calls is None else _positive(budget.max_calls, "max_calls"),
        max_tokens=None if budget.max_tokens is None else _positive(budget.max_tokens, "max_tokens"),
        max_cost_usd=None if cost is None else float(cost),
    )


def _spec(plan: LaunchPlan, seed: int, index: int, engine_version: str) -> EpisodeSpec:
    return EpisodeSpec(
        seed=seed,
        policy=plan.policy,
        policy_seed=policy_seed(seed, index),
        env=plan.env,
        reward=plan.reward,
        limits=plan.limits,
        on_done=plan.on_done,
        max_actions_per_call=plan.max_actions_per_call,
        engine_version=engine_version,
    )


def _require(value: object, kind: type[Any], where: str) -> None:
    if not isinstance(value, kind):
        raise InvalidConfig(f"{where} is {quoted(value)}; give a {kind.__name__} of core.")


def _checked_env(env: EnvConfig) -> EnvConfig:
    _require(env, EnvConfig, "env")
    return checked_config(env.area, env.view, env.length)


def _checked_seeds(given: Iterable[int]) -> tuple[int, ...]:
    if isinstance(given, str | bytes) or not isinstance(cast(object, given), Iterable):
        raise InvalidSeeds(f"seeds is {quoted(given)}; give whole numbers in a tuple, or ask `parse_seeds`.")
    seeds = tuple(given)
    if not seeds:
        raise InvalidSeeds("No seed is chosen; choose at least one.")
    if len(seeds) > MAX_SEEDS:
        raise InvalidSeeds(f"That is {len(seeds):,} seeds, and one launch takes at most {MAX_SEEDS:,}; ask for fewer.")
    plain = tuple(checked_seed(seed) for seed in seeds)
    twice = next((seed for i, seed in enumerate(plain) if seed in plain[:i]), None)
    if twice is not None:
        raise InvalidSeeds(f"The seed {twice} is there twice; keep one and raise the episodes per seed instead.")
    return plain


def _checked_run_id(run_id: object) -> str:
    if (
        not isinstance(run_id, str)
        or not run_id.strip()
        or run_id != run_id.strip()
        or not run_id.isprintable()
        or len(run_id) > MAX_TEXT
    ):
        raise InvalidConfig(
            f"The run id is {quoted(run_id)}; give 1 to {MAX_TEXT} printable characters without outer spaces, "
            "or none, and one is made."
        )
    return run_id


def _checked_name(name: object) -> str:
    if not isinstance(name, str):
        raise InvalidConfig(f"The name is {quoted(name)}; give a text, which may be empty.")
    if len(name) > MAX_TEXT:
        raise InvalidConfig(f"The name has {len(name):,} characters; give at most {MAX_TEXT}.")
    return name.strip()


def _on_done(value: object) -> OnDone:
    try:
        return OnDone(value)
    except ValueError as error:
        accepted = " or ".join(f'"{choice.value}"' for choice in OnDone)
        raise InvalidConfig(f"on_done is {quoted(value)}; give {accepted}.") from error


def _positive(value: object, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= int(value) <= MAX_CAP:
        raise InvalidConfig(f"{where} is {quoted(value)}; give a whole number from 1 to {MAX_CAP:,}.")
    return int(value)


def _seconds(value: object, where: str) -> float:
    # The comparison is false for NaN too.
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < cast(float, value) <= MAX_CAP:
        raise InvalidConfig(f"{where} is {quoted(value)}; give a number of seconds above 0, at most {MAX_CAP:,}.")
    return float(value)


# ----------------------------------------------------------------------------------------------------- ops


class Op(StrEnum):
    """One turn of a rollout: the policy's, or the environment's with all actions that the policy chose."""

    AGENT = "agent"
    ENV = "env"


_OPS_EXAMPLE = '["agent", "env", "agent", "env"]'

_OP_NAMES = {
    "agent": Op.AGENT,
    "policy": Op.AGENT,
    "model": Op.AGENT,
    "env": Op.ENV,
    "environment": Op.ENV,
    "step": Op.ENV,
}


def parse_ops(ops: object) -> tuple[Op, ...]:
    """A rollout as a request spells it: a list of names, or of objects with `type` or `op`.

    `policy`, `agent` and `model` mean agent; `env`, `environment` and `step` mean env; case and outer spaces do not
    count. Raises InvalidInput, naming the index, where an item is something else.
    """
    if not isinstance(ops, list | tuple) or not ops:
        raise InvalidInput(
            f"ops is {quoted(cast(object, ops))}; give a list that is not empty, such as {_OPS_EXAMPLE}."
        )
    items = cast(Sequence[object], ops)
    most = Limits().max_ops
    if len(items) > most:
        raise InvalidInput(f"ops has {len(items):,} items, and a rollout takes at most {most:,}; ask for fewer.")
    return tuple(_op(item, index) for index, item in enumerate(items))


def cut_ops(
    ops: Sequence[Op], *, max_steps_per_episode: int | None = None, max_llm_calls: int | None = None
) -> tuple[Op, ...]:
    """Ops cut by the caps of older requests: to twice the smaller one that is given.

    Both caps count decisions (an agent op and an env op each), whatever their names say. They used to default to 20
    and 10; here None means that the request gives none. Our own caps are `Limits`: `max_decisions`, and `max_steps`
    in environment steps. Raises InvalidConfig where a cap is no positive whole number.
    """
    given = {"max_steps_per_episode": max_steps_per_episode, "max_llm_calls": max_llm_calls}
    decisions = [_positive(cap, name) for name, cap in given.items() if cap is not None]
    whole = parse_ops(ops)
    return whole[: 2 * min(decisions)] if decisions else whole


def limits_from_ops(ops: Sequence[Op], limits: Limits | None = None) -> Limits:
    """`limits` (the defaults where None) with the list's length as `ops_given`, so that its end is `ops_done`.

    The loop alternates agent and env, agent first. Raises InvalidInput, naming the index, for a list that does not,
    because it would be played as something else.
    """
    if not ops:
        raise InvalidInput(f"ops is empty; give a list such as {_OPS_EXAMPLE}.")
    for index, op in enumerate(parse_ops(ops)):
        expected = Op.ENV if index % 2 else Op.AGENT
        if op is not expected:
            raise InvalidInput(
                f'ops[{index}] is "{op.value}" where "{expected.value}" is due; a rollout alternates, beginning with '
                f"the agent: {_OPS_EXAMPLE}."
            )
    limits = limits or Limits()
    return replace(limits, ops_given=len(ops))


def _op(item: object, index: int) -> Op:
    name = item
    if isinstance(item, Mapping):
        fields = cast(Mapping[object, object], item)
        name = fields.get("type", fields.get("op"))
    op = _OP_NAMES.get(name.strip().casefold()) if isinstance(name, str) else None
    if op is None:
        hint = did_you_mean(name, _OP_NAMES) if isinstance(name, str) else ""
        raise InvalidInput(
            f"ops[{index}] is {quoted(cast(object, item))}{hint or '.'} Give one of {', '.join(_OP_NAMES)}, "
            'or an object whose "type" or "op" is one of them.'
        )
    return op
