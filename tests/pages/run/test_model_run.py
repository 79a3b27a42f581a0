"""The run page for language models: the last decision, spending, and the budget."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from core.settings import load_settings
from core.store import TraceStore
from core.store.episodes import Episodes
from core.types import Spent
from tests.support import pages
from tests.support.model.episodes import HOSTILE, KEY, RUN, record, thinks
from tests.support.model.server import says
from tests.support.pages import html, page_links, texts


def opened() -> AppTest:
    return pages.opened("run", id=RUN)


def test_the_last_decision_and_the_spending_are_shown(data_dir: Path):
    with TraceStore.from_settings(load_settings()) as store:
        record(store, [says(thinks("move_left", "do", reasoning=HOSTILE * 20))])
    at = opened()
    assert any(text.startswith("Model calls: 3 · 360 tokens · cost n/a") for text in texts(at))
    (reasoning,) = [text for text in texts(at) if text.startswith(HOSTILE)]
    assert len(reasoning) <= 280
    assert "→ move left, do" in texts(at)
    assert any("Decision 2 · 100 tokens in, 20 out" in caption.value for caption in at.caption)
    (card,) = cards(at)
    assert (card["Model calls"], card["Tokens"], card["Cost, USD"]) == ("3", "360", "n/a")
    assert not any("example.org" in element.value for element in (*at.markdown, *at.caption))


def cards(at: AppTest) -> list[dict[str, str]]:
    """The figures of each card, by label."""
    figures = [body for body in html(at) if '<div class="cs-figures">' in body]
    return [dict(re.findall(r"<span>(.*?)</span><b>(.*?)</b>", body)) for body in figures]


def launch_link(at: AppTest) -> dict[str, list[str]]:
    return parse_qs(page_links(at)["Launch again →"].query_string)


def test_a_card_shows_the_cost_if_the_price_is_known(data_dir: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("core.policies.llm.policy.cost_usd", lambda **_: 0.0004)
    with TraceStore.from_settings(load_settings()) as store:
        record(store)
    (card,) = cards(opened())
    assert card["Cost, USD"] == "0.00120"


def test_a_card_has_the_same_figures_before_the_first_decision(data_dir: Path, no_workers: None):
    with TraceStore.from_settings(load_settings()) as store:
        record(store, others=1)
    played, waiting = cards(opened())
    assert list(played) == list(waiting)
    assert (waiting["Model calls"], waiting["Tokens"], waiting["Cost, USD"]) == ("0", "0", "n/a")


def test_the_spending_of_all_cards_is_one_query(data_dir: Path, no_workers: None, monkeypatch: pytest.MonkeyPatch):
    with TraceStore.from_settings(load_settings()) as store:
        record(store, others=3)
    asked: list[int] = []
    spent_by = Episodes.spent

    def counted(self: Episodes, episode_ids: Sequence[str]) -> dict[str, Spent]:
        asked.append(len(episode_ids))
        return spent_by(self, episode_ids)

    monkeypatch.setattr(Episodes, "spent", counted)
    at = opened()
    assert len(cards(at)) == 4
    assert asked and set(asked) == {4}


def test_launch_again_holds_only_the_profile_of_the_connection(data_dir: Path):
    with TraceStore.from_settings(load_settings()) as store:
        record(store, profile="my llama", key_name="A_KEY", key=KEY)
    link = launch_link(opened())
    assert link["by"] == ["llm"] and link["profile"] == ["my llama"]
    assert not any(word in str(link) for word in ("127.0.0.1", "tiny-model", "A_KEY"))


def test_a_used_up_budget_is_shown(data_dir: Path):
    with TraceStore.from_settings(load_settings()) as store:
        record(store, budget={"max_calls": 3, "max_tokens": None, "max_cost_usd": None})
    at = opened()
    assert any(text.endswith("budget: 3 calls") for text in texts(at))
    assert any("budget used up" in str(element.proto) for element in (*at.get("badge"), *at.markdown))
