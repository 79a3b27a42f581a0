"""Episodes as tasks of a Ray cluster.

A task plays one and returns it as our exported document, which the driver stores: neither a disk nor a database is
shared. Ray is an addition (`requirements-ray.txt`), so it is imported when it is needed.
"""

from __future__ import annotations

import atexit
import importlib
import logging
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from core.errors import JobError
from core.exports import episode_json, read_document
from core.imports.documents import found_in
from core.rollout import run_rollout
from core.store import TraceStore
from core.types import EpisodeSpec, QueuedEpisode, Run

_CORE: Final = Path(__file__).resolve().parent
_ATTEMPTS_OF_RAY: Final = 0  # the batch plays an episode again itself, so that processes and Ray do the same

Place = tuple[int, int]
"""An episode's place in its run: seed, and which of that seed's episodes."""

_log = logging.getLogger("core.batch")


def play_task(run: bytes, spec: bytes, episode_id: str, group_index: int) -> list[bytes]:
    """Play an episode, and the worlds after it, in this process: their documents. run, spec: as JSON."""
    store = _own_store()
    queued = QueuedEpisode(episode_id, msgspec.json.decode(spec, type=EpisodeSpec), group_index)
    its_run = msgspec.json.decode(run, type=Run)
    store.runs.create_if_new(its_run)
    store.runs.add_episode(its_run.id, queued, worker=f"Ray process {os.getpid()}")

    def recorder_for(entry: QueuedEpisode) -> Any:
        if entry.id != episode_id:
            store.runs.add_episode(its_run.id, entry, worker=f"Ray process {os.getpid()}")
        return store.recorder(entry.id)

    episodes = run_rollout(queued.spec, episode_id=episode_id, run_id=its_run.id, recorder_for=recorder_for)
    documents = [episode_json(store, episode.id) for episode in episodes]
    store.episodes.delete(episode.id for episode in episodes)
    return documents


@cache
def _own_store() -> TraceStore:
    """A store of this process, which is removed with it."""
    folder = tempfile.mkdtemp(prefix="craftscope-ray-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return TraceStore(f"sqlite:///{folder}/episodes.db")


class RayTasks:
    """A `Backend` on Ray. workers: tasks at once on a cluster of this machine. address: of a running cluster."""

    def __init__(self, store: TraceStore, *, workers: int, address: str = "") -> None:
        """Raises ImportError without Ray, JobError if a cluster cannot be reached."""
        self._store = store
        ray: Any = importlib.import_module("ray")
        here: dict[str, Any] = {"num_cpus": workers, "runtime_env": {"env_vars": {"PYTHONPATH": str(_CORE.parent)}}}
        there = {"address": address, "runtime_env": {"py_modules": [str(_CORE)]}}
        try:
            if not ray.is_initialized():
                ray.init(log_to_driver=False, **(there if address else here | {"include_dashboard": False}))
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise JobError(f"Ray cannot be reached ({error}). Start a cluster, or leave --address out.") from error
        self._ray = ray
        self._failures: type[Exception] = ray.exceptions.RayError
        self._task: Any = ray.remote(num_cpus=1, max_retries=_ATTEMPTS_OF_RAY)(play_task)
        self._playing: dict[Any, tuple[Run, QueuedEpisode]] = {}

    def play(self, run: Run, episodes: Sequence[QueuedEpisode]) -> None:
        about = msgspec.json.encode(replace(run, episodes=()))  # a task needs no others' episodes
        for queued in episodes:
            spec = msgspec.json.encode(queued.spec)
            self._playing[self._task.remote(about, spec, queued.id, queued.group_index)] = (run, queued)

    def look(self) -> None:
        tasks = list(self._playing)
        finished: list[Any] = self._ray.wait(tasks, num_returns=len(tasks), timeout=0)[0] if tasks else []
        for task in finished:
            run, queued = self._playing.pop(task)
            try:
                documents: list[bytes] = self._ray.get(task)
            except self._failures as error:
                _log.warning("Episode %s was not finished: %s", queued.id, str(error).splitlines()[0])
                continue
            for document in documents:
                found = found_in(read_document(document), "Ray")
                self._store.add_whole(run, found.episode, group_index=found.group_index, created_at=found.created_at)

    def is_playing(self, run: Run, place: Place) -> bool:
        return any(
            run.id == its_run.id and place == (queued.spec.seed, queued.group_index)
            for its_run, queued in self._playing.values()
        )
