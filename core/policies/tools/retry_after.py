"""When a server says one may ask again."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from core.policies.tools.untrusted import as_dict, as_list, as_seconds, is_list, key_of, name_of

_SAID = re.compile(
    r"(?:try again|retry|retry[- ]after|available|reset\w{0,2}|wait)\s{1,3}(?:in|after|for|:)?\s{0,3}"
    r"(?P<time>(?:\d{1,9}(?:\.\d{1,9})?\s?(?:days?|hours?|minutes?|mins?|seconds?|secs?|ms|[dhms])\b\s?|\d{1,9}[dhm](?=\d))+)",
    re.IGNORECASE,
)
_UNITS = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s?(ms|[dhms])", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


def retry_after_s(headers: dict[str, Any], error: dict[str, Any], message: str) -> float | None:
    """Seconds to wait, or None where nothing is said.

    In this order: the header `retry-after-ms` (OpenAI's client reads it first), `Retry-After` with seconds, a
    fraction of one, or a date (RFC 9110 10.2.3, against the server's own `Date` where it sends one), a field of the
    error (Google's `retryDelay`, a gateway's `retry_after`), and words such as "try again in 7m12.5s" (Groq).
    """
    by_name = {key_of(name_of(name)): value for name, value in headers.items()}
    milliseconds = as_seconds(_first(by_name.get("retryafterms")))
    if milliseconds is not None:
        return milliseconds / 1000
    header = _first(by_name.get("retryafter"))
    for said in (as_seconds(header), _until(header, _first(by_name.get("date"))), duration_s(name_of(header))):
        if said is not None:
            return said
    fields = _in_error(error)
    if fields is not None:
        return fields
    words = _SAID.search(message)
    return duration_s(words["time"]) if words else None


def duration_s(text: str) -> float | None:
    """Seconds of a duration such as `1.5s`, `350ms`, `7m12.5s` or `2 minutes`."""
    parts = _UNITS.findall(text[:60])
    return sum(float(number) * _SECONDS[unit.lower()] for number, unit in parts) if parts else None


def _until(date: Any, now: Any) -> float | None:
    when = _date(date)
    return None if when is None else max(0.0, (when - (_date(now) or datetime.now(UTC))).total_seconds())


def _date(value: Any) -> datetime | None:
    if not isinstance(value, str) or len(value) > 60 or not re.search(r"\d\d:\d\d", value):
        return None
    try:
        date = parsedate_to_datetime(value)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _in_error(error: dict[str, Any]) -> float | None:
    places = [error, as_dict(error.get("metadata")), as_dict(as_dict(error.get("metadata")).get("headers"))]
    places += [as_dict(detail) for detail in as_list(error.get("details"))[:20]]
    for place in places:
        fields = {key_of(name_of(name)): value for name, value in list(place.items())[:50]}
        for name in ("retryafterms", "retryafter", "retryafterseconds", "retrydelay"):
            said = as_seconds(fields.get(name))
            said = duration_s(name_of(fields.get(name))) if said is None else said
            if said is not None:
                return said / 1000 if name.endswith("ms") else said
    return None


def _first(value: Any) -> Any:
    """A header may come as a list of its values."""
    return next(iter(as_list(value)), None) if is_list(value) else value
