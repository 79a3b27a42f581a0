"""Who may call the service, and what is too large: checked before any route."""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.errors import InvalidInput
from core.requests import MAX_BYTES, checked_json
from core.settings import ServiceSettings, is_loopback

OPEN_PATHS: Final = frozenset(("/", "/openapi.json"))
"""Without a key."""

OPENENV: Final = "/openenv"


class Guard:
    """An ASGI application in front of another one.

    Every request and websocket has to name a host of this machine or of the settings, and if it comes from a web page,
    an origin of the settings. All paths but a few need a key. Bodies are at most 2 MB of sound JSON.
    """

    def __init__(self, app: ASGIApp, settings: ServiceSettings) -> None:
        self._app = app
        self._settings = settings
        self._keys = [key.encode() for key in settings.keys]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self._app(scope, receive, send)
        refused = self._refusal(scope)
        if refused is not None and scope["type"] == "websocket":
            # Closing before accepting is answered with 403.
            return await send({"type": "websocket.close", "code": 1008, "reason": refused[1]})
        if scope["type"] == "websocket":
            return await self._app(scope, receive, send)
        body = b""
        if refused is None:
            received = await _body(receive)
            if received is None:
                return None
            body = received
            refused = _body_refusal(body)
        if refused is not None:
            return await _answer(send, *refused)
        await self._app(scope, _replayed(body, receive), send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        host = _hostname(headers.get("host", ""))
        if not is_loopback(host) and host not in self._settings.hosts:
            return 403, f"The host {host[:100]!r} is not served. Add it to CRAFTSCOPE_SERVICE_HOSTS."
        origin = headers.get("origin")
        if origin is not None and origin not in self._settings.origins:
            return 403, "Web pages of another site may not call this. Add their origin to CRAFTSCOPE_SERVICE_ORIGINS."
        path = scope["path"]
        if path in OPEN_PATHS or path == OPENENV or path.startswith(f"{OPENENV}/"):
            return None
        if not self._keys:
            return 503, "No key is configured. Start the service with CRAFTSCOPE_SERVICE_KEY."
        if not self._is_known(_keys_in(headers)):
            return 401, "The key is missing or wrong. Send it as X-API-Key, or as Authorization: Bearer."
        return None

    def _is_known(self, given: list[str]) -> bool:
        """Compares with every key, so that the time tells nothing."""
        found = False
        for each in given:
            for key in self._keys:
                found |= hmac.compare_digest(each.encode(), key)
        return found


def _hostname(host: str) -> str:
    """A Host header without its port; IPv6 without brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower().rstrip(".")


def _keys_in(headers: Mapping[str, str]) -> list[str]:
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    given = [headers.get("x-api-key", ""), *headers.get("x-api-keys", "").split(",")]
    if scheme.lower() == "bearer":
        given.append(bearer)
    return [key.strip() for key in given if key.strip()]


async def _body(receive: Receive) -> bytes | None:
    """The body, up to one byte more than is allowed; None if the client left before its end."""
    parts, size = list[bytes](), 0
    while size <= MAX_BYTES:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        part = message.get("body", b"")
        parts.append(part)
        size += len(part)
        if not message.get("more_body", False):
            break
    return b"".join(parts)


def _body_refusal(body: bytes) -> tuple[int, str] | None:
    if len(body) > MAX_BYTES:
        return 413, f"The body is larger than {MAX_BYTES:,} bytes."
    if body:
        try:
            checked_json(body)
        except InvalidInput as error:
            return 422, str(error)
    return None


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body, then what comes after it."""
    is_given = False

    async def replay() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


async def _answer(send: Send, status: int, detail: str) -> None:
    content: dict[str, Any] = {"detail": detail}
    body = json.dumps(content).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
