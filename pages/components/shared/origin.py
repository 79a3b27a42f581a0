"""Where a run comes from, and by which ids a trainer knows it."""

from __future__ import annotations

from typing import Final

from core.store import RunSummary
from core.types import RunSource
from pages.components.text.escape import one_line

SOURCES: Final = {
    RunSource.LAUNCH: "launched here",
    RunSource.SERVICE: "asked for by a trainer",
    RunSource.BATCH: "part of a batch",
    RunSource.RECORDED: "recorded from another program",
    RunSource.IMPORTED: "imported",
}

_MAX_LENGTH: Final = 80


def origin_text(run: RunSummary) -> str:
    """Its source, mode and ids on one line; empty for a run that was launched here."""
    ids = {
        "correlation id": run.trace_correlation_id,
        "training session": run.training_session_id,
        "trainer": run.session_url,
        "batch": run.batch_id,
    }
    parts = [
        *([SOURCES[run.source]] if run.source is not RunSource.LAUNCH else ()),
        *([f"mode {one_line(run.mode, _MAX_LENGTH)}"] if run.mode else ()),
        *(f"{name} {one_line(value, _MAX_LENGTH)}" for name, value in ids.items() if value),
    ]
    return " · ".join(parts)
