"""Where a model is asked, with which key, and how nothing of that key gets into what comes back.

A key is looked up by name in the moment a client is made, goes into that client, and is kept nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from core.errors import InvalidConfig

NO_KEY = "EMPTY"  # what local servers take where they want none; the client refuses an empty one
_PIECE = 6  # characters of a key that must not be found anywhere
_REMOVED = "[key removed]"
_KEY_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HIDDEN_NAMES = re.compile(r"CRAFTSCOPE_", re.IGNORECASE)  # settings of ours may hold a password of another service
_EXAMPLE = "such as https://api.openai.com/v1 or http://127.0.0.1:8080"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server. base_url ends before `/chat/completions`; query is added to each request."""

    base_url: str
    query: dict[str, str]
    host: str
    key: str = field(default=NO_KEY, repr=False)

    @property
    def is_openai(self) -> bool:
        """OpenAI's own server names some fields differently."""
        return self.host == "api.openai.com"


def endpoint_of(url: str, key: str = NO_KEY, allowed_hosts: Iterable[str] = ()) -> Endpoint:
    """The endpoint that `url` means: a bare host, with or without /v1, or ending in /chat/completions; a query is kept.

    allowed_hosts: where not empty, the only hosts (with or without port) that may be asked.
    Raises InvalidConfig.
    """
    text = url.strip()
    if not text:
        raise InvalidConfig(f"The base URL is empty; give the address of the model's server, {_EXAMPLE}.")
    try:
        parts = urlsplit(text if "://" in text else f"https://{text}")
        port = parts.port
    except ValueError as error:
        raise InvalidConfig(f"The base URL cannot be read ({error}); give an address {_EXAMPLE}.") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"[\s\\]", text):
        raise InvalidConfig(f"The base URL is no address of a web server; give one {_EXAMPLE}.")
    if parts.username or parts.password:
        raise InvalidConfig("The base URL holds a user name or password; give the key by the name of its variable.")
    host = parts.hostname + (f":{port}" if port else "")
    allowed = {name.strip().casefold() for name in allowed_hosts if name.strip()}
    if allowed and not {host.casefold(), parts.hostname.casefold()} & allowed:
        raise InvalidConfig(
            f"The host {host} is not on the list of model servers that may be asked: {', '.join(sorted(allowed))}. "
            "Choose one of these, or extend CRAFTSCOPE_MODEL_HOSTS."
        )
    path = parts.path.rstrip("/").removesuffix("/chat/completions").rstrip("/")
    return Endpoint(
        base_url=f"{parts.scheme}://{parts.netloc}{path or '/v1'}",
        query=dict(parse_qsl(parts.query, keep_blank_values=True)),
        host=host,
        key=key or NO_KEY,
    )


def checked_key_name(name: str) -> str:
    """The name of a key's variable. Raises InvalidConfig where it can be none, or where it looks like a key itself."""
    if not name:
        return name
    if not _KEY_NAME.fullmatch(name) or len(name) > 64:
        raise InvalidConfig(
            "The key's name is no name of an environment variable. Give the name, such as OPENAI_API_KEY, and not the "
            "key itself, which is never stored."
        )
    if _HIDDEN_NAMES.match(name):
        raise InvalidConfig(
            f"{name} is a setting of Craftscope and no key; give the name of the variable that holds it."
        )
    return name


def without_key(text: str, key: str) -> str:
    """`text` with every run of characters that holds six or more of the key's in a row replaced."""
    if len(key) < _PIECE or key == NO_KEY:
        return text
    pieces = {key[at : at + _PIECE] for at in range(len(key) - _PIECE + 1)}
    hits = sorted({match.start() for piece in pieces for match in re.finditer(f"(?={re.escape(piece)})", text)})
    cleaned: list[str] = []
    end = 0
    for at in hits:
        if at >= end:
            cleaned += [text[end:at], _REMOVED]
        end = max(end, at + _PIECE)
    return "".join((*cleaned, text[end:]))
