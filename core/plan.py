"""Seeds, limits and ops as users and trainers write them, validated once and expanded to a Run.

`make_run` is the only validation: the code that plays and stores a Run trusts it.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import chain, product
from typing import Any, cast

from core import __version__
from core.env.checks import MAX_SEED, checked_config, checked_seed
from core.errors import InvalidConfig, InvalidInput, InvalidSeeds, did_you_mean
from core.params import Integer, Kind, Number, OneOf, read_value
from core.policies import checked_policy
from core.rewards import checked_reward
from core.text import cut, quoted
from core.types import (
    Budget,
    EnvConfig,
    EpisodeSpec,
    Limits,
    OnDone,
    PolicySpec,
    QueuedEpisode,
    RewardConfig,
    Run,
    RunSource,
)

MAX_SEEDS = 1_000
MAX_EPISODES = 10_000
MAX_TEXT = 200

_COUNT = Integer(1, 1_000_000_000)  # keeps every count within a database column
_OPTIONAL_COUNT = replace(_COUNT, optional=True)
_LIMITS: dict[str, Kind] = {
    "max_steps": _COUNT,
    "max_decisions": _COUNT,
    "max_ops": _COUNT,
    "max_time_s": Number(0.001, 1_000_000_000),
    "ops_given": _OPTIONAL_COUNT,
}
_BUDGET: dict[str, Kind] = {
    "max_calls": _OPTIONAL_COUNT,
    "max_tokens": _OPTIONAL_COUNT,
    "max_cost_usd": Number(0.0001, 1_000_000_000, optional=True),
}

_SEED_OR_RANGE = re.compile(r"([0-9]{1,20})(?:\s*(?:-|–|\.\.)\s*([0-9]{1,20}))?")  # people paste en dashes
_EXAMPLE = 'such as "0-9, 42"'


# ------------------------------------------------------------------------------------------------- seeds


def parse_seeds(text: str, max_count: int = MAX_SEEDS) -> tuple[int, ...]:
    """The seeds in `text` ("0-9, 42"), in the order written, without duplicates.

    Entries are separated by commas, semicolons, spaces or line ends; a range `low-high` includes both ends.
    Raises InvalidSeeds, naming the entry that is invalid, and if there are no seeds or more than `max_count`.
    """
    ranges = [_seed_range(entry, number) for number, entry in enumerate(_seed_entries(text), start=1)]
    if not ranges:
        raise InvalidSeeds(f"No seeds. Enter seeds and ranges, {_EXAMPLE}.")
    seeds: dict[int, None] = {}
    for seed in chain.from_iterable(ranges):
        seeds[seed] = None
        if len(seeds) > max_count:  # before a range of billions is expanded
            raise InvalidSeeds(f"Too many seeds. Enter at most {max_count:,}.")
    return tuple(seeds)


def seed_from_run_id(run_id: str) -> int:
    """The seed of a rollout that names none: the first 8 hex digits of its id's SHA-256, modulo 2**31 - 1.

    Raises InvalidConfig for an invalid run id.
    """
    return int(hashlib.sha256(_checked_run_id(run_id).encode()).hexdigest()[:8], 16) % (2**31 - 1)


def policy_seed(seed: int, index: int) -> int:
    """The policy's seed in the `index`-th episode (from 0) of `seed`: 0 .. 2**31 - 1, different for every index.

    The index moves on from a hash of the seed by an odd stride, which visits all 2**31 values before it repeats.
    """
    start = int.from_bytes(hashlib.blake2b(str(seed).encode(), digest_size=4).digest())
    return (start + index * 0x9E3779B1) % 2**31


def _seed_entries(text: str) -> Iterator[str]:
    for piece in map(str.strip, re.split(r"[,;\n]", text)):
        # Spaces separate too, but "0 - 9" is one entry.
        yield from [piece] if _SEED_OR_RANGE.fullmatch(piece) else piece.split()


def _seed_range(entry: str, number: int) -> range:
    shown = f"Entry {number}, {quoted(entry)},"
    match = _SEED_OR_RANGE.fullmatch(entry)
    if match is None:
        raise InvalidSeeds(f"{shown} is not a seed or range. Enter whole numbers and ranges, {_EXAMPLE}.")
    low, high = int(match[1]), int(match[2] or match[1])
    if max(low, high) > MAX_SEED:
        raise InvalidSeeds(f"{shown} is out of range. Enter seeds from 0 to {MAX_SEED}.")
    if low > high:
        raise InvalidSeeds(f'{shown} is reversed. Enter "{high}-{low}".')
    return range(low, high + 1)


# -------------------------------------------------------------------------------------------------- launch


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """The settings of a launch before validation. Each seed plays `episodes_per_seed` episodes, which differ in the
    policy's seed."""

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
    """Validate `plan` and expand it to one queued episode per seed and index, a seed's episodes together.

    achievements, items: the environment's names. run_id: random if None. The run's `config` is the validated plan as
    plain JSON data, with the versions of the engine and of this program.
    Raises InvalidSeeds, InvalidReward or InvalidConfig.
    """
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


def make_cell(
    plan: LaunchPlan,
    policy: tuple[str, PolicySpec],
    reward: tuple[str, RewardConfig],
    *,
    batch_id: str,
    cell: tuple[int, int],
    engine_version: str,
    achievements: Collection[str],
    items: Collection[str],
) -> Run:
    """The run of one policy with one reward configuration in a batch. plan: all else.

    policy, reward: with the labels that name the run. cell: its row and column, from 0. Raises as `make_run`.
    """
    name = cut(f"{plan.name or 'Batch'}: {policy[0]}, {reward[0]}", MAX_TEXT)
    run = make_run(
        replace(plan, policy=policy[1], reward=reward[1], name=name),
        engine_version=engine_version,
        run_id=f"{batch_id}-{cell[0] + 1}-{cell[1] + 1}",
        achievements=achievements,
        items=items,
    )
    return replace(run, batch_id=batch_id, source=RunSource.BATCH)


def checked_limits(limits: Limits) -> Limits:
    """Raises InvalidConfig, naming the limit that is out of range."""
    return Limits(**{name: read_value(getattr(limits, name), kind, name) for name, kind in _LIMITS.items()})


def checked_budget(budget: Budget) -> Budget:
    """Raises InvalidConfig, naming the limit that is out of range."""
    return Budget(**{name: read_value(getattr(budget, name), kind, name) for name, kind in _BUDGET.items()})


def _checked_plan(plan: LaunchPlan, achievements: Collection[str], items: Collection[str]) -> LaunchPlan:
    seeds = _checked_seeds(plan.seeds)
    episodes_per_seed = read_value(plan.episodes_per_seed, _COUNT, "episodes_per_seed")
    total = len(seeds) * episodes_per_seed
    if total > MAX_EPISODES:
        raise InvalidConfig(
            f"{len(seeds):,} seeds x {episodes_per_seed:,} episodes per seed = {total:,} episodes, more than the limit "
            f"of {MAX_EPISODES:,}. Reduce the seeds or the episodes per seed."
        )
    if len(plan.name) > MAX_TEXT:
        raise InvalidConfig(f"The run's name has {len(plan.name):,} characters. Shorten it to {MAX_TEXT}.")
    return LaunchPlan(
        seeds=seeds,
        episodes_per_seed=episodes_per_seed,
        policy=checked_policy(plan.policy),
        reward=checked_reward(plan.reward, achievements=achievements, items=items),
        limits=checked_limits(plan.limits),
        env=checked_config(plan.env.area, plan.env.view, plan.env.length),
        on_done=OnDone(read_value(plan.on_done, OneOf(tuple(OnDone)), "on_done")),
        max_actions_per_call=read_value(plan.max_actions_per_call, _COUNT, "max_actions_per_call"),
        name=plan.name.strip(),
        budget=checked_budget(plan.budget),
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


def _checked_seeds(given: Iterable[int]) -> tuple[int, ...]:
    seeds = tuple(checked_seed(seed) for seed in given)
    if not 0 < len(seeds) <= MAX_SEEDS:
        raise InvalidSeeds(f"{len(seeds):,} seeds are selected. Select 1 to {MAX_SEEDS:,}.")
    repeated = next((seed for seed, count in Counter(seeds).items() if count > 1), None)
    if repeated is not None:
        raise InvalidSeeds(f"Seed {repeated} is listed twice. Remove one, and raise the episodes per seed instead.")
    return seeds


def _checked_run_id(run_id: str) -> str:
    if not 0 < len(run_id) <= MAX_TEXT or not run_id.isprintable() or run_id != run_id.strip():
        raise InvalidConfig(
            f"Invalid run id {quoted(run_id)}. Give 1 to {MAX_TEXT} printable characters without outer spaces, or omit "
            "it for a random one."
        )
    return run_id


# ----------------------------------------------------------------------------------------------------- ops


class Op(StrEnum):
    """One turn of a rollout: a policy call, or the execution of the actions it chose."""

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
    """The ops of a request: a list of names, or of objects with `type` or `op`.

    `policy`, `agent` and `model` mean agent; `env`, `environment` and `step` mean env; case and outer spaces are
    ignored. Raises InvalidInput, naming the index of an invalid item.
    """
    if not isinstance(ops, list | tuple) or not ops:
        raise InvalidInput(f"ops is {quoted(cast(object, ops))}; give a non-empty list, such as {_OPS_EXAMPLE}.")
    items = cast(Sequence[object], ops)
    if len(items) > Limits().max_ops:
        raise InvalidInput(f"ops has {len(items):,} items; give at most {Limits().max_ops:,}.")
    return tuple(_op(item, index) for index, item in enumerate(items))


def cut_ops(
    ops: Sequence[Op], *, max_steps_per_episode: int | None = None, max_llm_calls: int | None = None
) -> tuple[Op, ...]:
    """Ops cut by the limits of older requests, to twice the smaller one.

    Both limits count decisions (an agent op and an env op each), whatever their names say. None: not in the request.
    The limits of current requests are `Limits`. Raises InvalidConfig for a limit that is not positive.
    """
    given = {"max_steps_per_episode": max_steps_per_episode, "max_llm_calls": max_llm_calls}
    decisions = [read_value(limit, _COUNT, name) for name, limit in given.items() if limit is not None]
    return tuple(ops[: 2 * min(decisions)] if decisions else ops)


def limits_from_ops(ops: Sequence[Op], limits: Limits | None = None) -> Limits:
    """`limits` (default: `Limits()`) with `ops_given`, so that the rollout ends after the ops with `ops_done`.

    Raises InvalidInput, naming the index, unless agent and env alternate, agent first: the loop plays nothing else.
    """
    if not ops:
        raise InvalidInput(f"ops is empty; give a list such as {_OPS_EXAMPLE}.")
    for index, op in enumerate(ops):
        expected = Op.ENV if index % 2 else Op.AGENT
        if op is not expected:
            raise InvalidInput(
                f'ops[{index}] is "{op.value}", expected "{expected.value}". Agent and env alternate, agent first: '
                f"{_OPS_EXAMPLE}."
            )
    return replace(limits or Limits(), ops_given=len(ops))


def _op(item: object, index: int) -> Op:
    name = item
    if isinstance(item, Mapping):
        fields = cast(Mapping[object, object], item)
        name = fields.get("type") or fields.get("op")
    op = _OP_NAMES.get(name.strip().casefold()) if isinstance(name, str) else None
    if op is None:
        hint = did_you_mean(name, _OP_NAMES) if isinstance(name, str) else ""
        raise InvalidInput(
            f"ops[{index}] is {quoted(cast(object, item))}{hint or '.'} Give one of {', '.join(_OP_NAMES)}, "
            'or an object whose "type" or "op" is one of them.'
        )
    return op
