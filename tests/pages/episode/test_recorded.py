"""The pages over an episode that another program's agent played."""

from __future__ import annotations

from pathlib import Path

import crafter
import pytest

from core.env import CrafterEnv
from core.imports import Report, import_file
from core.record import RecordEpisodes
from core.settings import load_settings
from core.store import TraceStore
from tests.support import pages
from tests.support.pages import captions, page_links, texts

TABS = ("Reward", "Ledger", "Tool call", "Timing", "State", "Map", "Audit", "Potential")


@pytest.fixture
def recorded_by_agent(data_dir: Path) -> TraceStore:
    """An episode of CrafterEnv with numbers, and one of upstream's environment."""
    store = TraceStore.from_settings(load_settings())
    for env in (CrafterEnv(area=(24, 24), length=8), crafter.Env(area=(24, 24), length=8, seed=1)):
        agent = RecordEpisodes(env, store, "my *ppo*")
        agent.reset()
        for number in range(8):
            agent.note(value=number / 2, entropy=1.5)
            agent.step(5 if number % 2 else 1)
        agent.close()
    return store


@pytest.mark.parametrize("tab", TABS)
def test_a_recorded_episode_opens_in_every_tab(recorded_by_agent: TraceStore, tab: str):
    for row in recorded_by_agent.episodes.page().rows:
        at = pages.opened("episode", state=None, id=row.id, tab=tab, step="3")
        assert "recorded from another program" in captions(at)
        assert [each.label for each in at.tabs if each.label in (*TABS, "Model")] == list(TABS)
        if tab == "Reward":
            assert any(chart.key and "agent-" in str(chart.key) for chart in at.get("plotly_chart"))
        if tab == "Tool call":
            assert "Executed: move left." in texts(at) or "Executed: do." in texts(at)


def test_its_replay_is_proved_or_the_page_says_why_not(recorded_by_agent: TraceStore):
    upstream, ours = recorded_by_agent.episodes.page().rows
    for row, sentence in (
        (ours, "Replay exact: all 8 steps match"),
        (upstream, "No proof: it was not played by this engine"),
    ):
        at = pages.opened("episode", id=row.id)
        at.button(key="check-replay").click().run()
        assert any(text.startswith(sentence) for text in texts(at))


def test_it_is_listed_and_takes_part_in_the_lab(recorded_by_agent: TraceStore):
    for page in ("traces", "lab", "run"):
        at = pages.opened(page)
        assert not at.error
    at = pages.opened("run", id=recorded_by_agent.runs.newest().rows[0].id)
    assert "recorded from another program" in captions(at)
    assert not any("Launch again" in str(link) for link in page_links(at))


def test_an_episode_without_frames_says_so(data_dir: Path):
    store = TraceStore.from_settings(load_settings())
    import_file(store, Path(__file__).parents[2] / "data" / "synth_tracing_v3.db", Report())
    (row,) = store.episodes.page().rows
    for tab in ("Model", "Reward", "Ledger", "State", "Map", "Audit"):
        at = pages.opened("episode", state=None, id=row.id, tab=tab)
        assert "No frames were recorded of this episode." in texts(at)
    assert "imported" in captions(pages.opened("run", id=row.run_id))
    assert not pages.opened("lab").error
