"""Downloads of training examples and whole episodes, made on request.

They are written to a temporary file, with one line or episode in memory at a time. What is sent to the browser is held
in memory as a whole; for examples that is at most `MAX_BYTES`.
"""

from __future__ import annotations

import re
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Sequence
from typing import IO

import streamlit as st

from core.errors import StoreError, UnknownEpisode
from core.exports import Portion, SftFilter, episode_json, first_of, sft_lines
from core.store import EpisodeSummary, TraceStore
from pages.components.shared.state import store
from pages.components.text.format import short_id

MAX_EXAMPLES = 10_000
MAX_BYTES = 64 * 2**20
DOWNLOAD_FAILED = "download_failed"


def count_examples(store: TraceStore, wanted: SftFilter) -> Portion:
    """The number and size of the examples in a download."""
    return first_of(sft_lines(store, wanted), max_lines=MAX_EXAMPLES, max_bytes=MAX_BYTES)


def examples_file(store: TraceStore, wanted: SftFilter) -> bytes:
    """The examples as JSON Lines, as the command writes them; if there are too many, the first ones."""
    return _written(
        lambda file: first_of(sft_lines(store, wanted), file.write, max_lines=MAX_EXAMPLES, max_bytes=MAX_BYTES)
    )


def episodes_zip(store: TraceStore, ids: Sequence[str]) -> bytes:
    """One JSON document per episode; deleted ones are left out."""

    def write(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
            for id_ in ids:
                try:
                    document = episode_json(store, id_)
                except UnknownEpisode:
                    continue
                archive.writestr(f"craftscope-{safe_file_name(id_)}.json", document)

    return _written(write)


def _written(write: Callable[[IO[bytes]], object]) -> bytes:
    with tempfile.TemporaryFile() as file:
        write(file)
        file.seek(0)
        return file.read()


def safe_file_name(text: str) -> str:
    """An id from a trace, with only characters that every file system accepts."""
    return re.sub(r"[^0-9A-Za-z_-]", "_", text[:64])


def report_missing(ids: Iterable[str]) -> None:
    """For a download's callback: the browser cannot report missing episodes, so the page does."""
    try:
        gone = [id_ for id_ in ids if not _is_stored(id_)]
    except StoreError as error:
        st.session_state[DOWNLOAD_FAILED] = f"Cannot download this: {error}"
        return
    if gone:
        names = ", ".join(short_id(id_) for id_ in gone)
        st.session_state[DOWNLOAD_FAILED] = f"Not in the download, because deleted: {names}."


def _is_stored(episode_id: str) -> bool:
    try:
        store().episodes.get(episode_id)
    except UnknownEpisode:
        return False
    return True


def models_of(store: TraceStore, rows: Sequence[EpisodeSummary]) -> tuple[str, ...]:
    """The model names in the first response of each of these episodes."""
    called = tuple(row.id for row in rows if row.spec.policy.name == "llm" and row.n_decisions)
    return tuple(sorted({name for id_ in called if (name := _model_of(store, store.url, id_))}))


@st.cache_data(max_entries=500, show_spinner=False)
def _model_of(_store: TraceStore, url: str, episode_id: str) -> str:
    exchange = _store.episodes.next_exchange(episode_id)
    return exchange.model_call.model if exchange and exchange.model_call else ""
