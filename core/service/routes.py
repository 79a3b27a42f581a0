"""The whole service: all routes behind the guard."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.types import ASGIApp

from core.service import environments, information, policies, proxy, rollouts
from core.service.app import make_app
from core.service.guard import OPENENV, Guard
from core.service.mount import OpenEnvMount
from core.service.state import Service


def service_app(service: Service, *, is_open: bool) -> ASGIApp:
    """is_open: is reached on loopback only, so that OpenEnv's clients, which send no key, may call it.

    Elsewhere OpenEnv is served under its token, if there is one.
    """
    app = make_app(service, add_routes)
    token = service.service.openenv_token
    if is_open or token:
        app.mount(OPENENV if is_open else f"{OPENENV}/{token}", OpenEnvMount(service.service))
    return Guard(app, service.service)


def add_routes(app: FastAPI) -> None:
    for router in (
        information.public,
        information.router,
        rollouts.router,
        environments.router,
        environments.branching,
        policies.router,
        proxy.router,
    ):
        app.include_router(router)
