"""The process that listens, and how it ends."""

from __future__ import annotations

import logging
import signal
import threading
from dataclasses import replace
from types import FrameType
from typing import Final

import uvicorn

from core.requests import MAX_BYTES
from core.service.routes import service_app
from core.service.state import Service
from core.settings import ServiceSettings, Settings, is_loopback
from core.store import TraceStore

_LINGER_S: Final = 60.0
_GRACE_S: Final = 30  # for decisions that are awaited at a shutdown

_log = logging.getLogger("core.service")


def serve(store: TraceStore, settings: Settings, service: ServiceSettings, host: str, port: int) -> int:
    """Answer requests until SIGTERM or SIGINT: then nothing new is accepted, decisions are finished, and what is left
    of the rollouts is interrupted. Returns the exit code."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    if not service.keys:
        _log.warning("CRAFTSCOPE_SERVICE_KEY is not set: routes that need a key answer 503.")
    if not is_loopback(host):
        _log.warning(
            "Listening on %s, where others on the network can call it, without encryption: put a proxy with TLS in "
            "front of it, and name its host in CRAFTSCOPE_SERVICE_HOSTS.",
            host,
        )
    shared = Service(store, replace(settings, worker_linger_s=_LINGER_S), service)
    # A proxy that hands on another host name makes a port of loopback public.
    is_open = is_loopback(host) and all(map(is_loopback, service.hosts))
    app = service_app(shared, is_open=is_open)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        timeout_graceful_shutdown=_GRACE_S,
        ws_max_size=MAX_BYTES,
        access_log=not service.openenv_token,  # it is part of paths
    )
    server = _Server(config, shared.shutting_down)
    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises it once more when it is done
        signal.signal(number, _nothing)
    server.run()
    return 0 if server.started else 2


def _nothing(number: int, frame: FrameType | None) -> None: ...


class _Server(uvicorn.Server):
    """Tells the routes that the process was asked to end."""

    def __init__(self, config: uvicorn.Config, shutting_down: threading.Event) -> None:
        super().__init__(config)
        self._shutting_down = shutting_down

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._shutting_down.set()
        super().handle_exit(sig, frame)
