"""Seeds, caps and ops as they are written, and the run that comes of them."""

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
from core.types import EnvConfig, Limits, OnDone, PolicySpec, RewardConfig, Run

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


def sentence_about(kind: type[CraftscopeError] = InvalidConfig, **changes: Any) -> str:
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
def test_seeds_are_read_in_the_order_written_and_each_once(text: str, seeds: tuple[int, ...]):
    assert parse_seeds(text) == seeds


@settings(deadline=None)  # a busy machine is slow, and that is no failure
@given(st.lists(st.integers(min_value=0, max_value=2**31 - 1), min_size=1, max_size=20))
def test_seeds_written_out_are_read_back(seeds: list[int]):
    assert parse_seeds(", ".join(map(str, seeds))) == tuple(dict.fromkeys(seeds))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", 'No seed is given; write seeds and ranges, such as "0-9, 42".'),
        (" , ,", 'No seed is given; write seeds and ranges, such as "0-9, 42".'),
        (
            "1, two, 3",
            "Entry 2, 'two', is no seed and no range; seeds are whole numbers from 0 to 2147483647, "
            'written as numbers and ranges, such as "0-9, 42".',
        ),
        ("9-0", "Entry 1, '9-0', runs backwards; write \"0-9\"."),
        ("2147483648", "Entry 1, '2147483648', is out of range; seeds are whole numbers from 0 to 2147483647."),
        (
            "0-2147483647",
            "That is 2,147,483,648 seeds, and at most 1,000 can be given at once; ask for fewer.",
        ),
        ("0-999, 2000", "That is 1,001 seeds, and at most 1,000 can be given at once; ask for fewer."),
    ],
)
def test_seeds_that_cannot_be_used_are_answered_with_what_and_where(text: str, sentence: str):
    with pytest.raises(InvalidSeeds) as caught:
        parse_seeds(text)

    assert str(caught.value) == sentence


@pytest.mark.parametrize("text", ["-5", "1.5", "1e3", "0x10", "1_000", "٣", "1-2-3", "-", "nan", "9" * 5000])
def test_what_is_no_seed_is_refused(text: str):
    with pytest.raises(InvalidSeeds, match=r"^Entry 1, "):
        parse_seeds(text)


def test_overlapping_ranges_are_counted_once():
    assert len(parse_seeds("0-999, 500-999, 7, 0-3")) == 1000


def test_another_cap_can_be_set():
    with pytest.raises(InvalidSeeds, match="That is 10 seeds, and at most 5"):
        parse_seeds("0-9", max_count=5)


def test_a_seed_follows_from_the_run_id():
    # SHA-256 of "abc" begins with ba7816bf.
    assert seed_from_run_id("abc") == 0xBA7816BF % (2**31 - 1)


def test_policy_seeds_can_be_repeated_and_differ_within_a_seed():
    seeds = [policy_seed(42, index) for index in range(10_000)]

    assert seeds == [policy_seed(42, index) for index in range(10_000)]
    assert len(set(seeds)) == 10_000
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_policy_seeds_are_the_same_on_every_machine_and_differ_between_seeds():
    assert [policy_seed(42, 0), policy_seed(42, 1), policy_seed(7, 0)] == [1825008443, 184476908, 270666298]


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


def test_a_run_id_is_kept_or_made():
    assert run_of(run_id="trainer/run:7").id == "trainer/run:7"
    assert run_of().id != run_of().id


@pytest.mark.parametrize("run_id", ["", " ", " padded", "two\nlines", "x" * 201])
def test_a_run_id_that_cannot_stand_in_a_url_is_refused(run_id: str):
    with pytest.raises(InvalidConfig, match="The run id is "):
        run_of(run_id=run_id)


def test_names_become_canonical_and_parameters_complete():
    reward = RewardConfig(strategy="Complex", weights={" Collect_Wood ": 2})
    spec = run_of(policy=PolicySpec(" Random "), reward=reward).episodes[0].spec

    assert spec.policy.name == "random"
    assert spec.policy.params == asdict(POLICIES["random"].params())
    assert spec.reward.strategy == "per_achievement"
    assert spec.reward.weights == {"collect_wood": 2.0}
    make_policy(spec.policy, seed=spec.policy_seed, max_actions=spec.max_actions_per_call).close()


def test_numbers_of_numpy_become_plain_ones():
    run = run_of(seeds=(np.int64(3),), episodes_per_seed=np.int32(1), limits=Limits(max_steps=np.int64(10)))  # pyright: ignore[reportArgumentType]

    assert type(run.episodes[0].spec.seed) is int
    assert type(run.episodes[0].spec.limits.max_steps) is int


@pytest.mark.parametrize("cap", ["max_steps", "max_decisions", "max_ops"])
@pytest.mark.parametrize("value", [0, -1, 1.5, math.nan, math.inf, True, "10", None, 10**12])
def test_a_cap_that_is_no_positive_whole_number_is_refused_by_name(cap: str, value: object):
    limits = Limits(**{cap: value})  # pyright: ignore[reportArgumentType]

    sentence = sentence_about(limits=limits)
    assert sentence.startswith(f"{cap} is ")
    assert sentence.endswith("; give a whole number from 1 to 1,000,000,000.")


@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, True, "60", None])
def test_a_time_limit_that_is_no_positive_number_is_refused(value: object):
    limits = Limits(max_time_s=value)  # pyright: ignore[reportArgumentType]

    assert sentence_about(limits=limits).startswith("max_time_s is ")


@pytest.mark.parametrize("field", ["episodes_per_seed", "max_actions_per_call"])
@pytest.mark.parametrize("value", [0, -3, 2.5, True, "2"])
def test_other_counts_are_checked_like_caps(field: str, value: object):
    changes: dict[str, Any] = {field: value}

    assert sentence_about(**changes).startswith(f"{field} is ")


@pytest.mark.parametrize(
    ("seeds", "sentence"),
    [
        ((), "No seed is chosen; choose at least one."),
        ((3, 3), "The seed 3 is there twice; keep one and raise the episodes per seed instead."),
        ((2**31,), "The seed 2147483648 is out of range; give a whole number from 0 to 2147483647."),
        ((True,), "The seed is True; give a whole number from 0 to 2147483647."),
        (tuple(range(1001)), "That is 1,001 seeds, and one launch takes at most 1,000; ask for fewer."),
    ],
)
def test_seeds_of_a_plan_are_checked(seeds: tuple[int, ...], sentence: str):
    assert sentence_about(InvalidSeeds, seeds=seeds) == sentence


def test_an_absurd_launch_is_answered_with_how_many_it_would_be():
    assert sentence_about(seeds=tuple(range(1000)), episodes_per_seed=11) == (
        "1,000 seeds with 11 episodes each are 11,000 episodes, and one launch runs at most 10,000; "
        "ask for fewer seeds or fewer episodes per seed."
    )


def test_an_unknown_policy_is_answered_with_all_and_the_nearest():
    assert sentence_about(policy=PolicySpec("scriptd")) == (
        f'There is no policy "scriptd"; did you mean "scripted"? Choose one of: {", ".join(POLICIES)}.'
    )


def test_an_unknown_policy_parameter_is_refused_before_anything_runs():
    assert 'The policy "random" has no parameter "greed"' in sentence_about(policy=PolicySpec("random", {"greed": 1}))


def test_an_unknown_achievement_in_the_weights_is_answered_with_the_nearest():
    reward = RewardConfig(strategy="per_achievement", weights={"colect_wood": 2.0})

    assert 'did you mean "collect_wood"?' in sentence_about(InvalidReward, reward=reward)


def test_an_environment_that_cannot_be_made_is_refused():
    assert "area" in sentence_about(env=EnvConfig(area=(0, 64)))
    assert "length" in sentence_about(env=EnvConfig(length=0))


def test_what_follows_a_world_is_one_of_two():
    assert run_of(on_done="reset").episodes[0].spec.on_done is OnDone.RESET
    assert sentence_about(on_done="explode") == 'on_done is \'explode\'; give "terminate" or "reset".'


def test_a_name_may_not_be_a_novel():
    assert sentence_about(name="x" * 5000) == "The name has 5,000 characters; give at most 200."


# ----------------------------------------------------------------------------------------------------- ops

ALTERNATION = (Op.AGENT, Op.ENV) * 20


def test_ops_have_other_names_and_may_be_objects():
    ops = parse_ops(["agent", "env", " Policy ", "ENVIRONMENT", {"type": "model"}, {"op": "step"}])

    assert ops == (Op.AGENT, Op.ENV) * 3


@pytest.mark.parametrize("item", ["wait", "", 3, None, [], {}, {"kind": "agent"}, {"type": 1}])
def test_an_op_that_is_none_is_named_by_its_index(item: object):
    with pytest.raises(InvalidInput, match=r"^ops\[1\] is .* Give one of agent, policy, model, env, environment, step"):
        parse_ops(["agent", item])


def test_a_misspelt_op_is_answered_with_the_nearest():
    with pytest.raises(InvalidInput, match=r"ops\[0\] is 'agnet'; did you mean \"agent\"\?"):
        parse_ops(["agnet"])


@pytest.mark.parametrize("ops", [[], "agent", None, {"type": "agent"}])
def test_ops_that_are_no_list_are_refused(ops: object):
    with pytest.raises(InvalidInput, match="give a list that is not empty"):
        parse_ops(ops)


def test_too_many_ops_are_counted():
    with pytest.raises(InvalidInput, match="ops has 100,001 items"):
        parse_ops(["agent"] * 100_001)


@pytest.mark.parametrize(
    ("caps", "kept"),
    [
        ({}, 40),
        ({"max_steps_per_episode": 5}, 10),
        ({"max_llm_calls": 3}, 6),
        ({"max_steps_per_episode": 5, "max_llm_calls": 3}, 6),
        ({"max_steps_per_episode": 50}, 40),
    ],
)
def test_older_caps_both_count_decisions_and_the_smaller_one_cuts(caps: dict[str, int], kept: int):
    assert cut_ops(ALTERNATION, **caps) == ALTERNATION[:kept]


@pytest.mark.parametrize("cap", ["max_steps_per_episode", "max_llm_calls"])
def test_an_older_cap_of_zero_is_refused(cap: str):
    with pytest.raises(InvalidConfig, match=f"^{cap} is 0;"):
        cut_ops(ALTERNATION, **{cap: 0})


def test_a_list_of_ops_limits_the_rollout_to_its_length():
    assert limits_from_ops((Op.AGENT, Op.ENV, Op.AGENT)) == Limits(ops_given=3)
    assert limits_from_ops(ALTERNATION, Limits(max_steps=7, max_ops=4)) == Limits(
        max_steps=7, max_ops=4, ops_given=len(ALTERNATION)
    )


def test_ops_that_do_not_alternate_are_refused_rather_than_played_as_something_else():
    with pytest.raises(InvalidInput, match=r'^ops\[1\] is "agent" where "env" is due'):
        limits_from_ops((Op.AGENT, Op.AGENT))
    with pytest.raises(InvalidInput, match=r'^ops\[0\] is "env" where "agent" is due'):
        limits_from_ops((Op.ENV,))
    with pytest.raises(InvalidInput, match="ops is empty"):
        limits_from_ops(())


@pytest.mark.parametrize("text", [None, 5, ["0-9"], b"0-9"])
def test_seeds_that_are_no_text_are_said(text: Any):
    with pytest.raises(InvalidSeeds, match="^The seeds are .*; write them as text"):
        parse_seeds(text)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seeds": None}, "seeds is None; give whole numbers"),
        ({"seeds": 5}, "seeds is 5; give whole numbers"),
        ({"seeds": "0-9"}, "seeds is '0-9'; give whole numbers"),
        ({"seeds": ("1",)}, "The seed is '1'; give a whole number"),
        ({"name": None}, "The name is None; give a text"),
        ({"policy": None}, "The policy is None; give a PolicySpec"),
        ({"policy": PolicySpec(None)}, "The policy's name is None and not a text"),  # pyright: ignore[reportArgumentType]
        ({"policy": PolicySpec("random", None)}, 'params of the policy "random" is None'),  # pyright: ignore[reportArgumentType]
        ({"policy": PolicySpec("random", {5: 1})}, 'A name in params of the policy "random" is 5'),  # pyright: ignore[reportArgumentType]
        ({"limits": None}, "limits is None; give a Limits"),
        ({"limits": Limits(max_steps="9")}, "max_steps is '9'; give a whole number"),  # pyright: ignore[reportArgumentType]
        ({"limits": Limits(max_time_s="9")}, "max_time_s is '9'; give a number"),  # pyright: ignore[reportArgumentType]
        ({"limits": Limits(max_time_s=10**400)}, "give a number of seconds above 0"),
        ({"env": None}, "env is None; give a EnvConfig"),
        ({"on_done": []}, "on_done is []"),
        ({"max_actions_per_call": "5"}, "max_actions_per_call is '5'"),
        ({"episodes_per_seed": None}, "episodes_per_seed is None"),
    ],
)
def test_a_plan_with_values_of_other_types_is_said(changes: dict[str, Any], said: str):
    with pytest.raises(InvalidInput) as caught:
        run_of(**changes)
    assert said in str(caught.value)


def test_what_is_no_plan_or_no_run_id_is_said():
    with pytest.raises(InvalidConfig, match="The plan of a launch is None; give a LaunchPlan"):
        make_run(None, engine_version=ENGINE_VERSION, achievements=ACHIEVEMENTS, items=ITEMS)  # pyright: ignore[reportArgumentType]
    for run_id in (5, "half \ud83d", ""):
        with pytest.raises(InvalidConfig, match="The run id is"):
            run_of(run_id)  # pyright: ignore[reportArgumentType]
        with pytest.raises(InvalidConfig, match="The run id is"):
            seed_from_run_id(run_id)  # pyright: ignore[reportArgumentType]


def test_whole_numbers_of_numpy_are_whole_numbers():
    run = run_of(
        seeds=np.arange(3),
        episodes_per_seed=np.int64(1),
        policy=PolicySpec("random", {"max_actions": np.int32(3)}),
        limits=Limits(max_steps=np.int16(9), max_time_s=np.float32(2.5)),  # pyright: ignore[reportArgumentType]
    )
    assert [episode.spec.seed for episode in run.episodes] == [0, 1, 2]
    assert run.config["policy"]["params"]["max_actions"] == 3


def test_ops_that_are_none_are_said():
    for ops in (None, 5, ("agent", 7)):
        with pytest.raises(InvalidInput, match="ops"):
            limits_from_ops(ops)  # pyright: ignore[reportArgumentType]
        with pytest.raises(InvalidInput, match="ops"):
            cut_ops(ops, max_llm_calls=1)  # pyright: ignore[reportArgumentType]
