"""Many runs from one plan: every policy with every reward configuration on the same seeds.

`python -m core.batch PLAN.yaml` plays what of the plan is not stored yet, in worker processes of this machine or as
tasks of a Ray cluster. Each cell (policy x reward configuration) is one run; all share a batch id.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Final, Protocol

import msgspec
from msgspec import Meta
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from tqdm import tqdm

from core.env.rules import ACHIEVEMENTS, ENGINE_VERSION, ITEMS
from core.errors import CraftscopeError, DuplicateId, InvalidInput, JobError, did_you_mean
from core.jobs import SWEEP_S, ensure_workers, sweep, worker_problems
from core.plan import LaunchPlan, make_cell, parse_seeds
from core.ray_tasks import Place, RayTasks
from core.rewards import from_document
from core.settings import Settings, load_settings
from core.store import TraceStore
from core.text import cut, plural, quoted, visible
from core.types import (
    Budget,
    EnvConfig,
    EpisodeStatus,
    Limits,
    OnDone,
    PolicySpec,
    QueuedEpisode,
    RewardConfig,
    Run,
)

MAX_RUNS: Final = 200
MAX_ATTEMPTS: Final = 3
"""An episode that was interrupted, because its worker died, is played again at most twice."""

_MAX_BYTES: Final = 1_000_000
_POLL_S: Final = 0.2
_KEPT: Final = (EpisodeStatus.COMPLETED, EpisodeStatus.FAILED)


class PolicyEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A policy by its name, with its parameters."""

    name: str
    params: dict[str, Any] = {}


class WorldEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Width and height in cells, length in steps."""

    area: tuple[int, int] = EnvConfig().area
    view: tuple[int, int] = EnvConfig().view
    length: int = EnvConfig().length


class BatchPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A plan as it is written. rewards: names of saved configurations, or configurations as trainers write them."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    policies: Annotated[list[PolicyEntry], Meta(min_length=1)]
    seeds: str | int
    rewards: Annotated[list[str | dict[str, Any]], Meta(min_length=1)] = msgspec.field(default_factory=lambda: [{}])
    repeats: Annotated[int, Meta(ge=1)] = 1
    limits: dict[str, Any] = {}
    env: WorldEntry = WorldEntry()
    on_done: OnDone = OnDone.TERMINATE
    max_actions_per_call: int = 5
    budget: dict[str, Any] = {}


def read_plan(path: Path) -> BatchPlan:
    """The plan in a YAML file. Raises InvalidInput, which begins with the path of what is wrong."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{visible(str(path))} cannot be read ({error.strerror}).") from error
    if len(text) > _MAX_BYTES:
        raise InvalidInput(f"{visible(str(path))} has {len(text):,} bytes; a plan has at most {_MAX_BYTES:,}.")
    try:
        given: object = YAML(typ="safe", pure=True).load(io.BytesIO(text))  # pyright: ignore[reportUnknownMemberType]
    except (YAMLError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{visible(str(path))} is not YAML: {cut(visible(str(error)), 300)}") from error
    try:
        plan = msgspec.convert(given, BatchPlan)
        msgspec.json.encode(plan)
    except (RecursionError, UnicodeEncodeError) as error:
        raise InvalidInput("The plan refers to itself, or holds text that is not Unicode.") from error
    except msgspec.ValidationError as error:
        problem, _, where = str(error).partition(" - at ")
        raise InvalidInput(f"{where.strip('`').removeprefix('$.') or 'The plan'}: {problem}.") from error
    return plan


def runs_of(plan: BatchPlan, saved: Mapping[str, RewardConfig]) -> tuple[Run, ...]:
    """A run for each policy and reward configuration, with the same ids each time. saved: configurations by name.

    Raises InvalidInput, which begins with the path of what is wrong.
    """
    if len(plan.policies) * len(plan.rewards) > MAX_RUNS:
        raise InvalidInput(f"The plan has {len(plan.policies) * len(plan.rewards):,} runs; at most {MAX_RUNS}.")
    rewards = [_reward(given, at, saved) for at, given in enumerate(plan.rewards)]
    # Saving another configuration under the same name makes another plan.
    hashes = [reward.config_hash for _, reward in rewards]
    content = msgspec.json.encode([msgspec.to_builtins(plan), hashes], order="deterministic")
    batch_id = f"{plan.name}-{hashlib.blake2b(content, digest_size=4).hexdigest()}"
    launch = LaunchPlan(
        seeds=parse_seeds(str(plan.seeds)),
        episodes_per_seed=plan.repeats,
        policy=PolicySpec(plan.policies[0].name),
        reward=rewards[0][1],
        limits=_fields(Limits, plan.limits, "limits"),
        env=EnvConfig(plan.env.area, plan.env.view, plan.env.length),
        on_done=plan.on_done,
        max_actions_per_call=plan.max_actions_per_call,
        name=plan.name,
        budget=_fields(Budget, plan.budget, "budget"),
    )
    runs: list[Run] = []
    for (at, policy), (number, reward) in product(enumerate(plan.policies), enumerate(rewards)):
        try:
            run = make_cell(
                launch,
                (policy.name, PolicySpec(policy.name, policy.params)),
                reward,
                batch_id=batch_id,
                cell=(at, number),
                engine_version=ENGINE_VERSION,
                achievements=ACHIEVEMENTS,
                items=ITEMS,
            )
        except InvalidInput as error:
            raise InvalidInput(f"policies[{at}] with rewards[{number}]: {error}") from error
        runs.append(run)
    return tuple(runs)


def _reward(given: str | dict[str, Any], at: int, saved: Mapping[str, RewardConfig]) -> tuple[str, RewardConfig]:
    """(a label, the configuration)."""
    if isinstance(given, dict):
        try:
            reward = from_document(msgspec.json.encode(given).decode(), achievements=ACHIEVEMENTS, items=ITEMS)
        except InvalidInput as error:
            raise InvalidInput(f"rewards[{at}]: {error}") from error
        return f"{reward.strategy} {reward.config_hash[:8]}", reward
    if given not in saved:
        hint = did_you_mean(given, saved) or "."
        raise InvalidInput(f"rewards[{at}]: no configuration is saved as {quoted(given)}{hint}")
    return given, saved[given]


def _fields(kind: type[Any], given: Mapping[str, Any], where: str) -> Any:
    try:
        return kind(**given)
    except TypeError as error:
        names = ", ".join(kind.__dataclass_fields__)
        raise InvalidInput(f"{where}: {quoted(dict(given))}; its fields are {names}.") from error


# --------------------------------------------------------------------------------------------------- playing


@dataclass(frozen=True, slots=True)
class Progress:
    """total: episodes of the plan. done: of these, over."""

    done: int
    total: int


class Backend(Protocol):
    """Plays episodes somewhere. When one is over, what was recorded of it is in the store."""

    def play(self, run: Run, episodes: Sequence[QueuedEpisode]) -> None:
        """Start or queue them."""

    def look(self) -> None:
        """Called several times a second. Raises CraftscopeError if nothing can be played."""

    def is_playing(self, run: Run, place: Place) -> bool:
        """Whether it plays an episode of which nothing is in the store yet."""
        ...


class Processes:
    """Worker processes of this machine, the same that the dashboard starts."""

    def __init__(self, store: TraceStore, settings: Settings) -> None:
        self._store, self._settings = store, settings
        self._swept_s = 0.0
        self._problems: tuple[str, ...] = ()

    def play(self, run: Run, episodes: Sequence[QueuedEpisode]) -> None:
        with suppress(DuplicateId):  # another start of the same plan was first
            self._store.runs.add_queued(run.id, episodes)
        ensure_workers(self._store, self._settings)

    def look(self) -> None:
        if time.monotonic() - self._swept_s >= SWEEP_S:
            self._swept_s = time.monotonic()
            sweep(self._store, self._settings)
            # One that is left of killed workers is gone at the next look.
            before, self._problems = self._problems, worker_problems(self._settings)
            if self._problems and self._problems == before:
                raise JobError(self._problems[0])

    def is_playing(self, run: Run, place: Place) -> bool:
        return False  # what it plays is queued or running in the store


def play_batch(store: TraceStore, runs: Sequence[Run], backend: Backend) -> Iterator[Progress]:
    """Play what is not stored yet; yields after each look, at last when all is over.

    An episode that was interrupted because its worker died is played again, at most twice; what was recorded of it is
    kept. One that was stopped on the dashboard is played again by the next start only. Raises CraftscopeError.
    """
    for run in runs:
        store.runs.create_if_new(replace(run, episodes=()))
    attempts = Counter[tuple[str, Place]]()
    is_first_look = True
    while True:
        backend.look()
        done = 0
        for run in runs:
            stored = _stored(store, run)
            missing: list[QueuedEpisode] = []
            for wanted in run.episodes:
                place = (wanted.spec.seed, wanted.group_index)
                statuses = stored[place]
                if backend.is_playing(run, place) or any(not status.is_over for status in statuses):
                    continue
                is_stopped = EpisodeStatus.ABORTED in statuses and not is_first_look
                if is_stopped or set(statuses) & set(_KEPT) or attempts[run.id, place] == MAX_ATTEMPTS:
                    done += 1
                else:
                    attempts[run.id, place] += 1
                    missing.append(replace(wanted, id=_attempt_id(run, place, len(statuses))))
            if missing:
                backend.play(run, missing)
        total = sum(len(run.episodes) for run in runs)
        is_first_look = False
        yield Progress(done, total)
        if done == total:
            return
        time.sleep(_POLL_S)


def _attempt_id(run: Run, place: Place, attempt: int) -> str:
    """The same for two starts of a plan at once, so that only one of them adds it."""
    return hashlib.blake2b(f"{run.id} {place} {attempt}".encode(), digest_size=16).hexdigest()


def _stored(store: TraceStore, run: Run) -> defaultdict[Place, list[EpisodeStatus]]:
    """By place, the statuses of the stored episodes that were played there."""
    found = defaultdict[Place, list[EpisodeStatus]](list)
    for row in store.runs.episodes(run.id).rows:
        if row.world_episode == 1:
            found[row.seed, row.group_index].append(row.status)
    return found


# --------------------------------------------------------------------------------------------------- command


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0: all episodes are over; 1: some were given up; 2: not started, or it could not go on."""
    parser = argparse.ArgumentParser(
        prog="python -m core.batch",
        description="Play every policy of a plan with every reward configuration. A second start plays the rest.",
    )
    parser.add_argument("plan", type=Path, metavar="PLAN.yaml")
    parser.add_argument("--on", choices=("processes", "ray"), default="processes", help="where; processes by default")
    parser.add_argument("--address", default="", help="of a Ray cluster (auto: a running one); empty: this machine")
    parser.add_argument("--workers", type=int, help="episodes at once; by default one for each core")
    given = parser.parse_args(arguments)
    try:
        settings = load_settings()
        if given.workers is not None:
            if given.workers < 1:
                raise InvalidInput(f"--workers is {given.workers}; give 1 or more.")
            settings = replace(settings, max_workers=given.workers)
        with closing(TraceStore.from_settings(settings)) as store:
            plan = read_plan(given.plan)
            if given.on == "ray" and plan.budget:
                raise InvalidInput(
                    "budget: tasks on Ray do not see each other's calls. Leave it out, or use processes."
                )
            runs = runs_of(plan, {saved.name: saved.config for saved in store.rewards.saved().rows})
            backend = _ray(store, settings, given.address) if given.on == "ray" else Processes(store, settings)
            return _follow(store, runs, backend)
    except CraftscopeError as error:
        sys.stderr.write(f"\n{visible(str(error))}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped looking. Worker processes go on with what is queued; a new start follows them.\n")
        return 2


def _ray(store: TraceStore, settings: Settings, address: str) -> Backend:
    try:
        return RayTasks(store, workers=settings.max_workers, address=address)
    except ImportError as error:
        raise InvalidInput(f"{error.name} is missing: pip install -r requirements-ray.txt") from error


def _follow(store: TraceStore, runs: Sequence[Run], backend: Backend) -> int:
    bar = None
    for progress in play_batch(store, runs, backend):
        bar = bar or tqdm(total=progress.total, initial=progress.done, unit=" episodes")
        bar.update(progress.done - bar.n)
    if bar is not None:
        bar.close()
    statuses = Counter[str]()
    for run in runs:
        stored = _stored(store, run)
        for episode in run.episodes:
            found = stored[episode.spec.seed, episode.group_index]
            statuses[next((status for status in (*_KEPT, *found) if status in found), "lost")] += 1
    counts = ", ".join(f"{count:,} {status}" for status, count in statuses.items())
    print(f"{plural(len(runs), 'run')} of batch {runs[0].batch_id}: {counts}.")
    return 0 if statuses.keys() <= set(_KEPT) else 1


if __name__ == "__main__":
    sys.exit(main())
