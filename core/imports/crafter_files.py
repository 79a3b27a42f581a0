"""Reads what `crafter.Recorder` writes: an episode's `.npz`, and `stats.jsonl`.

An `.npz` has every step with a map of the world; its pictures are not stored but drawn again from the map. The map has
neither what is below a creature nor where it looks, and nothing says when the character sleeps: grass or a path, down
or the last move, and awake are assumed. Of the world before the first step nothing is recorded: it is taken for that
of the first step. `stats.jsonl` has only sums: such an episode is one decision that says so, and died if it is shorter
than Crafter's 10,000 steps. The lines of one file are one run.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from core.env.checks import checked_config
from core.env.rules import (
    ACHIEVEMENTS,
    ACTIONS,
    CREATURES,
    INITIAL_ITEM,
    ITEMS,
    SEMANTIC_IDS,
)
from core.env.scene import local_cells
from core.env.simulation import local_grid
from core.errors import InvalidConfig, InvalidInput
from core.imports.documents import Found, Read
from core.imports.steps import ENGINE, decisions_of
from core.text import cut, visible
from core.types import (
    Decision,
    EnvConfig,
    Episode,
    EpisodeSpec,
    Limits,
    Outcome,
    PolicySpec,
    RewardConfig,
    Run,
    RunSource,
    Scene,
    Sprite,
    StateFacts,
    StateRecord,
    Step,
    StopReason,
)

ONLY_SUMS: Final = "Only the sums of this episode were recorded: its actions and states are not known."

_MAX_STEPS: Final = 1_000_000
_MAX_SUMMED_STEPS: Final = 100_000  # of an episode of which only the sums are known
_MAX_ARRAY_BYTES: Final = 2**30
_MAX_LINE: Final = 10_000
_NEEDED: Final = ("action", "reward", "discount", "semantic", "player_pos")
_TIMESTAMP: Final[re.Pattern[str]] = re.compile(r"^(\d{8}T\d{6})-")
_BELOW: Final[Mapping[str, str]] = {"skeleton": "path", "arrow": "path"}  # all others stand on grass
_TEXTURES: Final[Mapping[str, str]] = {"arrow": "arrow-down"}
_NO_SCENE: Final = Scene(0, (9, 7), (0,) * 63, (), dict.fromkeys(ITEMS, 0), False)

Array = NDArray[Any]


def is_recording(path: Path) -> bool:
    """Whether the name is one of an episode's file."""
    return path.suffix.lower() == ".npz"


def is_stats(path: Path) -> bool:
    """Whether the first line is one of `stats.jsonl`."""
    if path.suffix.lower() != ".jsonl":
        return False
    try:
        with path.open("rb") as file:
            return _stats(file.readline(_MAX_LINE)) is not None
    except OSError:
        return False  # the reader of documents says why


def read_recording(path: Path, policy: str) -> Iterator[tuple[str, Read]]:
    """The episode of an `.npz`."""
    yield path.name, lambda: _recorded(path, policy)


def read_stats(path: Path, policy: str) -> Iterator[tuple[str, Read]]:
    """Each line's episode. Lines that are appended later do not change those before: ids follow from the lines."""
    digest = hashlib.blake2b(digest_size=12)
    with path.open("rb") as file:
        number, run = 0, ""
        while line := file.readline(_MAX_LINE):
            digest.update(line)
            ids = (run := run or digest.hexdigest(), digest.hexdigest())
            place = number
            number += 1
            yield (
                f"{path.name}, line {number:,}",
                lambda line=line, ids=ids, place=place: _summed(line, ids, place, path, policy),
            )


def _recorded(path: Path, policy: str) -> Found:
    try:
        arrays = _arrays(path)
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error, KeyError, EOFError) as error:
        raise InvalidInput(f"It is not an episode of crafter.Recorder ({error}).") from error
    n = len(arrays["action"])
    if not 2 <= n <= _MAX_STEPS or any(len(array) != n for array in arrays.values()):
        raise InvalidInput("It is not an episode of crafter.Recorder: its arrays differ in length or hold no step.")
    semantic, positions = arrays["semantic"], arrays["player_pos"]
    if semantic.ndim != 3 or positions.shape != (n, 2):
        raise InvalidInput("It is not an episode of crafter.Recorder: it has no map of the world.")
    config = _config(semantic.shape[1:], n - 1)
    actions: list[int] = arrays["action"].astype(np.int64).ravel().tolist()
    if len(actions) != n or not all(0 <= action < len(ACTIONS) for action in actions):
        raise InvalidInput("It holds an action that Crafter does not have.")
    grid = local_grid(config.view)
    middle = (config.area[0] // 2, config.area[1] // 2)
    beginning = StateFacts(
        dict.fromkeys(ACHIEVEMENTS, False), dict(INITIAL_ITEM), dict.fromkeys(ACHIEVEMENTS, 0), middle
    )
    facing = "down"
    initial = StateRecord(beginning, _scene(semantic[1], middle, grid, 0, dict(INITIAL_ITEM), facing), "", "")
    steps: list[Step] = []
    is_dead = float(arrays["discount"][-1]) == 0.0
    for at in range(1, n):
        action, is_last = ACTIONS[actions[at]], at == n - 1
        facing = action.removeprefix("move_") if action.startswith("move_") else facing
        facts = _facts(arrays, at)
        scene = _scene(semantic[at], cast(tuple[int, int], facts.position), grid, at, facts.inventory, facing)
        reward = float(arrays["reward"][at])
        if not math.isfinite(reward):
            raise InvalidInput(f"The reward of step {at - 1} is not a number.")
        state = StateRecord(facts, scene, "", "")
        steps.append(Step(at - 1, action, reward, is_last and is_dead, is_last and not is_dead, state))
    content = hashlib.blake2b(bytes(actions) + semantic[-1].tobytes(), digest_size=12)
    reason = StopReason.TERMINATED if is_dead else StopReason.TRUNCATED
    id_ = content.hexdigest()
    decisions = decisions_of(initial, [[step] for step in steps])
    return _found((id_, id_), path, _spec(id_, policy, config, decisions), initial, decisions, reason)


def _arrays(path: Path) -> dict[str, Array]:
    """Those that are needed; each is read on its own, so pictures are not."""
    with zipfile.ZipFile(path) as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist()}
    prefixes = ("achievement_", "ainventory_")
    with np.load(path, allow_pickle=False) as stored:
        names = [name for name in stored.files if name in _NEEDED or name.startswith(prefixes)]
        if missing := [name for name in _NEEDED if name not in names]:
            raise InvalidInput(f"It is not an episode of crafter.Recorder: it lacks {', '.join(missing)}.")
        if sum(sizes.get(f"{name}.npy", 0) + sizes.get(name, 0) for name in names) > _MAX_ARRAY_BYTES:
            raise InvalidInput(f"Its arrays are larger than {_MAX_ARRAY_BYTES // 2**20} MiB.")
        return {name: stored[name] for name in names}


def _config(area: tuple[int, ...], steps: int) -> EnvConfig:
    try:
        return checked_config(area, (9, 9), max(10_000, steps))
    except InvalidConfig as error:
        raise InvalidInput(f"It is not of a world that Crafter makes: {error}") from error


def _facts(arrays: Mapping[str, Array], at: int) -> StateFacts:
    def numbers(prefix: str, names: tuple[str, ...]) -> dict[str, int]:
        return {name: int(arrays[f"{prefix}_{name}"][at]) if f"{prefix}_{name}" in arrays else 0 for name in names}

    counts = numbers("achievement", ACHIEVEMENTS)
    x, y = arrays["player_pos"][at]
    return StateFacts(
        {name: count > 0 for name, count in counts.items()}, numbers("ainventory", ITEMS), counts, (int(x), int(y))
    )


def _scene(
    semantic: Array, position: tuple[int, int], grid: tuple[int, int], step: int, inventory: dict[str, int], facing: str
) -> Scene:
    cells = local_cells(semantic.astype(np.uint8), position, grid).copy()
    sprites: list[Sprite] = []
    for name in CREATURES:
        for x, y in np.argwhere(cells == SEMANTIC_IDS[name]).tolist():
            texture = f"player-{facing}" if name == "player" else _TEXTURES.get(name, name)
            sprites.append(Sprite(texture, x, y))
            cells[x, y] = SEMANTIC_IDS[_BELOW.get(name, "grass")]
    return Scene(step, grid, tuple(cells.ravel().tolist()), tuple(sprites), inventory, sleeping=False)


def _stats(line: bytes) -> dict[str, Any] | None:
    """A line of `stats.jsonl`, or None."""
    try:
        decoded: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    found = cast(dict[str, Any], decoded) if isinstance(decoded, dict) else {}
    return found if {"length", "reward", f"achievement_{ACHIEVEMENTS[0]}"} <= found.keys() else None


def _summed(line: bytes, ids: tuple[str, str], place: int, path: Path, policy: str) -> Found:
    """ids: of the run and of the episode."""
    stats = _stats(line)
    if stats is None:
        raise InvalidInput("It is not a line of Crafter's stats.jsonl.")
    counts = {name: stats.get(f"achievement_{name}", 0) for name in ACHIEVEMENTS}
    length, total = stats["length"], stats["reward"]
    is_number = isinstance(total, int | float) and math.isfinite(total)
    if not isinstance(length, int) or not 1 <= length <= _MAX_SUMMED_STEPS or not is_number:
        raise InvalidInput(f"Its length or reward is out of range: {cut(str(length), 20)}, {cut(str(total), 20)}.")
    if not all(isinstance(count, int) and 0 <= count <= _MAX_STEPS for count in counts.values()):
        raise InvalidInput("Its achievement counts are out of range.")
    held = dict.fromkeys(ITEMS, 0)
    nothing = StateFacts(dict.fromkeys(ACHIEVEMENTS, False), held, dict.fromkeys(ACHIEVEMENTS, 0))
    all_in_all = StateFacts({name: count > 0 for name, count in counts.items()}, held, counts)
    between, last = StateRecord(nothing, _NO_SCENE, "", ""), StateRecord(all_in_all, _NO_SCENE, "", "")
    steps = [Step(at, "noop", 0.0, False, False, between) for at in range(length - 1)]
    steps.append(
        Step(length - 1, "noop", float(total), terminated=length < 10_000, truncated=length >= 10_000, state=last)
    )
    reason = StopReason.TERMINATED if length < 10_000 else StopReason.TRUNCATED
    config = EnvConfig(length=max(10_000, length))
    decisions = decisions_of(between, [steps], ONLY_SUMS)
    return _found(ids, path, _spec(ids[1], policy, config, decisions), between, decisions, reason, place=place)


def _spec(id_: str, policy: str, config: EnvConfig, decisions: tuple[Decision, ...]) -> EpisodeSpec:
    return EpisodeSpec(
        seed=int(id_[:7], 16),  # the seed is not recorded; one of its own keeps it apart from other worlds
        policy=PolicySpec(policy),
        policy_seed=0,
        env=config,
        reward=RewardConfig(enabled=False),
        limits=Limits(max_steps=sum(len(d.steps) for d in decisions), max_decisions=len(decisions)),
        engine_version=ENGINE,
    )


def _found(
    ids: tuple[str, str],
    path: Path,
    spec: EpisodeSpec,
    initial: StateRecord,
    decisions: tuple[Decision, ...],
    reason: StopReason,
    *,
    place: int = 0,
) -> Found:
    started = _started_at(path)
    run_id = f"crafter-{ids[0]}"
    outcome = Outcome(reason, started)
    episode = Episode(f"crafter-{ids[1]}-1", run_id, spec, initial, decisions, started, outcome)
    policy = {"name": spec.policy.name}
    about = {"imported_from": cut(visible(path.name), 100), "policy": policy, "seed": "not recorded"}
    run = Run(run_id, started, (), name=cut(visible(path.stem), 100), config=about, source=RunSource.IMPORTED)
    return Found(run, episode, place, started)


def _started_at(path: Path) -> datetime:
    """By the file's name, as crafter gives it (in the recording machine's time, taken for UTC), else by its date."""
    if named := _TIMESTAMP.match(path.name):
        try:
            return datetime.strptime(named[1], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
        except ValueError:
            pass
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)
