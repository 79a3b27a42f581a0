"""Live environments and policies over HTTP, OpenEnv's client, the proxy, and the document that describes it all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from openenv.core import GenericEnvClient

from core.env import CrafterEnv
from core.env.rules import ACTION_INDEX
from core.service.handles import IDLE_S, Handles, TooManyHandles, UnknownHandle
from core.types import EnvConfig
from tests.support.model.server import ModelServer, calls, says
from tests.support.service import RunningService

CONFIG = EnvConfig(area=(32, 32))
STEP_REWARDS = {"enabled": True, "mode": "decision_stepwise", "strategy": "per_achievement"}


def interact(*actions: Any) -> list[dict[str, Any]]:
    return [{"tool": "interact", "args": {"actions": list(actions)}}]


def test_an_environment_plays_what_the_engine_plays(service: RunningService):
    started = service.post("/env/create", {"seed": 7, "config": {"step_rewards": STEP_REWARDS}})
    env = CrafterEnv.from_config(CONFIG, observe=False)
    env.reset(seed=7)
    assert started["step_idx"] == 0
    assert tuple(started["observation"]["player_position"]) == env.facts().position
    actions = ["move_left", "do", "move_up", "noop", "do"]
    stepped = service.post("/env/step", {"env_id": started["env_id"], "tool_calls": interact(*actions)})
    rewards = [env.step(ACTION_INDEX[action])[1] for action in actions]
    assert stepped["reward"] == sum(rewards) and stepped["step_idx"] == 5 and not stepped["done"]
    assert stepped["observation"]["inventory"] == env.facts().inventory
    assert stepped["observation"]["achievements_status"] == env.facts().achievements
    assert stepped["info"]["actions"] == actions
    assert stepped["info"]["stepwise"]["strategy"] == "per_achievement"


@pytest.mark.parametrize(
    "tool_calls",
    [
        [{"name": "interact", "arguments": {"actions": ["do", "noop"]}}],
        [{"tool": "interact", "args": {"actions": [5, 0]}}],
        [{"id": "1", "type": "function", "function": {"name": "interact", "arguments": '{"actions": ["do", "noop"]}'}}],
        [{"tool": "interact", "args": {"action": "do"}}, {"tool": "interact", "args": {"action": 0}}],
    ],
)
def test_tool_calls_have_several_forms(service: RunningService, tool_calls: list[Any]):
    env_id = service.post("/env/crafter/initialize", {"seed": 1})["env_id"]
    stepped = service.post("/env/CrafterClassic/step", {"env_id": env_id, "action": {"tool_calls": tool_calls}})
    assert stepped["info"]["actions"] == ["do", "noop"]
    assert service.post("/env/crafter/terminate", {"env_id": env_id}) == {"ok": True}


def test_unknown_actions_are_named(service: RunningService):
    env_id = service.post("/env/create", {"seed": 1})["env_id"]
    stepped = service.post("/env/step", {"env_id": env_id, "tool_calls": interact("fly", "noop")})
    assert [each["name"] for each in stepped["info"]["dropped"]] == ["fly"]
    for bad in (interact("fly"), [], [1], [{"tool": "fly", "args": {}}], "x", None):
        answer = service.post("/env/step", {"env_id": env_id, "tool_calls": bad}, 422)
        assert "tool_calls" in answer["detail"]


def test_snapshots_and_branches_continue_exactly(service: RunningService):
    env_id = service.post("/env/create", {"seed": 3})["env_id"]
    service.post("/env/step", {"env_id": env_id, "tool_calls": interact("move_right", "do", "sleep")})
    snapshot = service.post("/env/snapshot", {"env_id": env_id})
    assert snapshot["size"] > 0
    children = service.post("/branch", {"env_ids": [env_id], "num_children": 2})["env_branches"][env_id]
    restored = service.post("/env/restore", {"snapshot_id": snapshot["snapshot_id"]})["env_id"]
    by_parent = service.post("/env/create", {"parent_env_id": env_id})["env_id"]
    futures = [
        service.post("/env/step", {"env_id": each, "tool_calls": interact("noop", "move_up", "do", "move_left")})
        for each in (env_id, *children, restored, by_parent)
    ]
    assert len(futures) == 5 and all(future == futures[0] for future in futures)
    later = service.post("/env/restore", {"snapshot_id": snapshot["snapshot_id"]})["env_id"]
    again = service.post("/env/step", {"env_id": later, "tool_calls": interact("noop", "move_up", "do", "move_left")})
    assert again == futures[0]
    service.post("/branch", {"env_ids": [env_id], "num_children": 3, "max_branches": 2}, 422)


def test_the_end_of_an_episode_is_reported_and_then_refused(service: RunningService):
    env_id = service.post("/env/create", {"seed": 3, "config": {"length": 3}})["env_id"]
    stepped = service.post("/env/step", {"env_id": env_id, "tool_calls": interact(*["noop"] * 5)})
    assert stepped["done"] and stepped["truncated"] and stepped["step_idx"] == 3
    service.post("/env/step", {"env_id": env_id, "tool_calls": interact("noop")}, 409)
    assert service.post("/env/reset", {"env_id": env_id, "seed": 4})["step_idx"] == 0
    service.post("/env/step", {"env_id": env_id, "tool_calls": interact("noop")})


def test_ids_that_are_unknown_or_ended_are_not_found(service: RunningService):
    env_id = service.post("/env/create", {})["env_id"]
    service.post("/env/terminate", {"env_id": env_id})
    assert "was terminated" in service.post("/env/terminate", {"env_id": env_id}, 404)["detail"]
    assert "There is no snapshot" in service.post("/env/restore", {"snapshot_id": "x"}, 404)["detail"]
    service.post("/policy/step", {"policy_id": "x"}, 404)


def test_handles_end_after_an_idle_hour_where_there_is_no_room():
    now = [0.0]
    handles = Handles[str]("environment", "env", 2, clock=lambda: now[0])
    first, second = handles.add("a"), handles.add("b")
    with pytest.raises(TooManyHandles, match="2 environments"):
        handles.add("c")
    now[0] = IDLE_S + 1
    assert handles.get(first) == "a"
    third = handles.add("c")
    with pytest.raises(UnknownHandle, match="ended after an idle hour"):
        handles.get(second)
    assert (handles.get(first), handles.get(third)) == ("a", "c")


def test_numbers_in_openais_form_are_actions(service: RunningService):
    env_id = service.post("/env/create", {"seed": 5})["env_id"]
    call = {"type": "function", "function": {"name": "interact", "arguments": '{"actions": [5, 0]}'}}
    assert service.post("/env/step", {"env_id": env_id, "tool_calls": [call]})["info"]["actions"] == ["do", "noop"]


def test_a_branch_without_room_leaves_nothing_and_old_snapshots_make_room(tmp_path: Path):
    with RunningService(tmp_path, CRAFTSCOPE_SERVICE_MAX_HANDLES="3") as small:
        env_id = small.post("/env/create", {"seed": 5})["env_id"]
        small.post("/branch", {"env_ids": [env_id], "num_children": 3}, 429)
        assert len(small.post("/branch", {"env_ids": [env_id], "num_children": 2})["env_branches"][env_id]) == 2
        snapshots = [small.post("/env/snapshot", {"env_id": env_id})["snapshot_id"] for _ in range(4)]
        gone = small.post("/env/restore", {"snapshot_id": snapshots[0]}, 404)
        assert "ended to make room" in gone["detail"]


def test_a_policy_plays_its_environment(service: RunningService):
    env_id = service.post("/env/create", {"seed": 5})["env_id"]
    policy_id = service.post("/policy/create", {"policy_name": "scripted", "bound_env_id": env_id})["policy_id"]
    for _ in range(5):
        decided = service.post("/policy/step", {"policy_id": policy_id})
        service.post("/env/step", {"env_id": env_id, "tool_calls": decided["tool_calls"]})
    assert service.post("/policy/terminate", {"policy_id": policy_id}) == {"ok": True}
    unbound = service.post("/policy/create", {"policy_name": "random"})["policy_id"]
    service.post("/policy/step", {"policy_id": unbound}, 422)
    service.post("/policy/create", {"policy_name": "nobody"}, 422)


def test_a_model_can_be_a_policy_and_a_rollout_can_name_handles(service: RunningService):
    env_id = service.post("/env/create", {"seed": 6})["env_id"]
    with ModelServer([says(calls("noop", "do"))]) as model:
        config = {"model": "tiny", "inference_url": model.url, "max_llm_calls": 2}
        policy_id = service.post("/policy/create", {"config": config, "bound_env_id": env_id})["policy_id"]
        decided = service.post("/policy/step", {"policy_id": policy_id})
        assert decided["tool_calls"][0]["args"]["actions"] == ["noop", "do"]
        request = {"run_id": "by-handles", "policy": {"policy_id": policy_id}, "env": {"env_id": env_id}}
        answer = service.post("/rollout", request)
    assert answer["trajectories"][0]["length"] == 2
    service.post("/env/step", {"env_id": env_id, "tool_calls": interact("noop")})
    stepped = service.post("/rollout", {**request, "run_id": "by-handles-2"}, 422)
    assert stepped["detail"].startswith("env.env_id: ")


def test_a_models_policy_remembers_what_it_did_in_this_world(service: RunningService):
    env_id = service.post("/env/create", {"seed": 6})["env_id"]
    with ModelServer([says(calls("noop", "do"))]) as model:
        config = {"model": "tiny", "inference_url": model.url, "history": 5}
        policy_id = service.post("/policy/create", {"config": config, "bound_env_id": env_id})["policy_id"]

        def asked() -> list[dict[str, Any]]:
            decided = service.post("/policy/step", {"policy_id": policy_id})
            assert decided["tool_calls"][0]["args"]["actions"] == ["noop", "do"]
            return model.requests[-1][2]["messages"]

        assert [message["role"] for message in asked()] == ["system", "user"]
        service.post("/env/step", {"env_id": env_id, "tool_calls": interact("noop")})
        second = asked()
        assert [message["role"] for message in second] == ["system", "user", "assistant", "tool"]
        assert "Executed 1 of 2." in second[-1]["content"] and "Step 1 of" in second[-1]["content"]
        service.post("/env/reset", {"env_id": env_id, "seed": 7})
        assert len(asked()) == 2


def test_tasks_describe_seeds(service: RunningService):
    assert "taskset" in service.client.get("/task_info").json()
    one = service.client.get("/task_info?seed=3").json()
    assert one["action_space"]["size"] == len(one["action_space"]["names"]) == 17
    assert one["dataset"]["seed"] == 3 and one["observation"]["traits"].keys() == {"trees", "cows", "hostiles"}
    many = service.client.get("/task_info?seed=3&seeds=4").json()
    assert [task["dataset"]["seed"] for task in many] == [3, 4] and many[0] == one
    assert service.client.get("/task_info?seed=-1").status_code == 422
    assert service.client.get("/task_info?seed=x").status_code == 422
    rubrics = service.client.get("/info").json()["rubrics"]
    assert {name: rubrics[name]["criteria"][0].keys() >= {"id", "weight"} for name in ("outcome", "events")}


def test_the_proxy_adds_hints_and_passes_the_answer_on(tmp_path: Path):
    body = {"id": "x", "choices": [], "odd": {"key": "sk-proxy-12345678"}}
    with ModelServer([says(body)]) as model:
        pair = f"PROXY_KEY={model.host}"
        more = {"CRAFTSCOPE_KEYS": pair, "PROXY_KEY": "sk-proxy-12345678", "GROQ_API_KEY": ""}
        with RunningService(tmp_path, CRAFTSCOPE_SERVICE_OPENAI_URL=model.url, **more) as service:
            request = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}], "temperature": 0.5}
            answer = service.post("/proxy/v1/chat/completions", request)
            off = service.post("/proxy/groq/v1/chat/completions", request, 404)
            service.post("/proxy/v1/chat/completions", {"model": "tiny"}, 422)
    assert answer == {**body, "odd": {"key": "[key removed]"}}
    assert "No key" in off["detail"]
    (path, headers, sent), *_ = model.requests
    assert headers["authorization"] == "Bearer sk-proxy-12345678"
    assert sent["messages"][0]["role"] == "system" and "place_table" in sent["messages"][0]["content"]
    assert sent["messages"][1:] == request["messages"] and sent["temperature"] == 0.5


def test_openenvs_own_client_plays(service: RunningService):
    with GenericEnvClient(base_url=f"{service.url}/openenv").sync() as client:
        first = client.reset(seed=7)
        assert "Step 0 of 10000" in first.observation["text"]
        result = client.step({"actions": ["move_left", "do"], "reasoning": "test"})
        assert not result.done and result.observation["inventory"].keys() >= {"health", "wood"}
        assert client.state()["step_count"] == 2
        again = client.reset(seed=7)
        assert again.observation == first.observation
    for path in ("schema", "metadata", "health"):
        assert service.client.get(f"/openenv/{path}", headers={"X-API-Key": ""}).status_code == 200
    for path in ("docs", "redoc"):  # their pages load scripts from another host
        assert service.client.get(f"/openenv/{path}").status_code == 404
    stepped = service.client.post("/openenv/step", json={"action": {"actions": ["noop"]}})
    assert stepped.status_code == 200
    assert service.client.post("/openenv/reset", json={"seed": -1}).status_code == 422
    reset = service.client.post("/openenv/reset", json={"seed": 7}, headers={"X-API-Key": ""}).json()
    assert reset["observation"]["text"] == first.observation["text"]
