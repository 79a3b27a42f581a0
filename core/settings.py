"""The only reader of environment variables."""

from __future__ import annotations

import os
import re
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from core.errors import InvalidConfig

PROVIDER_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "ANTHROPIC_API_KEY": ("api.anthropic.com",),
    "CEREBRAS_API_KEY": ("api.cerebras.ai",),
    "COHERE_API_KEY": ("api.cohere.ai",),
    "DASHSCOPE_API_KEY": ("dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"),
    "DEEPINFRA_API_KEY": ("api.deepinfra.com",),
    "DEEPSEEK_API_KEY": ("api.deepseek.com",),
    "FIREWORKS_API_KEY": ("api.fireworks.ai",),
    "GEMINI_API_KEY": ("generativelanguage.googleapis.com",),
    "GOOGLE_API_KEY": ("generativelanguage.googleapis.com",),
    "GROQ_API_KEY": ("api.groq.com",),
    "HF_TOKEN": ("router.huggingface.co",),
    "MINIMAX_API_KEY": ("api.minimax.io", "api.minimaxi.com"),
    "MISTRAL_API_KEY": ("api.mistral.ai",),
    "MOONSHOT_API_KEY": ("api.moonshot.ai", "api.moonshot.cn"),
    "NVIDIA_API_KEY": ("integrate.api.nvidia.com",),
    "OPENAI_API_KEY": ("api.openai.com",),
    "OPENROUTER_API_KEY": ("openrouter.ai",),
    "PERPLEXITY_API_KEY": ("api.perplexity.ai",),
    "TOGETHER_API_KEY": ("api.together.xyz", "api.together.ai"),
    "XAI_API_KEY": ("api.x.ai",),
    "ZAI_API_KEY": ("api.z.ai",),
}
"""The variables of well-known providers, and the hosts that each may be sent to. `CRAFTSCOPE_KEYS` adds to these."""

_KEY_PAIRS: Final = "CRAFTSCOPE_KEYS"
_PAIR: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(\S+)")
# Settings of ours may hold a password of another service.
_OUR_NAMES: Final = re.compile(r"CRAFTSCOPE_", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Settings:
    """What the surroundings decide.

    data_dir: where the database and the worker logs live, outside the program's own tree.
    db_url: an SQLAlchemy URL; None means the SQLite file `craftscope.db` in `data_dir`.
    max_workers: how many episodes run at once on this machine.
    """

    data_dir: Path
    db_url: str | None = field(repr=False)  # it may hold a password
    max_workers: int

    @property
    def log_dir(self) -> Path:
        """Where worker processes write their logs."""
        return self.data_dir / "logs"


def load_settings() -> Settings:
    """Read `CRAFTSCOPE_DATA_DIR`, `CRAFTSCOPE_DB_URL` and `CRAFTSCOPE_MAX_WORKERS`.

    Raises InvalidConfig where a value is invalid, in `CRAFTSCOPE_KEYS` too.
    """
    key_hosts()
    return Settings(
        data_dir=_data_dir(os.environ.get("CRAFTSCOPE_DATA_DIR")),
        db_url=os.environ.get("CRAFTSCOPE_DB_URL") or None,
        max_workers=_max_workers(os.environ.get("CRAFTSCOPE_MAX_WORKERS")),
    )


def worker_environment(settings: Settings) -> dict[str, str]:
    """The environment for a worker process: this one's, with the settings spelled out."""
    environment = dict(os.environ)
    environment["CRAFTSCOPE_DATA_DIR"] = str(settings.data_dir)
    environment["CRAFTSCOPE_MAX_WORKERS"] = str(settings.max_workers)
    if settings.db_url is not None:
        environment["CRAFTSCOPE_DB_URL"] = settings.db_url
    return environment


def key_hosts() -> dict[str, tuple[str, ...]]:
    """The hosts, as they were written, that each key may be sent to, by the name of the key's variable.

    A name in `CRAFTSCOPE_KEYS` (`OPENAI_API_KEY=api.openai.com, LAB_KEY=models.lab.example:8000`) may stand there
    several times, and replaces the built-in pairs of that name. Raises InvalidConfig.
    """
    return {**PROVIDER_KEYS, **_key_pairs(os.environ.get(_KEY_PAIRS, ""))}


def add_key_hosts(table: Mapping[str, str | Sequence[str]]) -> None:
    """Add the `[keys]` table of Streamlit's secrets to `CRAFTSCOPE_KEYS`, so that workers inherit it.

    table: the host of each variable, or a list of hosts. Raises InvalidConfig.
    """
    lists = {name: [given] if isinstance(given, str) else given for name, given in table.items()}
    written = [f"{name}={host}" for name, hosts in lists.items() for host in hosts]
    pairs = {**_key_pairs(", ".join(written)), **_key_pairs(os.environ.get(_KEY_PAIRS, ""))}
    os.environ[_KEY_PAIRS] = ", ".join(f"{name}={host}" for name, hosts in pairs.items() for host in hosts)


def read_key(name: str) -> str:
    """The key in the environment variable `name`; empty where it is not set.

    No variable is read that is not in `key_hosts()`. Raises InvalidConfig.
    """
    return os.environ.get(name, "").strip() if name in key_hosts() else ""


def model_hosts() -> tuple[str, ...]:
    """The hosts that may be asked for a model, from `CRAFTSCOPE_MODEL_HOSTS` (commas between); none means any."""
    return tuple(filter(None, (name.strip() for name in os.environ.get("CRAFTSCOPE_MODEL_HOSTS", "").split(","))))


def _key_pairs(text: str) -> dict[str, tuple[str, ...]]:
    pairs: dict[str, tuple[str, ...]] = {}
    entries = [entry.strip() for entry in text.replace("\n", ",").split(",")]
    for number, entry in enumerate(filter(None, entries), 1):
        found = _PAIR.fullmatch(entry)
        if found is None or _OUR_NAMES.match(entry):
            # The entry itself is not shown: it may be a key that was written here by mistake.
            raise InvalidConfig(
                f"Entry {number} of {_KEY_PAIRS} is not a pair of a variable's name and a host. Write pairs such as "
                "OPENAI_API_KEY=api.openai.com, with commas between, and never a key itself."
            )
        name, host = found.groups()
        pairs[name] = tuple(dict.fromkeys((*pairs.get(name, ()), host)))
    return pairs


def proxy_for(scheme: str, host: str) -> str | None:
    """The URL of the proxy for requests to a host: `HTTPS_PROXY`, `HTTP_PROXY` or `ALL_PROXY`, unless `NO_PROXY` names
    the host, written in capitals or not. None: it is reached directly.
    """
    proxies = urllib.request.getproxies_environment()
    if urllib.request.proxy_bypass(host):
        return None
    proxy = proxies.get(scheme) or proxies.get("all")
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


def _data_dir(text: str | None) -> Path:
    if text is None:
        return _data_home() / "craftscope"
    if not text.strip():
        raise InvalidConfig(
            "CRAFTSCOPE_DATA_DIR is set and empty; give the whole path of a folder, or unset it for "
            "~/.local/share/craftscope."
        )
    try:
        folder = Path(text).expanduser()
    except RuntimeError as error:
        raise InvalidConfig(
            f"CRAFTSCOPE_DATA_DIR is {text!a}, and there is no such user to take the home of; give the whole path of a "
            "folder."
        ) from error
    if not folder.is_absolute():
        # It would mean another folder, and seemingly lost episodes, wherever the program is started next.
        raise InvalidConfig(
            f"CRAFTSCOPE_DATA_DIR is {text!a}, a path that depends on the current folder; give the whole path, such as "
            f"{ascii(str(folder.absolute()))[1:-1]}."
        )
    if "\0" in text or not _is_utf_8(text):
        raise InvalidConfig(
            f"CRAFTSCOPE_DATA_DIR is {text!a}, which has a NUL or bytes that are not UTF-8 in it; SQLite cannot "
            "open files there, so give another folder."
        )
    return folder


def _data_home() -> Path:
    given = os.environ.get("XDG_DATA_HOME", "")
    if Path(given).is_absolute() and _is_utf_8(given):  # its specification: anything else is to be ignored
        return Path(given)
    try:
        home = Path.home()
    except RuntimeError as error:
        raise InvalidConfig(
            "Your home folder is not known here, so the data folder is not either; set CRAFTSCOPE_DATA_DIR to the "
            "whole path of a folder."
        ) from error
    if not home.is_absolute() or not _is_utf_8(str(home)):
        raise InvalidConfig(
            f"HOME is {str(home)!a}, which is no whole path in UTF-8; set CRAFTSCOPE_DATA_DIR to the whole path of a "
            "folder."
        )
    return home / ".local" / "share"


def _is_utf_8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a name in other bytes arrives with half surrogates in their place
        return False
    return True


def _max_workers(text: str | None) -> int:
    if not text:
        return os.cpu_count() or 1
    try:
        count = int(text)
    except ValueError:
        count = 0
    if count < 1:
        raise InvalidConfig(
            f"CRAFTSCOPE_MAX_WORKERS is {text!r}; give a whole number of 1 or more, or leave it unset "
            "for one worker a core."
        )
    return count
