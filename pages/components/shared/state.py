"""The settings and the store, for every page. Nothing is kept in memory that the store does not have."""

from __future__ import annotations

from typing import NoReturn

import streamlit as st

from core.errors import CraftscopeError, InvalidConfig, StoreCorrupt, StoreError, StoreReadOnly, StoreTooNew
from core.settings import Settings, add_key_hosts, load_settings
from core.store import TraceStore
from pages.components.text.escape import escape, safe_text

_MAX_ERROR_LENGTH = 2_000


def settings() -> Settings:
    """The settings, read anew. A value that cannot be used stops the page with a sentence."""
    # What stands at the root of the secrets becomes environment variables: keys, for workers too.
    has_secrets = st.secrets.load_if_toml_exists()
    try:
        if has_secrets:
            add_key_hosts(st.secrets.get("keys", {}))
        return load_settings()
    except InvalidConfig as error:
        stop_with("Invalid setting", error)


def store() -> TraceStore:
    """The store of the settings. One that cannot be opened stops the page with a sentence and what to do."""
    try:
        return _open(settings())
    except (StoreError, InvalidConfig) as error:
        stop_with(_STORE_TITLES.get(type(error), "Cannot open the trace store"), error)


def show_read_only() -> None:
    """A banner with the reason if nothing can be stored, for every page."""
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
