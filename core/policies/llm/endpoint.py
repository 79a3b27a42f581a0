"""Where a model is asked, and with which key.

A key is looked up by name in the moment a client is made, goes into that client, and is kept nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

import httpx2

from core.errors import InvalidConfig

NO_KEY = "EMPTY"  # what local servers take where they want none; the client refuses an empty one
_KEY_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEY_PART = re.compile(r"(?=.*[0-9])(?=.*[a-z]).{16,}")  # no part of a name that a person gave: gsk_, hf_, and a key
_HIDDEN_NAMES = re.compile(r"CRAFTSCOPE_", re.IGNORECASE)  # settings of ours may hold a password of another service
_NAMES_OF_KEYS = (
    "api_key",
    "api-key",
    "apikey",
    "key",
    "token",
    "access_token",
    "auth",
    "authorization",
    "secret",
    "sig",
)
_USUAL_PORTS = {"http": 80, "https": 443}
_EXAMPLE = "such as https://api.openai.com/v1 or http://127.0.0.1:8080"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server. base_url ends before `/chat/completions`; query is added to each request."""

    base_url: str
    query: dict[str, str]
    host: str
    key: str = field(default=NO_KEY, repr=False)

    @property
    def server(self) -> str:
        """Scheme, host and port, the usual port left out: whom a key is sent to."""
        parts = urlsplit(self.base_url)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        is_usual = parts.port in (None, _USUAL_PORTS[parts.scheme])
        return f"{parts.scheme}://{host}" if is_usual else f"{parts.scheme}://{host}:{parts.port}"

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
        parts = urlsplit(text if re.match(r"[a-z]+:/", text, re.IGNORECASE) else f"https://{text}")
        port = parts.port
    except ValueError as error:
        raise InvalidConfig(f"The base URL cannot be read ({error}); give an address {_EXAMPLE}.") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"[\s\\]", text):
        raise InvalidConfig(f"The base URL is no address of a web server; give one {_EXAMPLE}.")
    if port == 0:
        raise InvalidConfig("The base URL names port 0, where no server listens; give the port of the model's server.")
    if parts.username or parts.password:
        raise InvalidConfig("The base URL holds a user name or password; give the key by the name of its variable.")
    hostname = _asked_host(parts.scheme, parts.netloc)
    host = hostname + (f":{port}" if port else "")
    allowed = {name.strip().lower().rstrip(".") for name in allowed_hosts if name.strip()}
    bare = hostname.rstrip(".")
    if allowed and not {bare + (f":{port}" if port else ""), bare} & allowed:
        raise InvalidConfig(
            f"The host {host} is not on the list of model servers that may be asked: {', '.join(sorted(allowed))}. "
            "Choose one of these, or extend CRAFTSCOPE_MODEL_HOSTS."
        )
    query = parse_qsl(parts.query, keep_blank_values=True)
    if keys := [name for name, _ in query if name.strip().lower() in _NAMES_OF_KEYS]:
        raise InvalidConfig(
            f'The base URL holds "{keys[0]}", which looks like a key; addresses are stored and shown. Leave it out, '
            "and give the name of the key's variable."
        )
    path = parts.path.rstrip("/").removesuffix("/chat/completions").rstrip("/")
    return Endpoint(
        base_url=f"{parts.scheme}://{parts.netloc}{path or '/v1'}",
        query=dict(query),
        host=host,
        key=key or NO_KEY,
    )


def _asked_host(scheme: str, netloc: str) -> str:
    """The host as it is looked up, in lower case and ASCII. Raises InvalidConfig where it can be none."""
    try:
        host = httpx2.URL(f"{scheme}://{netloc}").raw_host.decode("ascii").lower()
        host.encode("idna")  # it is looked up by way of this, which refuses what is too long or empty
    except (httpx2.InvalidURL, UnicodeError) as error:
        raise InvalidConfig(
            f"The base URL names a host that cannot exist ({error}). Invisible characters may have been pasted with "
            f"it: type it anew, {_EXAMPLE}."
        ) from error
    return host


def server_of(url: str) -> str:
    """The server that an address leads to, as `Endpoint.server`; empty where it is no address."""
    try:
        return endpoint_of(url).server
    except InvalidConfig:
        return ""


def check_key_server(key_name: str, key_for: str, endpoint: Endpoint) -> None:
    """Raises InvalidConfig where a key was named for another server than the one that would get it.

    key_for: an address of the server that it was named for; empty where that is not known.
    """
    if not key_name or not key_for or server_of(key_for) == endpoint.server:
        return
    raise InvalidConfig(
        f"The key was named for {server_of(key_for) or key_for}, but the base URL leads to {endpoint.server}: a key is "
        "sent only to the server that it was named for. Give the name of its variable again if this server is to have "
        "it, or leave it empty."
    )


def checked_key_name(name: str) -> str:
    """The name of a key's variable. Raises InvalidConfig where it can be none, or where it looks like a key itself."""
    if not name:
        return name
    if not _KEY_NAME.fullmatch(name) or len(name) > 64 or any(map(_KEY_PART.fullmatch, name.split("_"))):
        raise InvalidConfig(
            "The key's name is no name of an environment variable. Give the name, such as OPENAI_API_KEY, and not the "
            "key itself, which is never stored."
        )
    if _HIDDEN_NAMES.match(name):
        raise InvalidConfig(
            f"{name} is a setting of Craftscope and no key; give the name of the variable that holds it."
        )
    return name
