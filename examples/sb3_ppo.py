"""A PPO of stable-baselines3 whose episodes appear in the dashboard while it trains.

    pip install -r examples/requirements-sb3.txt
    python examples/sb3_ppo.py [steps]

Open the dashboard beside it: Runs shows "sb3-ppo", and the Reward tab its value and entropy.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from stable_baselines3 import PPO
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from core.env import CrafterEnv
from core.record import RecordEpisodes
from core.settings import load_settings
from core.store import TraceStore

RUN = "sb3-ppo"
LENGTH = 500


def main() -> None:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    store = TraceStore.from_settings(load_settings())
    envs = DummyVecEnv(
        [lambda: Monitor(RecordEpisodes(CrafterEnv(length=LENGTH), store, RUN, every=2, run_id=RUN)) for _ in range(2)]
    )
    model = PPO("CnnPolicy", envs, n_steps=128, batch_size=64, n_epochs=2, verbose=1, device="cpu")

    def note(module: Any, given: Any, found: Any) -> None:
        """What the policy says of the actions that it is about to take."""
        if not module.training:
            _, values, logprobs = found
            for at, (value, logprob) in enumerate(zip(values.flatten(), logprobs.flatten(), strict=True)):
                envs.env_method("note", indices=[at], value=float(value), logprob=float(logprob))

    model.policy.register_forward_hook(note)
    model.learn(steps)
    envs.close()


if __name__ == "__main__":
    main()
