"""The facts of everything that is stored, kept in memory."""

from __future__ import annotations

import gc
import threading
from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from core.facts import EpisodeFacts, PlayedEpisode
from core.facts.columns import FactColumns


class UnreadableEpisode(Protocol):
    """An episode that is damaged."""

    @property
    def id(self) -> str:
        """Which."""
        ...

    @property
    def problem(self) -> str:
        """Why, in a sentence."""
        ...


class Part(Protocol):
    """What a source answers: episodes with their facts, side by side."""

    @property
    def episodes(self) -> tuple[PlayedEpisode, ...]:
        """Who played."""
        ...

    @property
    def facts(self) -> tuple[EpisodeFacts, ...]:
        """What it changed."""
        ...

    @property
    def unreadable(self) -> Sequence[UnreadableEpisode]:
        """What could not be read."""
        ...


class RewardSource(Protocol):
    """Where facts come from: a `TraceStore`."""

    def played_ids(self) -> tuple[str, ...]:
        """The episodes that are over and made at least one decision, oldest launch first."""
        ...

    def archive_part(self, ids: Iterable[str]) -> Part:
        """Those episodes with their facts."""
        ...


@dataclass(frozen=True)
class Stored:
    """Some or all stored episodes, oldest launch first, with their decisions as columns. Never changed.

    unreadable: (episode id, why) of those that are damaged and therefore left out.
    """

    episodes: tuple[PlayedEpisode, ...]
    columns: FactColumns
    unreadable: tuple[tuple[str, str], ...] = ()

    def only(self, ids: Collection[str]) -> Stored:
        """Those of them that have one of these ids."""
        wanted = frozenset(ids)
        chosen = [at for at, episode in enumerate(self.episodes) if episode.id in wanted]
        if len(chosen) == len(self.episodes) and all(name in wanted for name, _ in self.unreadable):
            return self
        facts = self.columns.episodes
        return Stored(
            tuple(self.episodes[at] for at in chosen),
            FactColumns([facts[at] for at in chosen]),
            tuple(entry for entry in self.unreadable if entry[0] in wanted),
        )


class RewardArchive:
    """All facts of one source. Safe to use from many threads; what it hands out never changes."""

    def __init__(self, source: RewardSource) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._known: dict[str, tuple[PlayedEpisode, EpisodeFacts]] = {}
        self._damaged: dict[str, str] = {}
        self._stored = Stored((), FactColumns([]))

    def refresh(self) -> Stored:
        """Everything that is over by now: reads what is new, forgets what is gone. Raises what the source raises.

        An episode that is over does not change any more, so only the ids are compared. A damaged one is tried anew
        each time: somebody may have put back a whole copy of the database.
        """
        with self._lock, _no_search_for_cycles():
            ids = self._source.played_ids()
            new = [name for name in ids if name not in self._known]
            found = self._source.archive_part(new) if new else None
            damaged: dict[str, str] = {}
            if found is not None:
                self._known.update({p.id: (p, f) for p, f in zip(found.episodes, found.facts, strict=True)})
                damaged = {entry.id: entry.problem for entry in found.unreadable}
            present = [name for name in ids if name in self._known]
            if present != [episode.id for episode in self._stored.episodes] or damaged != self._damaged:
                self._known = {name: self._known[name] for name in present}
                self._damaged = damaged
                episodes, facts = [p for p, _ in self._known.values()], [f for _, f in self._known.values()]
                self._stored = Stored(tuple(episodes), FactColumns(facts), tuple(damaged.items()))
            return self._stored


@contextmanager
def _no_search_for_cycles() -> Generator[None]:
    """Python looks for cycles whenever many objects were made; here there are none, and looking doubles the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
