"""Reads Minari datasets of `Craftscope/Crafter-v1`, from their folder or a zip file of it.

Each episode is simulated again from its seed and actions, which gives every state; its rewards must be those that are
stored. Where `infos` says which decision a step belongs to, as our own export does, those are the decisions, else each
step is one.
"""

# minari has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any, Final, cast

import numpy as np

from core.env import CrafterEnv
from core.env.checks import checked_action, checked_config
from core.env.rules import ACTIONS, ENGINE_VERSION
from core.errors import InvalidInput
from core.imports.documents import Found, Read
from core.imports.steps import decisions_of
from core.text import cut, quoted, visible
from core.types import (
    EnvConfig,
    Episode,
    EpisodeSpec,
    Limits,
    Outcome,
    PolicySpec,
    RewardConfig,
    Run,
    RunSource,
    Step,
    StopReason,
)

ENV_ID: Final = "Craftscope/Crafter-v1"

_METADATA: Final = "metadata.json"
_MAX_METADATA_BYTES: Final = 16 * 2**20
_MAX_UNPACKED_BYTES: Final = 8 * 2**30
_MAX_FILES: Final = 300_000
_SAFE_NAME: Final[re.Pattern[str]] = re.compile(r"[\w-][\w.-]{0,99}")


def is_dataset(path: Path) -> bool:
    """Whether it is the folder of a dataset, or a zip file with one."""
    if path.is_dir():
        return _data_folder(path) is not None
    return path.suffix.lower() == ".zip" and _zipped_root(path) is not None


def read_dataset(path: Path, policy: str) -> Iterator[tuple[str, Read]]:
    """Each episode. policy: its name where the dataset has none. Raises InvalidInput for another environment."""
    if path.is_dir():
        yield from _episodes(cast(Path, _data_folder(path)), path.name, policy)
        return
    with tempfile.TemporaryDirectory() as folder:
        _unpack(path, cast(PurePosixPath, _zipped_root(path)), Path(folder))
        yield from _episodes(Path(folder), path.name, policy)


def _data_folder(folder: Path) -> Path | None:
    return next((each for each in (folder / "data", folder) if (each / _METADATA).is_file()), None)


def _zipped_root(path: Path) -> PurePosixPath | None:
    """The folder within a zip file that has the dataset's own metadata; each episode's lie deeper."""
    try:
        with zipfile.ZipFile(path) as archive:
            found = [PurePosixPath(info.filename) for info in archive.infolist()[:_MAX_FILES]]
    except (OSError, zipfile.BadZipFile, ValueError):
        return None  # the reader of documents says why
    return min(
        (each.parent for each in found if each.name == _METADATA), key=lambda each: len(each.parts), default=None
    )


def _unpack(path: Path, root: PurePosixPath, folder: Path) -> None:
    """The dataset's files, at most one folder deep; other names are left out."""
    size = 0
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist()[:_MAX_FILES]:
                name = PurePosixPath(info.filename)
                if info.is_dir() or not name.is_relative_to(root):
                    continue
                parts = name.relative_to(root).parts
                if len(parts) > 2 or not all(_SAFE_NAME.fullmatch(part) for part in parts):
                    continue
                size += info.file_size
                if size > _MAX_UNPACKED_BYTES:
                    raise InvalidInput(
                        f"It unpacks to more than {_MAX_UNPACKED_BYTES // 2**30} GiB; import its folder."
                    )
                target = folder.joinpath(*parts)
                target.parent.mkdir(exist_ok=True)
                with archive.open(info) as source, target.open("wb") as file:
                    shutil.copyfileobj(source, file)
    except (OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        raise InvalidInput(f"{visible(path.name)} is not a zip file that can be read ({error}).") from error


def _episodes(data: Path, name: str, policy: str) -> Iterator[tuple[str, Read]]:
    config = _checked_metadata(data / _METADATA)
    import minari  # noqa: PLC0415  it takes half a second, which imports of other files do without

    try:
        dataset = minari.MinariDataset(data)
        about: dict[str, Any] = dataset.storage.metadata
        total = dataset.total_episodes
    except ImportError as error:
        raise InvalidInput(f"Its format needs a package that is not installed: {error}") from error
    except Exception as error:  # noqa: BLE001  a reader of another project, and a file of anyone
        raise InvalidInput(f"It is not a Minari dataset that can be read ({type(error).__name__}: {error}).") from error
    dataset_id = cut(visible(str(about.get("dataset_id", name))), 100)
    named = cut(str(about.get("algorithm_name") or policy), 100)
    if total > _MAX_FILES:
        raise InvalidInput(f"It says that it has {total:,} episodes; {_MAX_FILES:,} are the limit.")
    for index in range(total):
        yield f"{name}, episode {index:,}", lambda index=index: _read(dataset, index, dataset_id, named, config)


def _checked_metadata(path: Path) -> EnvConfig:
    """The environment of a dataset. Minari makes what `env_spec` names where a space is missing, so both are needed."""
    if path.stat().st_size > _MAX_METADATA_BYTES:
        raise InvalidInput(f"Its metadata is larger than {_MAX_METADATA_BYTES // 2**20} MiB.")
    try:
        metadata: Any = json.loads(path.read_bytes())
        spec: Any = json.loads(metadata["env_spec"])
        id_, given = spec["id"], dict(spec.get("kwargs") or {})
        has_spaces = {"observation_space", "action_space"} <= metadata.keys()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InvalidInput("Its metadata names no environment, so its episodes cannot be simulated again.") from error
    if id_ != ENV_ID or not has_spaces:
        raise InvalidInput(f"It is of the environment {quoted(str(id_))}; only datasets of {ENV_ID} can be imported.")
    defaults = EnvConfig()
    return checked_config(
        given.get("area", defaults.area), given.get("view", defaults.view), given.get("length", defaults.length)
    )


def _read(dataset: Any, index: int, dataset_id: str, policy: str, config: EnvConfig) -> Found:
    try:
        (about,) = dataset.storage.get_episode_metadata([index])
        (stored,) = dataset.storage.get_episodes([index])
    except Exception as error:  # noqa: BLE001  a reader of another project, and a file of anyone
        raise InvalidInput(f"It cannot be read ({type(error).__name__}: {error}).") from error
    seed, options = about.get("seed"), about.get("options") or {}
    if seed is None:
        raise InvalidInput("It has no seed, so it cannot be simulated again.")
    env = CrafterEnv.from_config(config, observe=False)
    env.reset(seed=seed, options=options)
    initial = env.state()
    actions = [checked_action(action) for action in stored["actions"]]
    rewards = np.asarray(stored["rewards"], np.float64)
    truncated = np.asarray(stored["truncations"], bool)
    steps: list[Step] = []
    for at, action in enumerate(actions):
        _, reward, is_terminated, is_truncated, _ = env.step(action)
        if reward != rewards[at]:
            raise InvalidInput(
                f"Step {at} pays {rewards[at]}, and {reward} when it is simulated again: another engine played it."
            )
        cut_here = bool(is_truncated or truncated[at])
        steps.append(Step(at, ACTIONS[action], float(reward), bool(is_terminated), cut_here, env.state()))
    if not steps:
        raise InvalidInput("It has no step.")
    reason = StopReason.TERMINATED if steps[-1].terminated else StopReason.TRUNCATED
    groups = _groups(steps, stored.get("infos") or {})
    seed_, episode = env.seed_and_episode
    spec = EpisodeSpec(
        seed=seed_,
        policy=PolicySpec(policy),
        policy_seed=0,
        world_episode=episode,
        env=config,
        reward=RewardConfig(enabled=False),
        limits=Limits(max_steps=len(steps), max_decisions=len(groups)),
        engine_version=ENGINE_VERSION,
    )
    digest = hashlib.blake2b(f"{dataset_id} {index} {spec.seed} {episode}".encode(), digest_size=12)
    digest.update(bytes(actions))
    run_id = f"minari-{hashlib.blake2b(dataset_id.encode(), digest_size=12).hexdigest()}"
    started = datetime.fromtimestamp(0, UTC)
    played = Episode(
        f"minari-{digest.hexdigest()}",
        run_id,
        spec,
        initial,
        decisions_of(initial, groups),
        started,
        Outcome(reason, started),
    )
    origin = {"imported_from": dataset_id, "policy": {"name": policy}}
    run = Run(run_id, started, (), name=dataset_id, config=origin, source=RunSource.IMPORTED)
    return Found(run, played, index, started)


def _groups(steps: list[Step], infos: Mapping[str, Any]) -> list[list[Step]]:
    """The steps of each decision."""
    try:
        numbers = np.asarray(infos.get("decision", ()), np.float64)[1:]
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if len(numbers) != len(steps) or (np.diff(numbers) < 0).any():
        return [[step] for step in steps]
    return [list(group) for _, group in groupby(steps, lambda step: numbers[step.index])]
