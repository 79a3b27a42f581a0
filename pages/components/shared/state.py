"""The settings and the store, for every page. All state is in the store, not in memory."""

from __future__ import annotations

from typing import NoReturn

import streamlit as st

from core.errors import CraftscopeError, InvalidConfig, StoreCorrupt, StoreError, StoreReadOnly, StoreTooNew
from core.settings import Settings, add_key_hosts, load_settings
from core.store import TraceStore
from pages.components.text.escape import escape, safe_text

_MAX_ERROR_LENGTH = 2_000


def settings() -> Settings:
    """The current settings. An invalid one stops the page with a message."""
    # Streamlit exports secrets at the root of its file as environment variables, so workers get the keys too.
    has_secrets = st.secrets.load_if_toml_exists()
    try:
        if has_secrets:
            add_key_hosts(st.secrets.get("keys", {}))
        return load_settings()
    except InvalidConfig as error:
        stop_with("Invalid setting", error)


def store() -> TraceStore:
    """The store of the settings. If it cannot be opened, the page stops with a message that says what to do."""
    try:
        return _open(settings())
    except (StoreError, InvalidConfig) as error:
        stop_with(_STORE_TITLES.get(type(error), "Cannot open the trace store"), error)


def show_read_only() -> None:
    """A banner for every page if the store cannot be written, with the reason."""
    if store().read_only:
        st.warning(escape(f"Read-only. {store().read_only_reason}"))


def stop_with(title: str, error: CraftscopeError) -> NoReturn:
    """Show an error and stop the page."""
    with st.container(border=True):
        st.subheader(title)
        st.text(safe_text(str(error), _MAX_ERROR_LENGTH))
        if st.button("Try again", type="primary", key="try_again"):
            st.rerun()
    st.stop()
    raise AssertionError("st.stop() returned")


_STORE_TITLES = {
    StoreCorrupt: "The trace database is corrupt",
    StoreReadOnly: "The trace database is read-only and must be migrated",
    StoreTooNew: "The trace database was written by a newer version of Craftscope",
}


@st.cache_resource(show_spinner=False)
def _open(current: Settings) -> TraceStore:
    return TraceStore.from_settings(current)
