"""Episodes as a Minari dataset of `Craftscope/Crafter-v1`, in Minari's Arrow format.

Pictures are not stored, so each episode is simulated again, and its observations are exactly those of the environment.
Rewards are the environment's. `infos` has for each step `decision`, and `shaped_reward`: what its decision earned, at
the decision's last step, else 0. Their first entry belongs to the reset (-1 and 0).
"""

# minari has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final, cast

import gymnasium
import minari
import numpy as np
from gymnasium.envs.registration import EnvSpec
from minari.data_collector import EpisodeBuffer
from minari.dataset.minari_dataset import parse_dataset_id
from minari.dataset.minari_storage import MinariStorage

from core.env import CrafterEnv
from core.env.rules import ACTION_INDEX
from core.errors import InvalidInput
from core.exports.files import new_folder
from core.store import EpisodeSummary, TraceStore
from core.text import visible
from core.types import EnvConfig, Episode

ENV_ID: Final = "Craftscope/Crafter-v1"


def write_minari(store: TraceStore, episodes: Iterable[EpisodeSummary], folder: Path) -> int:
    """Write a dataset into a new folder, such as ~/.minari/datasets/crafter/farmer-v0; how many episodes.

    Its id is the folder's name after `datasets/`, else the name alone. Raises InvalidInput for a folder that cannot be
    made, a name that Minari cannot read, an episode that cannot be simulated again, or one of another world size; no
    folder is left then. Without an episode none is made.
    """
    left = iter(episodes)
    first = next(left, None)
    if first is None:
        return 0
    dataset_id = _dataset_id(folder)
    config = first.spec.env
    with new_folder(folder) as unfinished:
        env = CrafterEnv.from_config(config)
        storage = MinariStorage.new(
            unfinished / "data",
            env.observation_space,
            env.action_space,
            _env_spec(config),
            "arrow",
            jpeg_encoding=False,
        )
        buffers = _buffers(store, chain([first], left), config)
        policies = set[str]()
        for summary, buffer in buffers:
            policies.add(summary.policy)
            storage.update_episodes([buffer])
        count = storage.total_episodes
        storage.update_metadata(
            {
                "dataset_id": dataset_id,
                "minari_version": minari.__version__,
                "algorithm_name": ", ".join(sorted(policies)),
                "description": "Episodes of Crafter, recorded by Craftscope and simulated again for their pictures.",
            }
        )
    return count


def _dataset_id(folder: Path) -> str:
    parts = folder.parts
    found = "/".join(parts[len(parts) - parts[::-1].index("datasets") :]) if "datasets" in parts[:-1] else folder.name
    try:
        parse_dataset_id(found)
    except (ValueError, TypeError) as error:
        raise InvalidInput(
            f"{visible(found)} is no name of a Minari dataset. Name a folder such as crafter-v0, and to load it by "
            "its name one in ~/.minari/datasets."
        ) from error
    return found


def _env_spec(config: EnvConfig) -> EnvSpec:
    spec = copy.deepcopy(gymnasium.spec(ENV_ID))  # the registered one is shared
    spec.kwargs = {"area": list(config.area), "view": list(config.view), "length": config.length}
    return spec


def _buffers(
    store: TraceStore, episodes: Iterable[EpisodeSummary], config: EnvConfig
) -> Iterator[tuple[EpisodeSummary, EpisodeBuffer]]:
    for summary in episodes:
        if summary.spec.env != config:
            raise InvalidInput(
                f"Episode {summary.id} has another area, view or length than the first one. A Minari dataset is of one "
                "environment: export them apart."
            )
        yield summary, _buffer(summary, store.episodes.load(summary.id))


def _buffer(summary: EpisodeSummary, episode: Episode) -> EpisodeBuffer:
    steps = episode.steps
    env = CrafterEnv.from_config(summary.spec.env)
    observation, _ = env.reset(seed=summary.seed, options={"episode": summary.world_episode})
    observations = np.empty((len(steps) + 1, *observation.shape), np.uint8)
    observations[0] = observation
    for step in steps:
        observations[step.index + 1] = env.step(ACTION_INDEX[step.action])[0]
    if steps and env.state().state_digest != steps[-1].state.state_digest:
        engine = visible(summary.spec.engine_version) or "unknown"
        raise InvalidInput(
            f"Episode {summary.id} was played by another engine ({engine}) and cannot be simulated again, so it has no "
            "pictures. Leave it out."
        )
    decision, shaped = np.full(len(steps) + 1, -1), np.zeros(len(steps) + 1)
    for each in episode.decisions:
        if each.steps:
            decision[each.steps[0].index + 1 : each.steps[-1].index + 2] = each.index
            shaped[each.steps[-1].index + 1] = each.reward.total
    return EpisodeBuffer(
        seed=summary.seed,
        options={"episode": summary.world_episode},
        observations=cast(Any, observations),
        actions=[ACTION_INDEX[step.action] for step in steps],
        rewards=[step.env_reward for step in steps],
        terminations=[step.terminated for step in steps],
        truncations=[step.truncated for step in steps],
        infos={"decision": decision.tolist(), "shaped_reward": shaped.tolist()},
    )
