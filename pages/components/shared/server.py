"""What the dashboard's server does once, before it answers: who may open it, and what its log says about that."""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import streamlit as st
from streamlit import config

_HOSTS = "server.allowedHosts"
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
_log = logging.getLogger(__name__)


@asynccontextmanager
async def starting(app: st.App) -> AsyncGenerator[None]:
    """Runs when the server starts."""
    address = str(config.get_option("server.address") or "0.0.0.0")
    # A page of another site can point its own name at this machine, and would then talk to the server as if it were
    # ours: Streamlit refuses each connection whose Host is not in this list. An option that adds a host replaces the
    # list of the configuration file, so that our own are added here again.
    shown = [str(config.get_option("browser.serverAddress"))] if config.is_manually_set("browser.serverAddress") else []
    given = (*_THIS_MACHINE, address, *shown, *config.get_option(_HOSTS))
    hosts = list(dict.fromkeys(host.strip("[]") for host in given))  # Streamlit compares IPv6 without brackets
    config.set_option(_HOSTS, hosts)
    if not _is_loopback(address):
        _log.warning(
            "Craftscope listens on %s and has no login: everyone who reaches port %s can see, launch and delete "
            'everything, and use the API keys that are set. Put a login in front (st.login or a proxy): see "Open it '
            'to others" in the README. Browsers can open it as %s; add a name with --server.allowedHosts NAME.',
            address,
            config.get_option("server.port"),
            ", ".join(hosts),
        )
    yield


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return address == "localhost"
