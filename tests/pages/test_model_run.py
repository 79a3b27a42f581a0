"""The run page of a model's episode: its last decision, what was spent, and a budget that is used up."""

from __future__ import annotations

from pathlib import Path

from streamlit.testing.v1 import AppTest

from core.settings import load_settings
from core.store import TraceStore
from tests.pages.conftest import ROOT
from tests.pages.model_episodes import HOSTILE, RUN, record, thinks
from tests.policies.llm.server import says


def opened() -> AppTest:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    at.query_params["id"] = RUN
    at.run()
    at = at.switch_page("pages/run.py").run()
    assert not at.exception
    return at


def texts(at: AppTest) -> list[str]:
    return [element.value for element in at.text]


def test_the_last_decision_and_what_was_spent_are_said(data_dir: Path):
    with TraceStore.from_settings(load_settings()) as store:
        record(store, [says(thinks("move_left", "do", reasoning=HOSTILE * 20))])
    at = opened()
    assert any(text.startswith("Model calls so far: 3 · 360 tokens · cost n/a") for text in texts(at))
    (reasoning,) = [text for text in texts(at) if text.startswith(HOSTILE)]
    assert len(reasoning) <= 280
    assert "→ move_left, do" in texts(at)
    assert any("Decision 2 · 100 tokens in, 20 out" in caption.value for caption in at.caption)
    assert not any("example.org" in element.value for element in (*at.markdown, *at.caption))


def test_a_budget_that_is_used_up_is_said(data_dir: Path):
    with TraceStore.from_settings(load_settings()) as store:
        record(store, budget={"max_calls": 3, "max_tokens": None, "max_cost_usd": None})
    at = opened()
    assert any(text.endswith("budget: 3 calls") for text in texts(at))
    assert any("budget used up" in str(element.proto) for element in (*at.get("badge"), *at.markdown))


def test_a_run_without_a_model_says_nothing_of_one(recorded: TraceStore):
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    at.query_params["id"] = "f" * 32
    at.run()
    at = at.switch_page("pages/run.py").run()
    assert not at.exception
    assert not any("Model calls" in text for text in texts(at))


def test_a_budget_of_another_shape_is_passed_over(data_dir: Path):
    with TraceStore.from_settings(load_settings()) as store:
        record(store, budget={"max_calls": "many"})
    assert any(text.endswith("cost n/a") for text in texts(opened()))
