"""What it means when a server answers with an error.

Kinds of error: `tool_use_failed`, `quota_exhausted`, `rate_limited`, `context_overflow`, `content_filter`, `auth`,
`model_not_found`, `not_found`, `timeout`, `connection`, `provider_error`.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from core.policies.tools import signs
from core.policies.tools.literals import UNREADABLE, read_literal
from core.policies.tools.retry_after import retry_after_s
from core.policies.tools.untrusted import as_dict, as_list, is_list, name_of, short, str_of

_LONGEST = 20_000  # characters of a message that are searched
_URL = re.compile(r"https?://\S{1,500}")  # a link to a page about billing says nothing about the error
_SECRET = re.compile(  # what looks like a key, whole or with stars in it
    r"\b(?:sk|pk|rk|gsk|xai|hf|nvapi|AIza|key|Bearer)[-_ ]?(?=[\w\-.]{0,200}[\d*])[\w\-*.]{8,}"
    r"|\b[A-Za-z0-9]{32,}\b|[\w\-]{0,200}\*{3,}\S*",
    re.IGNORECASE,
)

ADVICE = {
    "auth": "The server does not accept the API key, or the key may not do this: check the key for this endpoint.",
    "connection": "The server could not be reached: check the address, and that the server runs.",
    "content_filter": "The provider's content filter stopped the answer: change the prompt or use another model.",
    "context_overflow": "The request is longer than the model's context: shorten the history, the prompt or the limit "
    "of tokens for an answer, or serve the model with a larger context.",
    "empty_choices": "The server sent no answer (an empty list of choices): ask again, or look at the server's log.",
    "invalid_body": "The server did not send a chat completion: check that the base URL ends where the API begins "
    "(often /v1), and that no proxy is in between.",
    "model_not_found": "The server does not have this model, or the key may not use it: check the model's name.",
    "no_tool_call": "The answer holds no tool call: the model may not be able to call tools, or the server needs a "
    "tool-call parser for it.",
    "not_found": "There is no such address on the server: check the base URL (often it has to end in /v1).",
    "provider_error": "The server failed: ask again, or look at the server's log.",
    "quota_exhausted": "The account's quota or credit is used up: waiting does not help, check plan and billing.",
    "rate_limited": "Too many requests or tokens for now: wait, or play with fewer episodes at once.",
    "refusal": "The model refused to answer.",
    "timeout": "The server did not answer in time: ask again, or allow more time.",
    "tool_use_failed": "The model's call could not be read by the server: ask again, with a lower temperature.",
    "truncated": "The answer ended before its tool call was whole: raise the limit of tokens for an answer.",
}
_REJECTED = "The server does not take the request as it is: change the setting that it names, or the base URL."
_STATUS_BY_SIGN = (
    (signs.RATE_LIMIT, 429),
    (signs.QUOTA_CODE, 429),
    (signs.AUTH, 401),
    (signs.MODEL, 404),
    (signs.NOT_FOUND, 404),
    (signs.BAD_REQUEST, 400),
    (signs.TIMEOUT, 504),
)


class Failure(NamedTuple):
    """What went wrong: a kind, a sentence that helps, and when to ask again."""

    kind: str
    detail: str
    retry_after_s: float | None = None


def error_in(body: Any) -> dict[str, Any]:
    """The error that a body holds, as an object with `message`; empty where there is none.

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
        return {"message": str_of(error), "code": body.get("code")}
    if body.get("object") == "error" or (body.get("type") == "error" and body.get("message")):
        return body
    if body.get("choices") is not None:
        return {}
    key = next(
        (key for key in ("detail", "error parsing tool call", "message", "errors", "msg") if body.get(key)), None
    )
    message = body.get(key) if key else None
    if key is None or as_dict(message):
        return {"message": str_of(message)} if key == "detail" else {}
    return {**body, "message": f"{key}: {str_of(message)}" if " " in key else str_of(message)}


def failure_of(status: int, headers: dict[str, Any], error: dict[str, Any], text: str = "") -> Failure:
    """Judges an error. `status` is the HTTP status; under a 200 the error's own code counts. `text`: a body that was
    no JSON."""
    facts = _facts(error) + " " + text[:_LONGEST].lower()
    message = _message(error) or ("" if "<" in text else text)
    wait = retry_after_s(headers, error, facts)
    kind = _kind(status if status >= 300 or status == 0 else _own_status(error), error, facts, wait)
    if 300 <= status < 400 and (target := _redirect_target(headers)):
        message = f"{message} It redirects to {target}".strip()
    return described(kind, message, wait, status=status)


def _redirect_target(headers: dict[str, Any]) -> str:
    """Where a redirect leads, without the parts of a URL that may hold a key."""
    location = next((name_of(value) for name, value in headers.items() if name.lower() == "location"), "")
    return re.sub(r"//[^/@]*@", "//", re.split(r"[?#]", location[:500])[0])


def described(kind: str, message: str = "", wait: float | None = None, *, status: int = 0) -> Failure:
    """A failure with what can be done about it, and what the server said, without anything like a key."""
    said = short(" ".join(_SECRET.sub("[key]", message[:2_000]).split()), 400)
    advice = _REJECTED if kind == "provider_error" and 300 <= status < 500 else ADVICE[kind]
    if not said or kind == "auth":  # OpenAI repeats a part of the key there
        return Failure(kind, advice, wait)
    return Failure(kind, f'{advice} The server said: "{said}"', wait)


def _kind(status: int, error: dict[str, Any], facts: str, wait: float | None) -> str:
    if signs.TOOL_USE_FAILED.search(facts):
        return "tool_use_failed"
    if _is_quota(status, error, facts, wait):
        return "quota_exhausted"
    if status == 429 or (status not in (401, 403, 407, 413) and signs.THROTTLED.search(facts)):
        return "rate_limited"
    if signs.NO_TOOLS.search(facts):
        return "provider_error"
    if signs.CONTENT_FILTER.search(facts) and status < 500 or as_dict(error.get("metadata")).get("flagged_input"):
        return "content_filter"
    if status not in (401, 407) and signs.CONTEXT.search(facts):  # llama.cpp once sent 500 for it
        return "context_overflow"
    if status in (400, 403, 404, 410, 422) and signs.MODEL.search(facts):
        return "model_not_found"
    if status == 400 and signs.AUTH.search(facts):  # Gemini
        return "auth"
    return _by_status(status)


def _by_status(status: int) -> str:
    known = {0: "connection", 401: "auth", 403: "auth", 407: "auth", 404: "not_found", 405: "not_found"}
    known |= {410: "not_found", 408: "timeout", 504: "timeout", 524: "timeout", 413: "context_overflow"}
    return known.get(status, "provider_error")


def _is_quota(status: int, error: dict[str, Any], facts: str, wait: float | None) -> bool:
    """A used-up account is told from a busy minute: Gemini's message is the same for both (google-gemini/
    gemini-cli#8437), but only a busy minute says when to come back; a code that names either one decides."""
    if status not in (400, 402, 403, 429):
        return False
    codes = " ".join(name_of(error.get(key)) for key in ("code", "type")).lower()
    if status == 402 or signs.QUOTA_CODE.search(codes):
        return True
    if status == 429 and ("rate_limit" in codes or wait is not None):
        return False
    return bool(signs.QUOTA.search(facts))


def _facts(error: dict[str, Any]) -> str:
    """All that an error says, in lower case and without links. OpenRouter hands on a provider's own words as
    `metadata.raw` (open-webui/computer#293), which may be JSON."""
    metadata = as_dict(error.get("metadata"))
    said = [
        _message(error),
        *(name_of(error.get(key)) for key in ("code", "type", "status", "failed_generation_reason")),
    ]
    said += [name_of(metadata.get(key)) for key in ("raw", "error_type")]
    said += [name_of(as_dict(error.get("innererror")).get("code"))]
    said += [name_of(as_dict(detail).get("reason")) for detail in as_list(error.get("details"))[:10]]
    return _URL.sub("", " ".join(part[:_LONGEST] for part in said if part)).lower()


def _message(error: dict[str, Any]) -> str:
    message = name_of(error.get("message"))
    raw = name_of(as_dict(error.get("metadata")).get("raw"))
    return f"{message}: {raw}" if raw and "provider returned error" in message.lower() else message


def _own_status(error: dict[str, Any]) -> int:
    """The status that an error under a 200 names itself, also in a message that is JSON once more (vercel/ai#2698)."""
    message = name_of(error.get("message"))[:_LONGEST]
    inner = read_literal(message) if message.lstrip().startswith("{") else UNREADABLE
    for place in (error, as_dict(as_dict(inner).get("error"))):
        for key in ("code", "status", "status_code"):
            said = place.get(key)
            if isinstance(said, int | str) and re.fullmatch(r"[45]\d\d", name_of(said)[:10]):
                return int(said)
        codes = [place.get(key) for key in ("code", "type", "status")] + [
            as_dict(place.get("metadata")).get("error_type")
        ]
        text = " ".join(name_of(code) for code in codes).lower()
        for sign, status in _STATUS_BY_SIGN:
            if sign.search(text):
                return status
    return 500
