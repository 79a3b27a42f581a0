"""Numbers, times, seeds and statuses as text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from math import floor, inf, isfinite, log10

from core.types import EpisodeStatus, OnDone, StopReason
from pages.components.text.escape import one_line

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
    StopReason.TERMINATED: "the character died",
    StopReason.TRUNCATED: "the world's length was reached",
    StopReason.MAX_STEPS: "the step limit was reached",
    StopReason.MAX_DECISIONS: "the decision limit was reached",
    StopReason.MAX_OPS: "the operation limit was reached",
    StopReason.MAX_SECONDS: "the time limit was reached",
    StopReason.OPS_DONE: "all operations were done",
    StopReason.BUDGET: "the budget was used up",
    StopReason.NO_TOOL_CALL: "the policy made no tool call",
    StopReason.INVALID_ACTION: "no valid action was left in the call",
    StopReason.POLICY_ERROR: "the policy failed",
    StopReason.ENV_ERROR: "the environment failed",
    StopReason.REWARD_ERROR: "the reward strategy failed",
    StopReason.ABORTED: "stopped",
    StopReason.INTERRUPTED: "its worker process died",
}
_ENDINGS = {
    StopReason.TERMINATED: "died",
    StopReason.TRUNCATED: "world's length",
    StopReason.MAX_STEPS: "step limit",
    StopReason.MAX_DECISIONS: "decision limit",
    StopReason.MAX_OPS: "operation limit",
    StopReason.MAX_SECONDS: "time limit",
    StopReason.OPS_DONE: "operations done",
    StopReason.BUDGET: "budget",
    StopReason.NO_TOOL_CALL: "no tool call",
    StopReason.INVALID_ACTION: "no valid action",
    StopReason.POLICY_ERROR: "policy error",
    StopReason.ENV_ERROR: "environment error",
    StopReason.REWARD_ERROR: "reward error",
}
_LIMITS = (StopReason.MAX_STEPS, StopReason.MAX_DECISIONS, StopReason.MAX_OPS, StopReason.MAX_SECONDS)

_MAX_RUN_NAME_LENGTH = 60
_MINUS = "−"
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_NOT_FINITE = {inf: "∞", -inf: "−∞"}
_ZERO = 1e-9  # smaller amounts are rounding errors of sums
_MIN_PLAIN, _MAX_PLAIN = 1e-4, 1e7  # others get an exponent


def name_text(name: str) -> str:
    """`eat_plant` as `eat plant`."""
    return name.replace("_", " ")


def listed(parts: Sequence[str], max_parts: int, separator: str = ", ") -> str:
    """`a, b and 3 more`; `a; b; and 3 more`."""
    rest = len(parts) - max_parts
    more = f"{separator.strip(', ')} and {rest:,} more" if rest > 0 else ""
    return separator.join(parts[:max_parts]) + more


def short_id(identifier: str) -> str:
    """The first 8 characters: enough for a page, and accepted in URLs."""
    return identifier[:8]


def run_label(name: str, run_id: str) -> str:
    """The run's name on one line, or its short id. Not escaped for Markdown."""
    return one_line(name, _MAX_RUN_NAME_LENGTH) or short_id(run_id)


def number(value: float, digits: int = 0) -> str:
    """12345.6 as `12,346`; never -0."""
    text = f"{value:,.{digits}f}"
    return text.replace("-", _MINUS if text.strip("-0.,") else "")


def signed(value: float, digits: int = 2) -> str:
    """+1.18, −0.10, 0.00; never -0.00. Small amounts get more digits (−0.004), very large and very small ones an
    exponent (+1.235×10⁹, −3.1×10⁻⁷)."""
    text = amount(value, digits)
    return f"+{text}" if value > 0 and text.strip("0.,") else text


def amount(value: float, digits: int = 2) -> str:
    """As `signed`, without a plus."""
    size = abs(value)
    if not isfinite(size):
        return _NOT_FINITE.get(value, "not a number")
    if size < _ZERO:
        return f"{0:.{digits}f}"
    if size >= _MAX_PLAIN:
        return _with_exponent(f"{value:.3e}")
    if size >= 0.5 * 10**-digits:
        return f"{value:,.{digits}f}".replace("-", _MINUS)
    if size >= _MIN_PLAIN:
        return f"{value:.{1 - floor(log10(size))}f}".rstrip("0").replace("-", _MINUS)
    return _with_exponent(f"{value:.1e}")


def exact(value: float) -> str:
    """The shortest text that parses back to this number: `0.06`, `−1`, `1×10⁻⁷`."""
    short_one = f"{value:g}"
    return _with_exponent(short_one if float(short_one) == value else repr(value))


def _with_exponent(text: str) -> str:
    """`1e-07` as `1×10⁻⁷`."""
    mantissa, _, exponent = text.partition("e")
    if exponent and "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    power = f"×10{str(int(exponent)).translate(_RAISED)}" if exponent else ""
    return mantissa.replace("-", _MINUS) + power


def ms(value: float | None) -> str:
    """A duration in milliseconds, in a readable unit; `n/a` for None and for values that are not finite."""
    if value is None or not isfinite(value):
        return "n/a"
    if value >= 1000:
        return seconds(value / 1000)
    return f"{value:.0f} ms" if value >= 100 else f"{value:.2f} ms" if value < 10 else f"{value:.1f} ms"


def seconds(value: float | None) -> str:
    """A duration in seconds, in a readable unit; `n/a` for None and for values that are not finite."""
    if value is None or not isfinite(value):
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


def status_label(status: EpisodeStatus, reason: StopReason | None = None) -> str:
    """The status with its mark and, where useful, the stop reason: `✓ completed · died`."""
    ending = _ENDINGS.get(reason, "") if reason else ""
    return f"{_STATUS_MARKS[status]} {status.value}" + (f" · {ending}" if ending else "")


def status_badge(status: EpisodeStatus, reason: StopReason | None = None) -> tuple[str, str]:
    """Text and colour for `st.badge`."""
    return status_label(status, reason), _STATUS_COLOURS[status]


def stop_reason_text(reason: StopReason | None, on_done: OnDone = OnDone.TERMINATE) -> str:
    """Why an episode ended, as the end of a sentence. on_done: with `reset`, limits count over all worlds."""
    if reason is None:
        return "still running"
    note = " (limits count over all worlds)" if on_done is OnDone.RESET and reason in _LIMITS else ""
    return _REASONS[reason] + note


def seeds_label(seeds: Sequence[int]) -> str:
    """`seed 1`, `seeds 1, 2`."""
    return f"{'seed' if len(seeds) == 1 else 'seeds'} {seeds_text(seeds)}"


def seeds_text(seeds: Sequence[int]) -> str:
    """`(0, 1, 2, 42)` as `0-2, 42`. Three or more consecutive seeds become a range."""
    parts: list[str] = []
    start = 0
    while start < len(seeds):
        end = start
        while end + 1 < len(seeds) and seeds[end + 1] == seeds[end] + 1:
            end += 1
        long_enough = end - start >= 2
        parts += [f"{seeds[start]}-{seeds[end]}"] if long_enough else [str(seed) for seed in seeds[start : end + 1]]
        start = end + 1
    return ", ".join(parts)
