"""What a trainer may send: fields, limits, and the path of what is wrong."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest

from core.errors import InvalidInput
from core.plan import seed_from_run_id
from core.requests import PlannedRollout, plan_request, read_request
from core.types import EpisodeSpec, OnDone, RewardConfig, RunSource

URL = "http://127.0.0.1:9/v1"


def a_request(**changes: Any) -> dict[str, Any]:
    """A request of a language model. changes: fields of the request; those of `policy.config` under `config`."""
    config = {"model": "tiny", "inference_url": URL, **changes.pop("config", {})}
    return {"run_id": "run-1", "env": {"seed": 7}, "policy": {"config": config}, "mode": "eval", **changes}


def planned(**changes: Any) -> PlannedRollout:
    return plan_request(read_request(json.dumps(a_request(**changes)).encode()))


def spec_of(**changes: Any) -> EpisodeSpec:
    (episode,) = planned(**changes).run.episodes
    return episode.spec


def test_a_request_becomes_the_run_that_the_dashboard_plays():
    given = a_request(
        env={"seed": 7, "config": {"difficulty": "normal"}},
        config={"max_llm_calls": 4, "max_completion_tokens": 99, "temperature": 0.5, "use_vision": True, "history": 3},
        record={"logprobs": False},
        on_done="reset",
        safety={"max_ops": 6, "max_time_s": 9.5},
        training_session_id="session-1",
        synth_base_url="https://trainer.example",
    )
    given["policy"]["config"]["trace_correlation_id"] = "trace-9"
    plan = plan_request(read_request(json.dumps(given).encode()))
    run, (episode,) = plan.run, plan.run.episodes
    assert (run.id, run.source, run.mode) == ("run-1", RunSource.SERVICE, "eval")
    assert (run.training_session_id, run.trace_correlation_id) == ("session-1", "trace-9")
    assert run.session_url == "https://trainer.example"
    assert run.config["request"] == given
    spec = episode.spec
    assert (spec.seed, spec.on_done) == (7, OnDone.RESET)
    assert (spec.limits.max_decisions, spec.limits.max_ops, spec.limits.max_time_s) == (4, 6, 9.5)
    params = {name: spec.policy.params[name] for name in ("base_url", "model", "max_tokens", "observe", "history")}
    assert params == {"base_url": URL, "model": "tiny", "max_tokens": 99, "observe": "both", "history": 3}
    assert not spec.reward.enabled
    assert plan.warnings == ()


def test_a_seed_is_derived_from_the_run_id_where_there_is_none():
    assert spec_of(env={}).seed == seed_from_run_id("run-1")


@pytest.mark.parametrize(
    ("changes", "decisions", "ops"),
    [
        ({}, 10, None),
        ({"config": {"max_llm_calls": 3}}, 3, None),
        ({"env": {"config": {"env_params": {"max_steps_per_episode": 2}}}, "config": {"max_llm_calls": 3}}, 2, None),
        ({"ops": ["agent", "env"] * 6}, 12, 12),
        ({"ops": [{"type": "", "op": "policy"}, {"op": "step"}]}, 2, 2),
        ({"ops": ["agent", "env"] * 6, "config": {"max_llm_calls": 2}}, 12, 4),
    ],
)
def test_limits_count_decisions(changes: dict[str, Any], decisions: int, ops: int | None):
    limits = spec_of(**changes).limits
    assert (limits.max_decisions, limits.ops_given) == (decisions, ops)


def test_a_math_task_is_played_as_crafter():
    plan = planned(env={"env_name": "math-single-step"}, policy={"config": {"model": "m", "inference_url": URL}})
    (episode,) = plan.run.episodes
    spec = episode.spec
    assert (spec.limits.ops_given, spec.policy.params["max_tokens"], spec.reward.enabled) == (20, 1024, True)
    assert any("math" in warning for warning in plan.warnings)


@pytest.mark.parametrize("name", ["random", "Scripted", "farmer"])
def test_our_own_policies_are_played_by_name(name: str):
    plan = planned(policy={"policy_name": name})
    assert plan.run.episodes[0].spec.policy.name == name.lower()
    assert plan.inference_url == ""


@pytest.mark.parametrize(
    ("policy", "env", "reward"),
    [
        (None, None, RewardConfig(enabled=False)),
        ({"strategy": "per_achievement"}, None, RewardConfig("per_achievement", enabled=False)),
        ({"enabled": True, "strategy": "per_achievement"}, None, RewardConfig("per_achievement", enabled=False)),
        ({"enabled": True, "mode": "decision_stepwise"}, None, RewardConfig()),
        ({"enabled": True, "mode": "decision_stepwise"}, {"strategy": "nonsense"}, RewardConfig()),
        (None, {"enabled": True, "mode": "decision_stepwise"}, RewardConfig()),
    ],
)
def test_step_rewards_are_off_unless_they_say_so_and_the_policys_come_first(
    policy: Any, env: Any, reward: RewardConfig
):
    config = {} if policy is None else {"step_rewards": policy}
    spec = spec_of(config=config, env={"config": {} if env is None else {"step_rewards": env}})
    assert spec.reward == reward


def test_mode_rl_puts_the_correlation_id_into_the_url():
    plan = planned(mode="rl", config={"trace_correlation_id": "t 1", "inference_url": f"{URL}?a=b"})
    assert plan.inference_url == f"{URL}?a=b&cid=t+1"
    assert planned(mode="rl", config={"inference_url": f"{URL}?cid=x"}).run.trace_correlation_id == "x"
    assert planned(config={"trace_correlation_id": "t"}).inference_url == URL


def test_unknown_fields_are_kept_and_named_and_secrets_are_neither():
    given = a_request(config={"api_key": "sk-1", "warmth": 3, "extra_headers": {"Authorization": "Bearer sk-2"}})
    given["judge"] = {"tokens": ["sk-3"], "keep": True}
    plan = plan_request(read_request(json.dumps(given).encode()))
    assert "sk-" not in json.dumps(plan.run.config)
    assert plan.run.config["request"]["judge"] == {"keep": True}
    unknown, secret, *_ = plan.warnings
    assert "judge" in unknown and "policy.config.warmth" in unknown and "without effect" in unknown
    assert "policy.config.api_key" in secret and "policy.config.extra_headers" in secret
    assert plan.run.config["warnings"] == list(plan.warnings)


def test_a_key_goes_only_to_a_host_that_it_was_paired_with_on_purpose(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
    monkeypatch.setenv("LAB_KEY", "sk-lab")
    assert spec_of(config={"inference_url": "https://api.openai.com/v1"}).policy.params["key_name"] == ""
    monkeypatch.setenv("CRAFTSCOPE_KEYS", "LAB_KEY=models.example")
    assert spec_of(config={"inference_url": "https://models.example/v1"}).policy.params["key_name"] == "LAB_KEY"
    assert spec_of(config={"inference_url": "https://models.example.org/v1"}).policy.params["key_name"] == ""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"run_id": ""}, "^run_id: expected `str` of length >= 1"),
        ({"run_id": "a\nb"}, "^run_id: Invalid run id"),
        ({"env": {"seed": -1}}, "^env.seed: expected `int` >= 0"),
        ({"env": {"seed": True}}, "^env.seed: expected `int"),
        ({"env": {"env_name": "chess"}}, "^env.env_name: is 'chess'"),
        ({"policy": {"policy_name": "scriptd"}}, '^policy.policy_name: .*did you mean "scripted"'),
        ({"policy": {}}, "^policy.config.inference_url: is missing"),
        ({"config": {"model": ""}}, "^policy.config.model: is missing"),
        ({"config": {"max_tokens": "many"}}, "^policy.config.max_tokens: expected"),
        ({"config": {"inference_url": "ftp://x"}}, "^policy.config.inference_url: The base URL is invalid"),
        ({"config": {"inference_url": "http://a:b@x"}}, "^policy.config.inference_url: .*password"),
        ({"config": {"step_rewards": {"weights": {"colect_wood": 1}}}}, "^policy.config.step_rewards: .*colect_wood"),
        ({"ops": []}, "^ops: ops is"),
        ({"ops": ["agent"]}, "^ops: ops has no env op"),
        ({"ops": ["agent", "dance"]}, r"^ops: ops\[1\]"),
        ({"branch": {"max_branches": 2}}, "^branch.max_branches: is 2; episodes cannot be forked"),
        ({"mode": "rl"}, "^policy.config.trace_correlation_id: is missing; mode rl needs it"),
        ({"record": {"trace_format": "xml"}}, "^record.trace_format: invalid enum value"),
        ({"safety": {"max_time_s": 0}}, "^safety.max_time_s: expected"),
        ({"synth_base_url": "https://me:secret@trainer.example"}, "^synth_base_url: "),
    ],
)
def test_what_is_wrong_is_named_by_its_path(changes: dict[str, Any], message: str):
    with pytest.raises(InvalidInput, match=message) as raised:
        planned(**changes)
    assert "secret" not in str(raised.value)


def test_what_looks_like_a_key_is_left_out_whatever_its_name():
    config = {
        "auth": "Bearer sk-1",
        "headers": ["Authorization: Bearer sk-2"],
        "note": "bearer sk-3",
        "max_new_tokens": 5,
    }
    read = read_request(json.dumps(a_request(config=config)).encode())
    assert "sk-" not in str(read.given) and read.given["policy"]["config"]["max_new_tokens"] == 5
    assert any("may hold a secret" in warning for warning in read.warnings)


def test_hosts_of_models_can_be_restricted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CRAFTSCOPE_MODEL_HOSTS", "models.example")
    with pytest.raises(InvalidInput, match="^policy.config.inference_url: The host 127.0.0.1:9 is not on the list"):
        planned()


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"null", b"{", b'{"run_id": NaN}', b"[" * 100_000, b"\xff", b'{"a":' * 300 + b"1" + b"}" * 300]
)
def test_other_texts_are_refused(body: bytes):
    with pytest.raises(InvalidInput):
        read_request(body)


def test_a_request_of_more_than_two_megabytes_is_refused():
    with pytest.raises(InvalidInput, match="at most 2,000,000"):
        read_request(b" " * 2_000_001)


@pytest.mark.parametrize("seed", range(200))
def test_a_changed_request_is_planned_or_refused(seed: int):
    given = changed_request(seed)
    try:
        plan_request(read_request(json.dumps(given).encode()))
    except InvalidInput as error:
        assert names_its_path(str(error), given)


def names_its_path(problem: str, given: dict[str, Any]) -> bool:
    path = problem.split(":")[0]
    return path == "request" or path.split(".")[0].split("[")[0] in given or "missing" in problem


def changed_request(seed: int, **more: Any) -> dict[str, Any]:
    """A request with one to three random changes."""
    draw = random.Random(seed)
    given = a_request(
        run_id=f"changed-{seed}",
        ops=["agent", "env"],
        record={"trajectories": True, "trace_format": "full"},
        on_done="terminate",
        safety={"max_ops": 5, "max_time_s": 2.0},
        branch={"max_branches": 0},
        config={
            "step_rewards": {"enabled": True, "mode": "decision_stepwise", "weights": {"collect_wood": 2}},
            **more,
        },
    )
    for _ in range(1 if seed % 2 else draw.randint(2, 3)):
        _change(given, draw)
    return given


def _change(given: dict[str, Any], draw: random.Random) -> None:
    """Replaces, removes or adds one value somewhere in the request."""
    place: Any = given
    while True:
        key = draw.choice(list(place)) if isinstance(place, dict) else draw.randrange(len(place))
        inner = place[key]
        if isinstance(inner, dict | list) and inner and draw.random() < 0.8:
            place = inner
            continue
        if draw.random() < 0.2:
            del place[key]
        else:
            odd = [None, True, -1, 0, 2**63, 1e300, "", "x" * 300, "\x00", "💥", [], {}, [[]], {"a": {"b": 1}}]
            place[key] = copy.deepcopy(draw.choice(odd))
        return
