"""Seeds, limits and ops are validated and expanded to a run."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import __version__
from core.env.rules import ACHIEVEMENTS, ENGINE_VERSION, ITEMS
from core.errors import CraftscopeError, InvalidConfig, InvalidInput, InvalidReward, InvalidSeeds
from core.plan import (
    LaunchPlan,
    Op,
    cut_ops,
    limits_from_ops,
    make_run,
    parse_ops,
    parse_seeds,
    policy_seed,
    seed_from_run_id,
)
from core.policies import POLICIES, make_policy
from core.types import Budget, EnvConfig, Limits, OnDone, PolicySpec, RewardConfig, Run

PLAN = LaunchPlan(
    seeds=(42, 7),
    episodes_per_seed=2,
    policy=PolicySpec("random"),
    reward=RewardConfig(),
    limits=Limits(),
    env=EnvConfig(),
    on_done=OnDone.TERMINATE,
    max_actions_per_call=5,
    name="Two seeds",
)


def run_of(run_id: str | None = None, **changes: Any) -> Run:
    return make_run(
        replace(PLAN, **changes),
        engine_version=ENGINE_VERSION,
        run_id=run_id,
        achievements=ACHIEVEMENTS,
        items=ITEMS,
    )


def error_message(kind: type[CraftscopeError] = InvalidConfig, **changes: Any) -> str:
    with pytest.raises(kind) as caught:
        run_of(**changes)
    return str(caught.value)


# ------------------------------------------------------------------------------------------------- seeds


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("42", (42,)),
        ("0-9, 42", (*range(10), 42)),
        (" 5 ,3,5, 3-6 ", (5, 3, 4, 6)),
        ("0 - 2", (0, 1, 2)),
        ("0..2", (0, 1, 2)),
        ("0–2", (0, 1, 2)),
        ("1 2\n3;4", (1, 2, 3, 4)),
        ("7,", (7,)),
        ("007", (7,)),
        ("2147483647", (2**31 - 1,)),
        ("3-3", (3,)),
    ],
)
def test_seeds_keep_their_order_without_duplicates(text: str, seeds: tuple[int, ...]):
    assert parse_seeds(text) == seeds


@settings(deadline=None)  # a busy machine is slow, and that is no failure
@given(st.lists(st.integers(min_value=0, max_value=2**31 - 1), min_size=1, max_size=20))
def test_seeds_written_out_are_read_back(seeds: list[int]):
    assert parse_seeds(", ".join(map(str, seeds))) == tuple(dict.fromkeys(seeds))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'No seeds. Enter seeds and ranges, such as "0-9, 42".'),
        (" , ,", 'No seeds. Enter seeds and ranges, such as "0-9, 42".'),
        (
            "1, two, 3",
            "Entry 2, 'two', is not a seed or range. Enter whole numbers and ranges, such as \"0-9, 42\".",
        ),
        ("9-0", "Entry 1, '9-0', is reversed. Enter \"0-9\"."),
        ("2147483648", "Entry 1, '2147483648', is out of range. Enter seeds from 0 to 2147483647."),
        ("0-2147483647", "Too many seeds. Enter at most 1,000."),
        ("0-999, 2000", "Too many seeds. Enter at most 1,000."),
    ],
)
def test_invalid_seeds_are_reported_with_the_entry(text: str, message: str):
    with pytest.raises(InvalidSeeds) as caught:
        parse_seeds(text)

    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["-5", "1.5", "1e3", "0x10", "1_000", "٣", "1-2-3", "-", "nan", "9" * 5000])
def test_text_that_is_not_a_seed_is_rejected(text: str):
    with pytest.raises(InvalidSeeds, match=r"^Entry 1, "):
        parse_seeds(text)


def test_the_number_of_different_seeds_is_limited():
    assert len(parse_seeds("0-999, 500-999, 7, 0-3")) == 1000
    with pytest.raises(InvalidSeeds, match="Enter at most 5"):
        parse_seeds("0-9", max_count=5)


def test_a_seed_follows_from_the_run_id():
    # SHA-256 of "abc" begins with ba7816bf.
    assert seed_from_run_id("abc") == 0xBA7816BF % (2**31 - 1)


def test_policy_seeds_are_the_same_on_every_machine_and_all_different_within_a_seed():
    assert [policy_seed(42, 0), policy_seed(42, 1), policy_seed(7, 0)] == [1825008443, 184476908, 270666298]
    seeds = {policy_seed(42, index) for index in range(10_000)}
    assert len(seeds) == 10_000
    assert all(0 <= seed < 2**31 for seed in seeds)


# -------------------------------------------------------------------------------------------------- launch


def test_a_plan_becomes_an_episode_per_seed_and_index():
    run = run_of()

    assert [(e.spec.seed, e.group_index) for e in run.episodes] == [(42, 0), (42, 1), (7, 0), (7, 1)]
    assert [e.spec.policy_seed for e in run.episodes] == [policy_seed(e.spec.seed, e.group_index) for e in run.episodes]
    assert len({episode.id for episode in run.episodes}) == 4
    assert {episode.spec.engine_version for episode in run.episodes} == {ENGINE_VERSION}
    assert {episode.spec.world_episode for episode in run.episodes} == {1}
    assert run.name == "Two seeds"
    assert run.created_at.utcoffset() is not None


def test_a_runs_configuration_is_plain_json_data():
    config = run_of().config

    assert json.loads(json.dumps(config, allow_nan=False)) == config
    assert config["seeds"] == [42, 7]
    assert config["on_done"] == "terminate"
    assert config["reward"]["strategy"] == "consistent"
    assert config["engine_version"] == ENGINE_VERSION
    assert config["product_version"] == __version__


def test_a_run_keeps_its_id_or_gets_a_random_one():
    assert run_of(run_id="trainer/run:7").id == "trainer/run:7"
    assert run_of().id != run_of().id


@pytest.mark.parametrize("run_id", ["", " ", " padded", "two\nlines", "x" * 201])
def test_an_invalid_run_id_is_rejected(run_id: str):
    with pytest.raises(InvalidConfig, match="Invalid run id "):
        run_of(run_id=run_id)


def test_names_become_canonical_and_parameters_complete():
    reward = RewardConfig(strategy="Complex", weights={" Collect_Wood ": 2})
    spec = run_of(policy=PolicySpec(" Random "), reward=reward).episodes[0].spec

    assert spec.policy.name == "random"
    assert spec.policy.params == asdict(POLICIES["random"].params())
    assert spec.reward.strategy == "per_achievement"
    assert spec.reward.weights == {"collect_wood": 2.0}
    make_policy(spec.policy, seed=spec.policy_seed, max_actions=spec.max_actions_per_call).close()


COUNT = "give a whole number from 1 to 1,000,000,000."
SECONDS = "give a number from 0.001 to 1,000,000,000."


@pytest.mark.parametrize(
    ("limit", "allowed"),
    [("max_steps", COUNT), ("max_decisions", COUNT), ("max_ops", COUNT), ("max_time_s", SECONDS)],
)
@pytest.mark.parametrize("value", [0, -1.5, math.nan, True, "10", None, 10**12])
def test_a_limit_that_is_not_a_positive_number_is_rejected(limit: str, allowed: str, value: object):
    limits = Limits(**{limit: value})  # pyright: ignore[reportArgumentType]

    assert error_message(limits=limits) == f"{limit} is {value!r}; {allowed}"


def test_a_budget_below_a_hundredth_of_a_cent_is_rejected():
    assert run_of(budget=Budget(max_cost_usd=0.5)).config["budget"]["max_cost_usd"] == 0.5
    assert error_message(budget=Budget(max_cost_usd=0)).startswith("max_cost_usd is 0; give a number from 0.0001 to ")
    assert error_message(budget=Budget(max_calls=0)).startswith("max_calls is 0; give a whole number from 1 to ")


@pytest.mark.parametrize("field", ["episodes_per_seed", "max_actions_per_call"])
@pytest.mark.parametrize("value", [0, -3, 2.5, True, "2"])
def test_other_counts_must_be_positive(field: str, value: object):
    changes: dict[str, Any] = {field: value}

    assert error_message(**changes).startswith(f"{field} is ")


@pytest.mark.parametrize(
    ("seeds", "message"),
    [
        ((), "0 seeds are selected. Select 1 to 1,000."),
        ((3, 3), "Seed 3 is listed twice. Remove one, and raise the episodes per seed instead."),
        ((2**31,), "The seed 2147483648 is out of range; give a whole number from 0 to 2147483647."),
        ((True,), "The seed is True; give a whole number from 0 to 2147483647."),
        (tuple(range(1001)), "1,001 seeds are selected. Select 1 to 1,000."),
    ],
)
def test_the_seeds_of_a_plan_are_validated(seeds: tuple[int, ...], message: str):
    assert error_message(InvalidSeeds, seeds=seeds) == message


def test_a_launch_of_too_many_episodes_is_rejected_with_their_number():
    assert error_message(seeds=tuple(range(1000)), episodes_per_seed=11) == (
        "1,000 seeds x 11 episodes per seed = 11,000 episodes, more than the limit of 10,000. "
        "Reduce the seeds or the episodes per seed."
    )


def test_unknown_names_are_rejected_with_a_suggestion_before_anything_runs():
    assert error_message(policy=PolicySpec("scriptd")) == (
        f'There is no policy "scriptd"; did you mean "scripted"? Choose one of: {", ".join(POLICIES)}.'
    )
    assert 'The policy "random" has no parameter "greed"' in error_message(policy=PolicySpec("random", {"greed": 1}))
    reward = RewardConfig(strategy="per_achievement", weights={"colect_wood": 2.0})
    assert 'did you mean "collect_wood"?' in error_message(InvalidReward, reward=reward)


def test_an_invalid_environment_or_name_is_rejected():
    assert error_message(name="x" * 5000) == "The run's name has 5,000 characters. Shorten it to 200."
    assert "area" in error_message(env=EnvConfig(area=(0, 64)))
    assert "length" in error_message(env=EnvConfig(length=0))


def test_on_done_is_terminate_or_reset():
    assert run_of(on_done="reset").episodes[0].spec.on_done is OnDone.RESET
    assert error_message(on_done="explode") == "on_done is 'explode'; give one of terminate, reset."


# ----------------------------------------------------------------------------------------------------- ops

ALTERNATION = (Op.AGENT, Op.ENV) * 20


def test_ops_have_other_names_and_may_be_objects():
    ops = parse_ops(["agent", "env", " Policy ", "ENVIRONMENT", {"type": "model"}, {"op": "step"}])

    assert ops == (Op.AGENT, Op.ENV) * 3


@pytest.mark.parametrize("item", ["wait", "", 3, None, [], {}, {"kind": "agent"}, {"type": 1}])
def test_an_invalid_op_is_reported_with_its_index(item: object):
    with pytest.raises(InvalidInput, match=r"^ops\[1\] is .* Give one of agent, policy, model, env, environment, step"):
        parse_ops(["agent", item])


@pytest.mark.parametrize(
    ("ops", "message"),
    [
        (["agnet"], r"ops\[0\] is 'agnet'; did you mean \"agent\"\?"),
        ([], "give a non-empty list"),
        ("agent", "give a non-empty list"),
        ({"type": "agent"}, "give a non-empty list"),
        (["agent"] * 100_001, "ops has 100,001 items"),
    ],
)
def test_invalid_ops_are_rejected(ops: object, message: str):
    with pytest.raises(InvalidInput, match=message):
        parse_ops(ops)


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        ({}, 40),
        ({"max_steps_per_episode": 5}, 10),
        ({"max_llm_calls": 3}, 6),
        ({"max_steps_per_episode": 5, "max_llm_calls": 3}, 6),
        ({"max_steps_per_episode": 50}, 40),
    ],
)
def test_older_limits_count_decisions_and_the_smaller_one_applies(limits: dict[str, int], kept: int):
    assert cut_ops(ALTERNATION, **limits) == ALTERNATION[:kept]


def test_an_older_limit_that_is_not_positive_is_rejected():
    with pytest.raises(InvalidConfig, match="^max_llm_calls is 0;"):
        cut_ops(ALTERNATION, max_llm_calls=0)


def test_a_list_of_ops_limits_the_rollout_to_its_length():
    assert limits_from_ops((Op.AGENT, Op.ENV, Op.AGENT)) == Limits(ops_given=3)
    assert limits_from_ops(ALTERNATION, Limits(max_steps=7, max_ops=4)) == Limits(
        max_steps=7, max_ops=4, ops_given=len(ALTERNATION)
    )


def test_ops_that_do_not_alternate_are_rejected():
    with pytest.raises(InvalidInput, match=r'^ops\[1\] is "agent", expected "env"'):
        limits_from_ops((Op.AGENT, Op.AGENT))
    with pytest.raises(InvalidInput, match=r'^ops\[0\] is "env", expected "agent"'):
        limits_from_ops((Op.ENV,))
    with pytest.raises(InvalidInput, match="ops is empty"):
        limits_from_ops(())


def test_numpy_numbers_become_plain_numbers():
    run = run_of(
        seeds=np.arange(3),
        episodes_per_seed=np.int64(1),
        policy=PolicySpec("random", {"max_actions": np.int32(3)}),
        limits=Limits(max_steps=np.int16(9), max_time_s=np.float32(2.5)),  # pyright: ignore[reportArgumentType]
    )
    assert [episode.spec.seed for episode in run.episodes] == [0, 1, 2]
    assert type(run.episodes[0].spec.seed) is type(run.episodes[0].spec.limits.max_steps) is int
    assert run.config["policy"]["params"]["max_actions"] == 3
