"""The episodes that an export takes, one after another: the store is not held while a file is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from core.errors import StoreCorrupt, UnknownEpisode
from core.store import Cursor, EpisodeFilter, EpisodeSummary, TraceStore

_EPISODES_A_PAGE: Final = 10  # an episode's specification may hold a long prompt


def episodes_of(store: TraceStore, wanted: EpisodeFilter, ids: Sequence[str] = ()) -> Iterator[EpisodeSummary]:
    """The episodes that pass, newest first; with ids only these of them, in that order.

    Raises UnknownEpisode for a run or an episode that is not stored, StoreCorrupt for a corrupt one.
    """
    if wanted.run_id is not None:
        store.runs.get(wanted.run_id)
    whole = [store.episodes.get(id_).id for id_ in ids]
    return _selected_episodes(store, wanted, whole) if whole else _all_episodes(store, wanted)


def _all_episodes(store: TraceStore, wanted: EpisodeFilter) -> Iterator[EpisodeSummary]:
    cursor: Cursor | None = None
    while True:
        page = store.episodes.page(wanted, cursor=cursor, limit=_EPISODES_A_PAGE)
        for corrupt in page.unreadable:  # skipping it would leave the file incomplete without a warning
            raise StoreCorrupt(corrupt.problem)
        yield from page.rows
        cursor = page.next_cursor
        if cursor is None:
            return


def _selected_episodes(store: TraceStore, wanted: EpisodeFilter, ids: list[str]) -> Iterator[EpisodeSummary]:
    """The selected episodes that pass, each once, in the order of `ids`."""
    left = set(ids)
    if wanted != EpisodeFilter():
        left &= {episode.id for episode in _all_episodes(store, wanted)}
    for id_ in ids:
        if id_ not in left:
            continue
        left.discard(id_)
        try:
            yield store.episodes.get(id_)
        except UnknownEpisode:  # deleted during the export
            continue
