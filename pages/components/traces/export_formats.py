"""Formats of the "Export" popover that take whole episodes: a file is prepared with progress, then downloaded."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import streamlit as st

from core.exports import FOLDERS, LINES, SftFilter, episodes_of, first_of, folder_writer
from core.store import EpisodeSummary
from core.text import plural
from pages.components.shared.export_files import MAX_BYTES, MAX_EXAMPLES
from pages.components.shared.state import store
from pages.components.text.format import number

MAX_FOLDER_STEPS: Final = 20_000  # of a dataset: its pictures are drawn again
_PREPARED: Final = "export_prepared"


@dataclass(frozen=True, slots=True)
class Format:
    """name: as the command takes it. out: the file or folder."""

    name: str
    label: str
    out: str

    @property
    def file_name(self) -> str:
        return f"{self.out}.zip" if self.name in FOLDERS else self.out


@dataclass(frozen=True, slots=True)
class _Prepared:
    content: bytes
    episodes: int
    is_all: bool


FORMATS: Final = (
    Format("jsonl", "Whole episodes", "craftscope-episodes.jsonl"),
    Format("samples", "Decision samples", "craftscope-samples.jsonl"),
    Format("parquet", "Parquet tables", "craftscope-tables"),
    Format("minari", "Minari dataset", "crafter-v0"),
    Format("atif", "Trajectories (ATIF)", "craftscope-atif.jsonl"),
    Format("otel", "OpenTelemetry spans", "craftscope-otel.jsonl"),
    Format("stats", "Crafter statistics", "stats.jsonl"),
)


def format_picker() -> Format | None:
    """None for training examples."""
    return st.selectbox(
        "Format",
        [None, *FORMATS],
        format_func=lambda found: found.label if found else "Training examples (SFT)",
        key="export_format",
    )


def offer_format(format_: Format, wanted: SftFilter, n_episodes: int) -> None:
    """A button that prepares the file, and then one that downloads it. Raises CraftscopeError."""
    what = (format_, wanted, store().generation)
    prepared: dict[object, _Prepared] = st.session_state.setdefault(_PREPARED, {})
    if what not in prepared and st.button("Prepare", key="export_prepare", type="primary"):
        prepared.clear()
        prepared[what] = _prepare(format_, wanted, n_episodes)
    found = prepared.get(what)
    limit = f"{number(MAX_FOLDER_STEPS)} steps" if format_.name in FOLDERS else f"{number(MAX_BYTES / 2**20)} MB"
    if found is None:
        st.caption(f"{plural(n_episodes, 'episode')}. Limit: {limit}, newest episodes first.")
        return
    if not found.content:
        st.info("No episode matches. Clear the filters to export more.")
        return
    size = f"{number(len(found.content) / 2**20, 1)} MB"
    counted = f"{plural(found.episodes, 'episode')}, {size}"
    st.caption(f"{counted}." if found.is_all else f"The first {counted}. Limit: {limit}.")
    st.download_button(
        "Download",
        data=found.content,
        file_name=format_.file_name,
        mime="application/zip" if format_.name in FOLDERS else "application/jsonl",
        on_click="ignore",
        type="primary",
        key="export_download",
    )


def _prepare(format_: Format, wanted: SftFilter, n_episodes: int) -> _Prepared:
    counted = _Counted(wanted, n_episodes, max_steps=MAX_FOLDER_STEPS if format_.name in FOLDERS else None)
    content = io.BytesIO()
    is_all = True
    if format_.name in FOLDERS:
        with tempfile.TemporaryDirectory() as parent:
            folder = Path(parent) / format_.out
            if folder_writer(format_.name)(store(), counted, folder):
                with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                    for path in sorted(folder.rglob("*")):
                        archive.write(path, path.relative_to(parent))
    else:
        lines = LINES[format_.name](store(), counted)
        is_all = first_of(lines, content.write, max_lines=MAX_EXAMPLES, max_bytes=MAX_BYTES).is_all
    counted.bar.empty()
    return _Prepared(content.getvalue(), counted.taken, is_all and not counted.left_out)


class _Counted:
    """Episodes with a progress bar."""

    def __init__(self, wanted: SftFilter, n_episodes: int, *, max_steps: int | None) -> None:
        self.bar = st.progress(0.0, "Reading episodes…")
        self.taken = 0
        self.left_out = False
        self._wanted = wanted
        self._total = n_episodes
        self._max_steps = max_steps

    def __iter__(self) -> Iterator[EpisodeSummary]:
        steps = 0
        for row in episodes_of(store(), self._wanted.episodes, self._wanted.episode_ids):
            steps += row.n_steps
            if self._max_steps is not None and steps > self._max_steps and self.taken:
                self.left_out = True
                return
            yield row
            self.taken += 1
            share = min(1.0, self.taken / max(1, self._total))
            self.bar.progress(share, f"{number(self.taken)} of {plural(self._total, 'episode')}")
