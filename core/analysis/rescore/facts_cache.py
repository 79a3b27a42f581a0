"""The reward facts of all stored episodes, in memory."""

from __future__ import annotations

import gc
import threading
from collections.abc import Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from core.facts import EpisodeFacts
from core.facts.columns import FactColumns
from core.store import EpisodeSummary
from core.store.rewards import Rewards
from core.store.rows import Listing


@dataclass(frozen=True)
class StoredFacts:
    """Stored episodes, oldest run first, with their decisions as columns. Immutable.

    unreadable: (episode id, problem) of the corrupt episodes, which are left out.
    """

    episodes: tuple[EpisodeSummary, ...]
    columns: FactColumns
    unreadable: tuple[tuple[str, str], ...] = ()

    def only(self, ids: Collection[str]) -> StoredFacts:
        """The episodes with these ids."""
        wanted = frozenset(ids)
        chosen = [at for at, episode in enumerate(self.episodes) if episode.id in wanted]
        if len(chosen) == len(self.episodes) and all(name in wanted for name, _ in self.unreadable):
            return self
        facts = self.columns.episodes
        return StoredFacts(
            tuple(self.episodes[at] for at in chosen),
            FactColumns([facts[at] for at in chosen]),
            tuple(entry for entry in self.unreadable if entry[0] in wanted),
        )


class RewardFactsCache:
    """The reward facts of one store. Thread-safe."""

    def __init__(self, rewards: Rewards) -> None:
        self._rewards = rewards
        self._lock = threading.Lock()
        self._known: dict[str, tuple[EpisodeSummary, EpisodeFacts]] = {}
        self._corrupt: dict[str, str] = {}
        self._stored = StoredFacts((), FactColumns([]))

    def refresh(self) -> StoredFacts:
        """All ended episodes: reads the new ones and drops the deleted ones. Raises StoreError.

        An ended episode does not change, so only the ids are compared. A corrupt one is read again each time, as the
        database may have been replaced by a good copy.
        """
        with self._lock, _without_garbage_collection():
            ids = self._rewards.played_ids()
            new = [name for name in ids if name not in self._known]
            found = self._rewards.played(new) if new else Listing(())
            self._known.update({played.id: (played, facts) for played, facts in found.rows})
            corrupt = {entry.id: entry.problem for entry in found.unreadable}
            present = [name for name in ids if name in self._known]
            if present != [episode.id for episode in self._stored.episodes] or corrupt != self._corrupt:
                self._known = {name: self._known[name] for name in present}
                self._corrupt = corrupt
                episodes, facts = [p for p, _ in self._known.values()], [f for _, f in self._known.values()]
                self._stored = StoredFacts(tuple(episodes), FactColumns(facts), tuple(corrupt.items()))
            return self._stored


@contextmanager
def _without_garbage_collection() -> Generator[None]:
    # Many new objects trigger collections, which double the loading time and find nothing here.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
