"""The server of a model, and which key may be sent to it.

The person who starts Craftscope pairs each key with its hosts (`core.settings.key_hosts`); a user of the page, a stored
profile or a link can only choose among the keys of a host. A key is read when a client is made, is passed to that
client, and is stored nowhere.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

import httpx2

from core.errors import InvalidConfig, PolicyError
from core.settings import key_hosts, read_key
from core.text import join, quoted

NO_KEY = "EMPTY"  # for servers without keys: the client refuses an empty one
_KEY = re.compile(r"[!-~]+")  # characters that a header can contain
_SHOWN_NAME = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")  # any other "name" may be a key, entered by mistake
_NAME_OF_KEY = re.compile(r"(?:api[_-]?)?key|(?:access_)?token|auth(?:orization)?|secret|sig", re.IGNORECASE)
_DEFAULT_PORTS = {"http": 80, "https": 443}
_EXAMPLE = "such as https://api.openai.com/v1 or http://127.0.0.1:8080"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server. base_url ends before `/chat/completions`; query is added to each request.

    server: scheme, host and port in one spelling, without the default port: where a key is sent to.
    """

    base_url: str
    query: dict[str, str]
    host: str
    server: str
    key: str = field(default=NO_KEY, repr=False)

    @property
    def is_openai(self) -> bool:
        """OpenAI's own server uses other names for some fields."""
        return self.host == "api.openai.com"


def endpoint_of(url: str, key: str = NO_KEY, allowed_hosts: Iterable[str] = ()) -> Endpoint:
    """Normalises a base URL: a bare host, with or without /v1, or ending in /chat/completions. A query is kept.

    allowed_hosts: if not empty, the only hosts (with or without port) that may be called.
    Raises InvalidConfig.
    """
    text = url.strip()
    if not text:
        raise InvalidConfig(f"The base URL is empty. Enter the URL of the model's server, {_EXAMPLE}.")
    try:
        parts = urlsplit(text if re.match(r"[a-z]+:/", text, re.IGNORECASE) else f"https://{text}")
        port = parts.port
    except ValueError as error:
        raise InvalidConfig(f"The base URL is invalid ({error}). Enter one {_EXAMPLE}.") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"[\s\\]", text):
        raise InvalidConfig(f"The base URL is invalid. Enter one {_EXAMPLE}.")
    if port == 0:
        raise InvalidConfig("The base URL has port 0, which no server uses. Enter the port of the model's server.")
    if "@" in parts.netloc:
        raise InvalidConfig("The base URL contains a user name or password. Remove it, and choose an API key instead.")
    hostname = _normal_host(parts.scheme, parts.netloc)
    host = hostname + (f":{port}" if port else "")
    allowed = {name.strip().lower().rstrip(".") for name in allowed_hosts if name.strip()}
    bare = hostname.rstrip(".")
    if allowed and not {bare + (f":{port}" if port else ""), bare} & allowed:
        raise InvalidConfig(
            f"The host {host} is not on the list of allowed model servers: {', '.join(sorted(allowed))}. "
            "Choose one of these, or extend CRAFTSCOPE_MODEL_HOSTS."
        )
    query = parse_qsl(parts.query, keep_blank_values=True)
    if keys := [name for name, _ in query if _NAME_OF_KEY.fullmatch(name.strip())]:
        raise InvalidConfig(
            f'The base URL contains "{keys[0]}", which looks like a key; URLs are stored and shown. Remove it, '
            "and choose the key's variable."
        )
    path = parts.path.rstrip("/").removesuffix("/chat/completions").rstrip("/")
    return Endpoint(
        base_url=f"{parts.scheme}://{parts.netloc}{path or '/v1'}",
        query=dict(query),
        host=host,
        server=_server(parts.scheme, bare, port),
        key=key or NO_KEY,
    )


def keys_for(url: str, pairs: Mapping[str, Sequence[str]] | None = None) -> dict[str, bool]:
    """The names of the keys that may be sent to this server, each with whether it is set; empty for an invalid URL.

    pairs: key -> hosts; all pairs by default. Raises InvalidConfig if `CRAFTSCOPE_KEYS` is invalid.
    """
    try:
        server = endpoint_of(url).server
    except InvalidConfig:
        return {}
    pairs = key_hosts() if pairs is None else pairs
    return {name: bool(read_key(name)) for name, hosts in pairs.items() if server in _servers(name, hosts)}


def check_key(name: str, endpoint: Endpoint) -> None:
    """Raises InvalidConfig if the key `name` may not be sent to this server. Empty stands for no key."""
    if not name:
        return
    hosts = key_hosts().get(name, ())
    if endpoint.server in _servers(name, hosts):
        return
    is_name = bool(_SHOWN_NAME.fullmatch(name))
    whose = f"may be sent to {join(hosts, 'or')} only" if hosts else "is paired with no host, so it is never read"
    raise InvalidConfig(
        f"The key{f' {name}' if is_name else ''} {whose}; the base URL leads to {endpoint.server}. Choose a key of "
        "this server, or none. To pair this one with it, start Craftscope with "
        f"CRAFTSCOPE_KEYS={name if is_name else 'NAME'}={endpoint.server.removeprefix('https://')}."
    )


def key_to_send(name: str, endpoint: Endpoint) -> str:
    """The key to send; `NO_KEY` if `name` is empty.

    Raises InvalidConfig as `check_key`, and PolicyError if the key is not set or cannot be sent.
    """
    check_key(name, endpoint)
    key = read_key(name) if name else NO_KEY
    if not key:
        raise PolicyError(
            "auth",
            f"{name} is not set. Set the environment variable, or the Streamlit secret of that name, for the "
            "dashboard, and launch again.",
        )
    if not _KEY.fullmatch(key):
        raise PolicyError(
            "auth",
            f"The key in {name} contains characters that cannot be sent (a line break, a space, a typographic quote or "
            "the like). Copy it again.",
        )
    return key


def _servers(name: str, hosts: Iterable[str]) -> set[str]:
    """The servers that a key is paired with. Without a port or scheme it is https; with a port, either scheme."""
    servers: set[str] = set()
    for host in hosts:
        try:
            has_scheme = "://" in host
            servers.add(endpoint_of(host).server)
            if not has_scheme and urlsplit(f"//{host}").port is not None:
                servers.add(endpoint_of(f"http://{host}").server)
        except InvalidConfig as error:
            raise InvalidConfig(
                f"CRAFTSCOPE_KEYS pairs {name} with {quoted(host)}, which is not a host. Write it as api.openai.com or "
                "127.0.0.1:8000."
            ) from error
    return servers


def _normal_host(scheme: str, netloc: str) -> str:
    """The host as it is looked up, in lower case and ASCII. Raises InvalidConfig if there can be no such host."""
    try:
        host = httpx2.URL(f"{scheme}://{netloc}").raw_host.decode("ascii").lower()
        host.encode("idna")  # the lookup encodes it so, which fails for empty and long names
    except (httpx2.InvalidURL, UnicodeError) as error:
        raise InvalidConfig(
            f"The base URL has an invalid host ({error}). It may contain invisible characters: type it by hand, "
            f"{_EXAMPLE}."
        ) from error
    return host


def _server(scheme: str, host: str, port: int | None) -> str:
    try:
        host = f"[{ipaddress.IPv6Address(host).compressed}]"
    except ValueError:
        pass  # a name, or IPv4 as written: another spelling counts as another server
    return f"{scheme}://{host}" if port in (None, _DEFAULT_PORTS[scheme]) else f"{scheme}://{host}:{port}"
