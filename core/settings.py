"""The only reader of environment variables."""

from __future__ import annotations

import ipaddress
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
"""The key variables of well-known providers, and the hosts that each key may be sent to."""

_LINGER: Final = "CRAFTSCOPE_WORKER_LINGER_S"  # from a service to the workers that it starts
_KEY_PAIRS: Final = "CRAFTSCOPE_KEYS"
_PAIR: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(\S+)")
# Settings of ours may hold a password of another service.
_OUR_NAMES: Final = re.compile(r"CRAFTSCOPE_", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Settings:
    """data_dir: absolute; holds the database and the worker logs.
    db_url: an SQLAlchemy URL; None: the SQLite file `craftscope.db` in `data_dir`.
    max_workers: how many episodes run at once on this machine.
    worker_linger_s: how long a worker that has nothing to do waits for more before it ends.
    """

    data_dir: Path
    db_url: str | None = field(repr=False)  # it may hold a password
    max_workers: int
    worker_linger_s: float = 0.0

    @property
    def log_dir(self) -> Path:
        return self.data_dir / "logs"


def load_settings() -> Settings:
    """Read `CRAFTSCOPE_DATA_DIR`, `CRAFTSCOPE_DB_URL` and `CRAFTSCOPE_MAX_WORKERS`.

    Raises InvalidConfig for an invalid value, in `CRAFTSCOPE_KEYS` too.
    """
    key_hosts()
    return Settings(
        data_dir=_data_dir(os.environ.get("CRAFTSCOPE_DATA_DIR")),
        db_url=os.environ.get("CRAFTSCOPE_DB_URL") or None,
        max_workers=_max_workers(os.environ.get("CRAFTSCOPE_MAX_WORKERS")),
        worker_linger_s=float(os.environ.get(_LINGER, "0")),
    )


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Settings of `python -m core.service`.

    keys: any of them is accepted. hosts: names under which it may be called, besides loopback's. origins: web pages
    that may call it. max_rollouts: at once, those that wait for a worker included. max_handles: live environments,
    snapshots and policies, each. openenv_token: part of OpenEnv's path where the service does not listen on loopback.
    openai_url, groq_url: where the proxies send requests to.
    default_seed, max_seed, area (cells), length (steps): the dataset's.
    """

    keys: tuple[str, ...] = field(default=(), repr=False)
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    max_rollouts: int = 32
    max_handles: int = 256
    openenv_token: str = field(default="", repr=False)
    openai_url: str = "https://api.openai.com/v1"
    groq_url: str = "https://api.groq.com/openai/v1"
    default_seed: int = 42
    max_seed: int = 2**31 - 1
    area: tuple[int, int] = (64, 64)
    length: int = 10_000


def load_service_settings() -> ServiceSettings:
    """Read `CRAFTSCOPE_SERVICE_*`, and `CRAFTER_*` for the dataset. Raises InvalidConfig."""
    defaults = ServiceSettings()
    max_seed = _whole_number("CRAFTER_MAX_SEED", defaults.max_seed, 0, 2**31 - 1)
    return ServiceSettings(
        keys=_listed("CRAFTSCOPE_SERVICE_KEY"),
        hosts=tuple(host.lower() for host in _listed("CRAFTSCOPE_SERVICE_HOSTS")),
        origins=_listed("CRAFTSCOPE_SERVICE_ORIGINS"),
        max_rollouts=_whole_number("CRAFTSCOPE_SERVICE_MAX_ROLLOUTS", defaults.max_rollouts, 1, 10_000),
        max_handles=_whole_number("CRAFTSCOPE_SERVICE_MAX_HANDLES", defaults.max_handles, 1, 100_000),
        openenv_token=os.environ.get("CRAFTSCOPE_SERVICE_OPENENV_TOKEN", "").strip(),
        openai_url=os.environ.get("CRAFTSCOPE_SERVICE_OPENAI_URL") or defaults.openai_url,
        groq_url=os.environ.get("CRAFTSCOPE_SERVICE_GROQ_URL") or defaults.groq_url,
        default_seed=_whole_number("CRAFTER_DEFAULT_SEED", min(defaults.default_seed, max_seed), 0, max_seed),
        max_seed=max_seed,
        area=_area("CRAFTER_AREA", defaults.area),
        length=_whole_number("CRAFTER_EPISODE_LENGTH", defaults.length, 1, 1_000_000_000),
    )


def _listed(name: str) -> tuple[str, ...]:
    """The values of a comma-separated variable."""
    return tuple(filter(None, (part.strip() for part in os.environ.get(name, "").split(","))))


def _whole_number(name: str, default: int, low: int, high: int) -> int:
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    number = int(text) if re.fullmatch(r"[0-9]{1,18}", text) else -1
    if not low <= number <= high:
        raise InvalidConfig(f"{name} is {text!r}. Set a whole number from {low:,} to {high:,}, or unset it.")
    return number


def _area(name: str, default: tuple[int, int]) -> tuple[int, int]:
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    found = re.fullmatch(r"([0-9]{1,6})\s*[x,]\s*([0-9]{1,6})", text)
    if found is None:
        raise InvalidConfig(f"{name} is {text!r}. Set width and height in cells, such as 64,64, or unset it.")
    return int(found[1]), int(found[2])


def worker_environment(settings: Settings) -> dict[str, str]:
    """The environment variables of a worker process: this process's, and the settings."""
    environment = dict(os.environ)
    environment["CRAFTSCOPE_DATA_DIR"] = str(settings.data_dir)
    environment["CRAFTSCOPE_MAX_WORKERS"] = str(settings.max_workers)
    environment[_LINGER] = str(settings.worker_linger_s)
    if settings.db_url is not None:
        environment["CRAFTSCOPE_DB_URL"] = settings.db_url
    return environment


def key_hosts() -> dict[str, tuple[str, ...]]:
    """Key variable -> the hosts, as written, that the key may be sent to.

    `CRAFTSCOPE_KEYS` (`OPENAI_API_KEY=api.openai.com, LAB_KEY=models.lab.example:8000`) adds variables and replaces
    the hosts of built-in ones; a name may occur several times. Raises InvalidConfig.
    """
    return {**PROVIDER_KEYS, **written_key_hosts()}


def written_key_hosts() -> dict[str, tuple[str, ...]]:
    """The pairs of `CRAFTSCOPE_KEYS` alone. Raises InvalidConfig."""
    return _key_pairs(os.environ.get(_KEY_PAIRS, ""))


def add_key_hosts(table: Mapping[str, str | Sequence[str]]) -> None:
    """Add the `[keys]` table of Streamlit's secrets to `CRAFTSCOPE_KEYS`, so that workers inherit it.

    table: variable -> host or hosts. Raises InvalidConfig.
    """
    lists = {name: [given] if isinstance(given, str) else given for name, given in table.items()}
    written = [f"{name}={host}" for name, hosts in lists.items() for host in hosts]
    pairs = {**_key_pairs(", ".join(written)), **_key_pairs(os.environ.get(_KEY_PAIRS, ""))}
    os.environ[_KEY_PAIRS] = ", ".join(f"{name}={host}" for name, hosts in pairs.items() for host in hosts)


def read_key(name: str) -> str:
    """The key in the environment variable `name`; empty if it is unset or not in `key_hosts()`.

    Raises InvalidConfig.
    """
    return os.environ.get(name, "").strip() if name in key_hosts() else ""


def model_hosts() -> tuple[str, ...]:
    """The hosts that models may run on, from `CRAFTSCOPE_MODEL_HOSTS` (comma-separated); empty: any host."""
    return _listed("CRAFTSCOPE_MODEL_HOSTS")


def _key_pairs(text: str) -> dict[str, tuple[str, ...]]:
    pairs: dict[str, tuple[str, ...]] = {}
    entries = [entry.strip() for entry in text.replace("\n", ",").split(",")]
    for number, entry in enumerate(filter(None, entries), 1):
        found = _PAIR.fullmatch(entry)
        if found is None or _OUR_NAMES.match(entry):
            # The entry is not shown: it may be a key.
            raise InvalidConfig(
                f"Entry {number} of {_KEY_PAIRS} is not VARIABLE=host. Write comma-separated pairs such as "
                "OPENAI_API_KEY=api.openai.com, and never a key itself."
            )
        name, host = found.groups()
        pairs[name] = tuple(dict.fromkeys((*pairs.get(name, ()), host)))
    return pairs


def proxy_for(scheme: str, host: str) -> str | None:
    """The proxy's URL from `HTTPS_PROXY`, `HTTP_PROXY` or `ALL_PROXY` (upper or lower case); None if there is no proxy
    or `NO_PROXY` names the host.
    """
    proxies = urllib.request.getproxies_environment()
    if urllib.request.proxy_bypass(host):
        return None
    proxy = proxies.get(scheme) or proxies.get("all")
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


def is_loopback(host: str) -> bool:
    """Whether a host name or address (IPv6 without brackets) means this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _data_dir(text: str | None) -> Path:
    if text is None:
        home = os.environ.get("XDG_DATA_HOME", "")
        # The XDG specification: a relative path is ignored.
        text = f"{home if Path(home).is_absolute() else '~/.local/share'}/craftscope"
    try:
        folder = Path(text).expanduser()
    except RuntimeError as error:
        raise InvalidConfig(
            f"The home folder in {text!r} is unknown. Set CRAFTSCOPE_DATA_DIR to an absolute path."
        ) from error
    if not folder.is_absolute():
        # It would mean another folder wherever the program is started next, and episodes would seem lost.
        raise InvalidConfig(
            f"The data folder is {str(folder)!r}, a relative path. Set CRAFTSCOPE_DATA_DIR to an absolute path, "
            f"such as {str(folder.absolute())!r}."
        )
    return folder


def _max_workers(text: str | None) -> int:
    if not text:
        return os.cpu_count() or 1
    try:
        count = int(text)
    except ValueError:
        count = 0
    if count < 1:
        raise InvalidConfig(
            f"CRAFTSCOPE_MAX_WORKERS is {text!r}. Set a whole number of 1 or more, or unset it for one worker per core."
        )
    return count
