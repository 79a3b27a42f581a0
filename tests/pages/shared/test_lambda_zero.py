"""Every page that shows a reward configuration with lambda 0 says that it counts as 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import streamlit as st

from core.rewards import to_changes
from core.settings import load_settings
from core.store import TraceStore
from core.types import RewardConfig
from tests.support.lab_episodes import FARMED, HONEST, record_changes
from tests.support.pages import html, opened, said

ZERO = RewardConfig("per_achievement", indicator_lambda=0.0)


@pytest.fixture
def played(data_dir: Path) -> None:
    """An episode with lambda 0, and one with the default configuration."""
    with TraceStore.from_settings(load_settings()) as store:
        record_changes(store, "zero0001", HONEST, reward=ZERO)
        record_changes(store, "other001", FARMED, policy="farmer", minutes=-1)


@pytest.fixture
def first_row_selected(monkeypatch: pytest.MonkeyPatch) -> None:
    """AppTest cannot select a row of a table."""
    draw = st.dataframe

    def drawn(*arguments: Any, **options: Any) -> Any:
        draw(*arguments, **options)
        return {"selection": {"rows": [0], "columns": []}}

    monkeypatch.setattr(st, "dataframe", drawn)


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("launch", {"rewards": to_changes(ZERO)}),
        ("run", {"id": "run-of-zero0001"}),
        ("traces", {}),
        ("episode", {"id": "zero0001"}),
        ("lab", {"rewards": to_changes(ZERO)}),
        ("lab", {"view": "Policies"}),
        ("lab", {"view": "Audit"}),
    ],
    ids=["launch", "run", "traces", "episode", "lab", "policies", "audit"],
)
def test_lambda_zero_counts_as_one(played: None, first_row_selected: None, page: str, query: dict[str, str]):
    at = opened(page, state=None, **query)
    shown = [said(at), *html(at), *(expander.label for expander in at.expander)]
    assert any("(0 counts as 1)" in text or "Lambda 0 counts as 1" in text for text in shown)
