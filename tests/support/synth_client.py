"""Run by synth-ai's own Python: asks a service with its real client, whose types check the answers."""

from __future__ import annotations

import asyncio
import sys

from synth_ai.task.client import TaskAppClient  # pyright: ignore[reportMissingImports]
from synth_ai.task.contracts import (  # pyright: ignore[reportMissingImports]
    RolloutEnvSpec,
    RolloutPolicySpec,
    RolloutRecordConfig,
    RolloutRequest,
)


async def ask(url: str, key: str) -> None:
    step_rewards = {"enabled": True, "mode": "decision_stepwise", "strategy": "per_achievement"}
    request = RolloutRequest(
        run_id="synth-1",
        env=RolloutEnvSpec(env_name="crafter", seed=5, config={"env_params": {"max_steps_per_episode": 20}}),
        policy=RolloutPolicySpec(policy_name="scripted", config={"max_llm_calls": 10, "step_rewards": step_rewards}),
        ops=["agent", "env"] * 10,
        record=RolloutRecordConfig(return_trace=True, trace_format="full"),
        mode="eval",
    )
    async with TaskAppClient(url, api_key=key) as client:
        assert (await client.health())["healthy"]
        assert "dataset" in await client.info()
        assert (await client.task_info([3])).dataset.seed == 3
        assert len(await client.task_info([3, 4])) == 2
        answer = await client.rollout(request)
        (trajectory,) = answer.trajectories
        assert len(trajectory.steps) == answer.metrics.num_steps == len(trajectory.decision_samples) == 10
        assert answer.trace["events_count"] == 20
        env_id = (await client.env.initialize("CrafterClassic", {"seed": 7}))["env_id"]
        calls = [{"tool": "interact", "args": {"actions": ["do"]}}]
        stepped = await client.env.step("CrafterClassic", {"env_id": env_id, "action": {"tool_calls": calls}})
        assert stepped["step_idx"] == 1
        assert (await client.env.terminate("CrafterClassic", {"env_id": env_id}))["ok"]


asyncio.run(ask(*sys.argv[1:]))
