"""A store that cannot be written: every page says so, shows what is stored, and offers nothing that would write."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st

from pages.components.launch.state import LAUNCH_BUTTON
from tests.support.pages import opened
from tests.support.unprivileged import reachable_folder, unprivileged


@pytest.fixture
def protected(recorded_folder: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The recorded database in a folder that cannot be written."""
    with reachable_folder() as folder:
        shutil.copy(recorded_folder / "craftscope.db", folder / "craftscope.db")
        (folder / "craftscope.db").chmod(0o444)
        folder.chmod(0o555)
        monkeypatch.setenv("CRAFTSCOPE_DATA_DIR", str(folder))
        monkeypatch.setattr(os, "access", _access_without_root())
        yield
        st.cache_resource.clear()


def _access_without_root():
    """Pages run in a thread of their own and read files that only their owner may; so only the question is asked as
    another user."""
    ask = os.access

    def access(path: str, mode: int) -> bool:
        with unprivileged():
            return ask(path, mode)

    return access


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("traces", {}),
        ("launch", {}),
        ("run", {"id": "f" * 32}),
        ("lab", {}),
        ("episode", {"id": "1" * 32}),
        ("present", {"id": "1" * 32}),
    ],
)
def test_every_page_works_and_says_that_nothing_can_be_written(protected: None, page: str, query: dict[str, Any]):
    at = opened(page, **query)
    shown = [warning.value.replace("\\", "") for warning in at.warning]
    banners = [text for text in shown if text.startswith("Read-only. ")]
    assert len(banners) == 1
    assert "can be read but not written" in banners[0]


def test_nothing_can_be_launched(protected: None):
    assert opened("launch").button(key=LAUNCH_BUTTON).disabled
