"""What recording costs a PPO of stable-baselines3 on this processor: its time with and without, in turn.

    pip install -r examples/requirements-sb3.txt
    python -m benchmarks.record

Goal: at most 10 % more. The ratio of the medians of this run; `python -m benchmarks` leaves it out, it needs torch.
"""

# stable-baselines3 and torch are installed for this only.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from core.env import CrafterEnv
from core.record import RecordEpisodes
from core.store import TraceStore

STEPS = 1_024
ROUNDS = 7


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = TraceStore(f"sqlite:///{Path(folder) / 'episodes.db'}")
        train(store)  # what is loaded once
        plain, recorded = [], []
        for _ in range(ROUNDS):
            plain.append(train(None))
            recorded.append(train(store))
        store.close()
    without, with_it = statistics.median(plain), statistics.median(recorded)
    print(
        f"a PPO step: {without / STEPS * 1000:.2f} ms, recorded {with_it / STEPS * 1000:.2f} ms: "
        f"{with_it / without - 1:+.0%} (goal: at most +10 %)"
    )


def train(store: TraceStore | None) -> float:
    """Seconds of a training of `STEPS` steps."""
    from stable_baselines3 import PPO  # noqa: PLC0415  it is not among the project's own requirements
    from stable_baselines3.common.vec_env import DummyVecEnv  # noqa: PLC0415

    def build() -> Any:
        env = CrafterEnv(length=500)
        return env if store is None else RecordEpisodes(env, store, "ppo", run_id="ppo")

    envs = DummyVecEnv([build])
    model = PPO("CnnPolicy", envs, n_steps=256, batch_size=64, device="cpu", seed=1)
    began = time.perf_counter()
    model.learn(STEPS)
    envs.close()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
