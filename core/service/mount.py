"""OpenEnv beside the other routes."""

from __future__ import annotations

import asyncio
import importlib

from starlette.types import ASGIApp, Receive, Scope, Send

from core.settings import ServiceSettings
from core.types import EnvConfig


class OpenEnvMount:
    """OpenEnv's application, made when it is first called: its package takes seconds and over 100 MB to load."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._app: ASGIApp | None = None
        self._lock = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._lock:
            if self._app is None:
                self._app = await asyncio.to_thread(self._load)
        await self._app(scope, receive, send)

    def _load(self) -> ASGIApp:
        module = importlib.import_module("core.integrations.openenv")
        config = EnvConfig(self._settings.area, length=self._settings.length)
        return module.openenv_app(
            config, default_seed=self._settings.default_seed, max_sessions=self._settings.max_handles
        )
