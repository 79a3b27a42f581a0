"""Tells errors of servers apart, and when to ask again.

Kinds of error: `tool_use_failed`, `quota_exhausted`, `rate_limited`, `context_overflow`, `content_filter`, `auth`,
`model_not_found`, `not_found`, `timeout`, `connection`, `provider_error`.

The patterns are codes, types and phrases of messages in lower case, collected from OpenAI, Azure, Groq, OpenRouter,
Gemini, DeepSeek, Mistral, Anthropic's compatible endpoint, z.ai, MiniMax, xAI, DashScope, Moonshot, Copilot, vLLM,
SGLang, llama.cpp, Ollama, LM Studio and text-generation-inference.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from core.policies.tools.values import as_dict, as_list, as_text, is_list, key_of, read_literal
from core.text import cut


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


_TOOL_USE_FAILED = _any(
    "tool_use_failed",
    "output_parse_failed",
    "failed to call a function",
    "tool call validation failed",
    "failed to parse input at pos",  # llama.cpp's parser, on the model's own text (ggml-org/llama.cpp#23838)
    "malformed_function_call",  # Gemini (googleapis/python-genai#1836)
    # Ollama's parsers, on the model's own text (ollama/ollama#17638, #14492, #14834, continuedev/continue#10896)
    "error parsing tool call",
    "failed to parse json: (?:unexpected end|invalid character)",
    "xml syntax error on line",
    "expected element type <",
)
_QUOTA_CODE = _any(
    "insufficient_(?:quota|balance|funds|credits?)",
    r"billing_\w{1,30}",
    "quota_(?:exceeded|exhausted)",
    "payment_required",
    "credits?_exhausted",
    "exceeded_current_quota",  # Moonshot
    "arrearage",  # DashScope
    r"^1113\b",  # z.ai and Zhipu: no balance
)
_QUOTA = _any(
    "exceeded your current quota",
    "insufficient (?:quota|balance|credits?|funds)",
    "(?:requires more|out of|not enough|no|used all available) credits",
    "credit balance is too low",
    "billing (?:hard )?limit",
    "check your (?:plan and )?billing",
    "payment required",
    "spend(?:ing)? limit",
    "余额不足",  # Zhipu: insufficient balance
    "key limit exceeded",  # OpenRouter, status 403
    "quota (?:has been )?(?:exhausted|exceeded)",
)
_RATE_LIMIT = _any("rate_?limit", "rate limit", "resource_exhausted", "too many requests", r"^1302\b")
_THROTTLED = _any("please wait", "slow down", "too many requests", "rate_limit", "rate limit (?:reached|exceeded)")
_CONTEXT_CODE = _any(
    "model_max_prompt_tokens_exceeded",  # Copilot
    r"^1261\b",  # z.ai and Zhipu
)
_CONTEXT = _any(
    r"context[ _](?:length|size|window|limit)[ _](?:is |was )?exceed",
    "exceed_context_size",
    "(?:maximum|max|model'?s|available|with|than the|of) context (?:length|size|window|limit)",
    r"exceeds? (?:the )?(?:\w{1,20} )?context",
    "context (?:the )?overflows",  # LM Studio
    r"exceeds the limit of \d",
    "range of input length",  # DashScope
    "exceeded model token limit",  # Moonshot
    "prompt exceeds max length",  # z.ai
    "maximum (?:prompt|model) length",  # xAI, vLLM
    "max_(?:model|seq)_len",
    "(?:prompt|input|request|messages?) (?:is|are|was) too (?:long|large)",
    "too many (?:input )?tokens",
    "reduce (?:the length of|your message size)",
    "exceeds the maximum (?:number of tokens|allowed length|input length|prompt length)",
    "longer than the (?:maximum )?model",
    r"too large for model with \d{1,9} maximum",
    "inputs`? (?:tokens|must have less than)",
)
_CONTENT_FILTER = _any(
    "content_filter",
    "content_policy_violation",
    "content management policy",
    "responsibleaipolicyviolation",
    "data_inspection_failed",
    "(?:input_)?moderation_blocked",
    "prompt_blocked",
    "safety system",
    r"violat\w{1,5} (?:our |the )?(?:usage |content )?polic",
    "was flagged",
    "inappropriate content",
)
_AUTH = _any(
    "(?:invalid|incorrect|missing)[ _]api[ _]key",
    "api(?:_key_invalid| key not valid)",
    "no auth credentials",
    "authentication[ _](?:error|fail)",
    "unauthorized",
)
_MODEL = _any(
    r"model_not_(?:found|available)",
    "model_decommissioned",
    "invalid_model",
    "model_not_supported",  # Copilot
    "unknown[_ ]model",
    "deploymentnotfound",
    "deployment for this resource does not exist",
    "no such model",
    "(?:not a valid|invalid) model",
    r"model (?:not found|not exist|\S{1,200} (?:was |is )?not found|\S{1,200} does not exist)",
    r"model \S{1,200} (?:is )?not (?:available|loaded)",
    r"model \S{1,200} has been (?:decommissioned|deprecated|retired)",
    r"models/\S{1,200} is not found",
    r"no endpoints found for \S{1,200}/",
    "does not have access to model",
    "^model: ",
    "try pulling it",
    "no models? loaded",
)
_NOT_FOUND = _any("not_?found")
_UNSUPPORTED = _any("no endpoints found that support")  # OpenRouter's 404 for tools or pictures
_BAD_REQUEST = _any("invalid_request", "context_length", "bad_?request", "invalid_argument")
_TIMEOUT = _any("timeout", "timed out", "deadline[_ ]exceeded")


_MAX_MESSAGE = 20_000  # characters of a message that are searched
_URL = re.compile(r"https?://\S{1,500}")  # a link to a page about billing says nothing about the error
_SECRET = re.compile(  # what looks like a key, whole or with stars in it
    r"\b(?:sk|pk|rk|gsk|xai|hf|nvapi|AIza|key|Bearer)[-_ ]?(?=[\w\-.]{0,200}[\d*])[\w\-*.]{8,}"
    r"|\b[A-Za-z0-9]{32,}\b|[\w\-]{0,200}\*{3,}\S*",
    re.IGNORECASE,
)

ADVICE = {
    "auth": "The server does not accept the API key, or the key may not do this: check the key for this endpoint.",
    "connection": "The server could not be reached: check the base URL, and that the server runs.",
    "content_filter": "The provider's content filter stopped the answer: change the prompt or use another model.",
    "context_overflow": "The request is longer than the model's context: reduce the history, the prompt or the limit "
    "of output tokens, or serve the model with a larger context.",
    "empty_choices": "The server sent no answer (an empty list of choices): ask again, or look at the server's log.",
    "invalid_body": "The server did not send a chat completion: check that the base URL ends where the API begins "
    "(often /v1), and that no proxy is in between.",
    "model_not_found": "The server does not have this model, or the key may not use it: check the model's name.",
    "no_tool_call": "The answer contains no tool call: the model may not be able to call tools, or the server needs a "
    "tool-call parser for it.",
    "not_found": "The server has no such URL: check the base URL (often it has to end in /v1).",
    "provider_error": "The server failed: ask again, or look at the server's log.",
    "quota_exhausted": "The account's quota or credit is used up: waiting does not help, check plan and billing.",
    "rate_limited": "Too many requests or tokens for now: wait, or play with fewer episodes at once.",
    "refusal": "The model refused to answer.",
    "timeout": "The server did not answer in time: ask again, or allow more time.",
    "tool_use_failed": "The model's call could not be read by the server: ask again, with a lower temperature.",
    "truncated": "The answer ended before its tool call was complete: raise the limit of output tokens.",
}
REJECTED = "The server does not take the request as it is: change the setting that it names, or the base URL."
_STATUS_BY_PATTERN = (
    (_RATE_LIMIT, 429),
    (_QUOTA_CODE, 429),
    (_AUTH, 401),
    (_MODEL, 404),
    (_NOT_FOUND, 404),
    (_BAD_REQUEST, 400),
    (_TIMEOUT, 504),
)


class Failure(NamedTuple):
    """An error kind, what to do about it, and when to ask again."""

    kind: str
    detail: str
    retry_after_s: float | None = None


def error_in(body: Any) -> dict[str, Any]:
    """The error in a body, as an object with `message`; empty if there is no error.

    Read are `{"error": {...}}`, `{"error": "text"}` (Ollama, LM Studio), a list around it (Gemini), `{"object":
    "error", ...}` (vLLM, SGLang), `{"detail": ...}` (FastAPI), and `{"error parsing tool call": ...}`
    (ollama/ollama#11781).
    """
    if is_list(body):
        errors = [error_in(item) for item in as_list(body)[:3]]
        return next(filter(None, errors), errors[0] if errors else {})
    body = as_dict(body)
    error = body.get("error")
    if as_dict(error):
        return as_dict(error)
    if error:
        return {"message": as_text(error), "code": body.get("code")}
    outcome = as_dict(body.get("base_resp"))  # MiniMax, under a status of 200
    if outcome.get("status_code"):
        return {"message": outcome.get("status_msg"), "code": outcome["status_code"]}
    if body.get("object") == "error" or (body.get("type") == "error" and body.get("message")):
        return body
    if body.get("choices") is not None:
        return {}
    keys = ("detail", "error parsing tool call", "message", "errors", "msg")
    key = next((key for key in keys if body.get(key)), "")
    if not key or (as_dict(body[key]) and key != "detail"):
        return {}
    return {**body, "message": f"{key}: {as_text(body[key])}" if " " in key else as_text(body[key])}


def failure_of(status: int, headers: dict[str, Any], error: dict[str, Any], text: str = "") -> Failure:
    """Tells which error a server sent. `status` is the HTTP status; under a 200 the error's own code counts. `text`: a
    body that was not JSON."""
    searched_text = _searched_text(error) + " " + text[:_MAX_MESSAGE].lower()
    message = _message(error) or ("" if "<" in text else text)
    wait = retry_after_s(headers, error, searched_text)
    kind = _kind(status if status >= 300 or status == 0 else _own_status(error), error, searched_text, wait)
    if 300 <= status < 400 and (target := redirect_target(headers)):
        message = f"{message} It redirects to {target}".strip()
    return described(kind, message, wait, status=status)


def redirect_target(headers: Mapping[str, Any]) -> str:
    """The URL of a `Location` header, without the parts that may contain a key; empty if there is none."""
    location = next((as_text(value) for name, value in headers.items() if key_of(as_text(name)) == "location"), "")
    return re.sub(r"//[^/@]*@", "//", re.split(r"[?#]", location[:500])[0])


def described(kind: str, message: str = "", wait: float | None = None, *, status: int = 0) -> Failure:
    """A failure with advice and the server's message, without anything that looks like a key."""
    shown = cut(" ".join(_SECRET.sub("[key]", message[:2_000]).split()), 400)
    advice = REJECTED if kind == "provider_error" and 300 <= status < 500 else ADVICE[kind]
    if not shown or kind == "auth":  # OpenAI repeats a part of the key there
        return Failure(kind, advice, wait)
    return Failure(kind, f'{advice} Its answer: "{shown}"', wait)


def _kind(status: int, error: dict[str, Any], searched_text: str, wait: float | None) -> str:
    if _TOOL_USE_FAILED.search(searched_text):
        return "tool_use_failed"
    if _is_quota(status, error, searched_text, wait):
        return "quota_exhausted"
    if status == 429 or (status not in (401, 403, 407, 413) and _THROTTLED.search(searched_text)):
        return "rate_limited"
    if _UNSUPPORTED.search(searched_text):
        return "provider_error"
    if _CONTENT_FILTER.search(searched_text) and status < 500 or as_dict(error.get("metadata")).get("flagged_input"):
        return "content_filter"
    too_long = _CONTEXT.search(searched_text) or _CONTEXT_CODE.search(_codes(error))
    if status not in (401, 407) and too_long:  # llama.cpp once sent 500 for it
        return "context_overflow"
    if status in (400, 403, 404, 410, 422) and _MODEL.search(searched_text):
        return "model_not_found"
    if status == 400 and _AUTH.search(searched_text):  # Gemini
        return "auth"
    return _by_status(status)


def _by_status(status: int) -> str:
    known = {0: "connection", 401: "auth", 403: "auth", 407: "auth", 404: "not_found", 405: "not_found"}
    known |= {410: "not_found", 408: "timeout", 504: "timeout", 524: "timeout", 413: "context_overflow"}
    return known.get(status, "provider_error")


def _is_quota(status: int, error: dict[str, Any], searched_text: str, wait: float | None) -> bool:
    """Whether the account is used up, and not only busy: Gemini's message is the same for both (google-gemini/
    gemini-cli#8437), but only a busy server says when to come back; a code that names either one decides."""
    if status not in (400, 402, 403, 429):
        return False
    if status == 402 or _QUOTA_CODE.search(_codes(error)):
        return True
    if status == 429 and ("rate_limit" in _codes(error) or wait is not None):
        return False
    return bool(_QUOTA.search(searched_text))


def _codes(error: dict[str, Any]) -> str:
    return " ".join(as_text(error.get(key)) for key in ("code", "type")).strip().lower()


def _searched_text(error: dict[str, Any]) -> str:
    """Every text of an error, in lower case and without links. OpenRouter passes on a provider's message as
    `metadata.raw` (open-webui/computer#293), which may be JSON."""
    metadata = as_dict(error.get("metadata"))
    texts = [error.get(key) for key in ("code", "type", "status", "failed_generation_reason")]
    texts += [metadata.get("raw"), metadata.get("error_type"), as_dict(error.get("innererror")).get("code")]
    texts += [as_dict(detail).get("reason") for detail in as_list(error.get("details"))[:10]]
    parts = [_message(error), *map(as_text, texts)]
    return _URL.sub("", " ".join(part[:_MAX_MESSAGE] for part in parts if part)).lower()


def _message(error: dict[str, Any]) -> str:
    message = as_text(error.get("message"))
    raw = as_text(as_dict(error.get("metadata")).get("raw"))
    return f"{message}: {raw}" if raw and "provider returned error" in message.lower() else message


def _own_status(error: dict[str, Any]) -> int:
    """The status that an error under a 200 names itself, also in a message that is JSON once more (vercel/ai#2698)."""
    message = as_text(error.get("message"))[:_MAX_MESSAGE]
    inner = read_literal(message) if message.lstrip().startswith("{") else None
    for place in (error, as_dict(as_dict(inner).get("error"))):
        for key in ("code", "status", "status_code"):
            if re.fullmatch(r"[45]\d\d", code := as_text(place.get(key))[:10]):
                return int(code)
        codes = [place.get(key) for key in ("code", "type", "status")]
        codes.append(as_dict(place.get("metadata")).get("error_type"))
        text = " ".join(map(as_text, codes)).strip().lower()
        for pattern, status in _STATUS_BY_PATTERN:
            if pattern.search(text):
                return status
    return 429 if _QUOTA.search(message.lower()) else 500


_WAIT = re.compile(
    r"(?:try again|retry|retry[- ]after|available|reset\w{0,2}|wait)\s{1,3}(?:in|after|for|:)?\s{0,3}"
    r"(?P<time>(?:\d{1,9}(?:\.\d{1,9})?\s?(?:days?|hours?|minutes?|mins?|seconds?|secs?|ms|[dhms])\b\s?|\d{1,9}[dhm](?=\d))+)",
    re.IGNORECASE,
)
_UNITS = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s?(ms|[dhms])", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


def retry_after_s(headers: dict[str, Any], error: dict[str, Any], message: str) -> float | None:
    """Seconds to wait, or None if the server did not say.

    In this order: the header `retry-after-ms` (OpenAI's client reads it first), `Retry-After` with seconds, a
    fraction of one, or a date (RFC 9110 10.2.3, against the server's own `Date` where it sends one), a field of the
    error (Google's `retryDelay`, a gateway's `retry_after`), and words such as "try again in 7m12.5s" (Groq).
    """
    by_name = {key_of(as_text(name)): value for name, value in headers.items()}
    milliseconds = _as_seconds(_first_value(by_name.get("retryafterms")))
    header, date = _first_value(by_name.get("retryafter")), _first_value(by_name.get("date"))
    for seconds in (
        None if milliseconds is None else milliseconds / 1000,
        _as_seconds(header),
        _until(header, date),
        _duration_s(as_text(header)),
        _wait_in_error(error),
    ):
        if seconds is not None:
            return seconds
    words = _WAIT.search(message)
    return _duration_s(words["time"]) if words else None


def _duration_s(text: str) -> float | None:
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


def _wait_in_error(error: dict[str, Any]) -> float | None:
    places = [error, as_dict(error.get("metadata")), as_dict(as_dict(error.get("metadata")).get("headers"))]
    places += [as_dict(detail) for detail in as_list(error.get("details"))[:20]]
    for place in places:
        fields = {key_of(as_text(name)): value for name, value in list(place.items())[:50]}
        for name in ("retryafterms", "retryafter", "retryafterseconds", "retrydelay"):
            seconds = _as_seconds(fields.get(name))
            seconds = _duration_s(as_text(fields.get(name))) if seconds is None else seconds
            if seconds is not None:
                return seconds / 1000 if name.endswith("ms") else seconds
    return None


def _as_seconds(value: Any) -> float | None:
    """Seconds, from a number or its text; None if it is not a number, negative or not finite."""
    if isinstance(value, bool) or not isinstance(value, int | float | str) or len(as_text(value)) > 40:
        return None
    try:
        seconds = float(value)
    except (ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _first_value(value: Any) -> Any:
    """A header may come as a list of its values."""
    return next(iter(as_list(value)), None) if is_list(value) else value
