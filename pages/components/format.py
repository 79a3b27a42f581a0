"""Numbers, times and statuses as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

from core.types import EpisodeStatus, StopReason

_STATUS_COLOURS = {
    EpisodeStatus.QUEUED: "gray",
    EpisodeStatus.RUNNING: "blue",
    EpisodeStatus.COMPLETED: "green",
    EpisodeStatus.FAILED: "red",
    EpisodeStatus.ABORTED: "orange",
    EpisodeStatus.INTERRUPTED: "violet",
}
_STATUS_MARKS = {
    EpisodeStatus.QUEUED: "○",
    EpisodeStatus.RUNNING: "▶",
    EpisodeStatus.COMPLETED: "✓",
    EpisodeStatus.FAILED: "✕",
    EpisodeStatus.ABORTED: "■",
    EpisodeStatus.INTERRUPTED: "◌",
}
_REASONS = {
    StopReason.TERMINATED: "the player died",
    StopReason.TRUNCATED: "the world's length was reached",
    StopReason.MAX_STEPS: "the step cap was reached",
    StopReason.MAX_DECISIONS: "the decision cap was reached",
    StopReason.MAX_OPS: "the op cap was reached",
    StopReason.MAX_SECONDS: "the time cap was reached",
    StopReason.OPS_DONE: "all ops were done",
    StopReason.BUDGET: "the budget was used up",
    StopReason.NO_TOOL_CALL: "the policy made no tool call",
    StopReason.INVALID_ACTION: "no valid action was left in the call",
    StopReason.POLICY_ERROR: "the policy failed",
    StopReason.ENV_ERROR: "the environment failed",
    StopReason.ABORTED: "stopped by a person",
    StopReason.INTERRUPTED: "its process ended early",
}


def short_id(identifier: str) -> str:
    """The first 8 characters: enough to name an episode or run on a page, and accepted in URLs."""
    return identifier[:8]


def number(value: float, digits: int = 0) -> str:
    """12345.6 as `12,346`."""
    return f"{value:,.{digits}f}"


def signed(value: float, digits: int = 2) -> str:
    """+1.18, −0.10, 0.00; never -0.00."""
    rounded = round(value, digits)
    if rounded == 0:
        return f"{0:.{digits}f}"
    return f"{rounded:+,.{digits}f}".replace("-", "−")


def ms(value: float | None) -> str:
    """A duration given in milliseconds, in the unit that fits; `n/a` where it was not measured."""
    if value is None:
        return "n/a"
    if value >= 1000:
        return seconds(value / 1000)
    return f"{value:.0f} ms" if value >= 100 else f"{value:.2f} ms" if value < 10 else f"{value:.1f} ms"


def seconds(value: float | None) -> str:
    """A duration given in seconds, in the unit that fits."""
    if value is None:
        return "n/a"
    if value < 1:
        return ms(value * 1000)
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def when(moment: datetime | None) -> str:
    """`2026-03-01 14:05 UTC`."""
    return "n/a" if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def status_label(status: EpisodeStatus) -> str:
    """The status with its mark, for tables."""
    return f"{_STATUS_MARKS[status]} {status.value}"


def status_badge(status: EpisodeStatus) -> tuple[str, str]:
    """Text and colour for `st.badge`."""
    return status_label(status), _STATUS_COLOURS[status]


def reason_in_words(reason: StopReason | None) -> str:
    """Why it ended, as the rest of a sentence."""
    return "it is not over yet" if reason is None else _REASONS[reason]
