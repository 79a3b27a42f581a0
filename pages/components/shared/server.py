"""Restricts the hosts under which the server answers, and warns in its log if it listens beyond this machine."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import streamlit as st
from streamlit import config

from core.settings import is_loopback

_HOSTS = "server.allowedHosts"
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
_log = logging.getLogger(__name__)


@asynccontextmanager
async def starting(app: st.App) -> AsyncGenerator[None]:
    """Runs when the server starts."""
    address = str(config.get_option("server.address") or "0.0.0.0")
    # Another site can point its own name at this machine (DNS rebinding) and would then talk to the server like our own
    # pages. So Streamlit refuses each connection whose Host is not in this list. A user's option replaces the list of
    # the configuration file, so our own hosts are added here.
    shown = [str(config.get_option("browser.serverAddress"))] if config.is_manually_set("browser.serverAddress") else []
    given = (*_THIS_MACHINE, address, *shown, *config.get_option(_HOSTS))
    hosts = list(dict.fromkeys(host.strip("[]") for host in given))  # Streamlit compares IPv6 without brackets
    config.set_option(_HOSTS, hosts)
    if not is_loopback(address.strip("[]")):
        _log.warning(
            "Craftscope listens on %s and has no login: everyone who reaches port %s can see, launch and delete "
            'everything, and use the API keys that are set. Put a login in front (st.login or a proxy): see "Open it '
            'to others" in the README. Browsers can open it as %s; add a name with --server.allowedHosts NAME.',
            address,
            config.get_option("server.port"),
            ", ".join(hosts),
        )
    yield
