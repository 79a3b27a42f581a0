"""No page shows a piece of a key, however calls failed; keys in Streamlit's secrets are found."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit import config
from streamlit.testing.v1 import AppTest

from core.settings import Settings, load_settings, read_key
from core.store import DecisionSummary, TraceStore
from core.types import ModelProfile
from tests.support.launch_page import described, query_value
from tests.support.launch_page import opened as opened_launch
from tests.support.launches import wait_until_over
from tests.support.model.episodes import EPISODE, KEY, RUN, record, thinks
from tests.support.model.server import ModelServer, Reply, calls, says
from tests.support.pages import checked, opened

KEY_NAME = "A_MODELS_KEY"

# Answers that echo the key in every place that is stored; the last one ends the episode.
FAULTS: list[Reply] = [
    says(thinks("noop", KEY, reasoning=f"my key is {KEY}", content=KEY), x_request_id=KEY, x_ratelimit_key=KEY),
    says({**thinks("noop"), "model": KEY}),
    says({"choices": [{"message": {"content": f"the key {KEY[:9]}...{KEY[-7:]}"}, "finish_reason": KEY}]}),
    says({"choices": [], "note": KEY}),
    says(f"<html>{KEY}</html>", 502, x_request_id=KEY[3:12]),
    says({"error": {"message": f"{KEY} is sent too often", "code": KEY}}, 429, Retry_After="0"),
    says({"error": {"message": f"{KEY[:12]} asks for too much", "code": "context_length_exceeded"}}, 400),
    says({"error": {"message": f"Incorrect API key provided: {KEY}.", "type": KEY}}, 401),
]


def everything(at: AppTest) -> str:
    """All that is sent to the browser, and the session state."""
    sent = "\n".join(str(element.proto) for element in (*at.main, *at.sidebar))
    return f"{sent}\n{at.session_state!r}\n{at.query_params}"


def pieces(text: str) -> list[str]:
    return [KEY[at : at + 6] for at in range(len(KEY) - 5) if KEY[at : at + 6] in text]


@pytest.fixture(scope="module")
def failed_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with an episode in which every call failed in another way, each answer echoing the key."""
    folder = tmp_path_factory.mktemp("failed")
    with TraceStore.from_settings(Settings(folder, None, 1)) as store:
        store.seeds.save(described(0, trees=12))
        store.profiles.save(ModelProfile("local", "http://127.0.0.1:9", "tiny-model", KEY_NAME))
        record(
            store,
            FAULTS,
            decisions=len(FAULTS),
            key_name=KEY_NAME,
            key=KEY,
            profile="local",
            on_bad_call="noop",
            http_retries=0,
        )
        decisions = store.episodes.load(EPISODE).decisions
        assert len(decisions) == len(FAULTS) and decisions[-1].error is not None
    return folder


@pytest.fixture
def failed(data_dir: Path, failed_folder: Path) -> Iterator[TraceStore]:
    """The pages' own copy of that folder, as a store."""
    shutil.copytree(failed_folder, data_dir, dirs_exist_ok=True)
    with TraceStore.from_settings(load_settings()) as store:
        yield store


def test_the_search_finds_a_piece(failed: TraceStore):
    assert pieces(f"x{KEY[4:10]}y") == [KEY[4:10]]
    assert "tiny-model" in everything(opened("episode", id=EPISODE, tab="Model"))


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("run", {"id": RUN}),
        ("run", {}),
        ("traces", {"run": RUN}),
        ("launch", {"by": "llm", "profile": "local"}),
        ("present", {"id": EPISODE}),
    ],
)
def test_no_page_shows_a_piece_of_a_key(
    failed: TraceStore, page: str, query: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(KEY_NAME, KEY)  # the dashboard has it
    assert pieces(everything(opened(page, **query))) == []


def opened_episode(tab: str, decision: DecisionSummary) -> AppTest:
    at = opened("episode", state={"tab": tab}, id=EPISODE, step=str(decision.step_end))
    if decision.step_end == decision.step_start:  # one without a step has no frame of its own
        at.number_input(key=f"decision-{EPISODE}").set_value(decision.index)
        checked(at.button(key=f"go-{EPISODE}").click().run())
    return at


@pytest.mark.parametrize("tab", ["Model", "Tool call"])
def test_no_call_of_the_episode_shows_a_piece_of_the_key(failed: TraceStore, tab: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(KEY_NAME, KEY)
    for decision in failed.episodes.decisions(EPISODE):
        assert pieces(everything(opened_episode(tab, decision))) == [], f"decision {decision.index}"


def test_no_other_tab_of_the_episode_shows_a_piece_of_the_key(failed: TraceStore, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(KEY_NAME, KEY)
    last = failed.episodes.decisions(EPISODE)[-1]
    tabs = [tab.label for tab in opened_episode("Reward", last).tabs]
    assert "Timing" in tabs
    for tab in tabs:
        assert pieces(everything(opened_episode(tab, last))) == [], tab


def test_a_failed_connection_test_shows_no_piece_of_the_key(failed: TraceStore, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(KEY_NAME, KEY)
    for fault in FAULTS:
        with ModelServer([fault]) as server:
            monkeypatch.setenv("CRAFTSCOPE_KEYS", f"{KEY_NAME}={server.host}")
            failed.profiles.save(ModelProfile("local", server.url, "tiny-model", KEY_NAME))
            at = opened("launch", by="llm", profile="local")
            checked(at.button(key="launch_llm_try").click().run())
            assert server.requests[0][1]["authorization"] == f"Bearer {KEY}"
        assert pieces(everything(at)) == []


# --------------------------------------------------------------------------------------- Streamlit's own secrets


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A server whose key is in a secrets file and nowhere else."""
    monkeypatch.delenv(KEY_NAME, raising=False)
    monkeypatch.setenv("CRAFTSCOPE_KEYS", "")
    before = config.get_option("secrets.files")
    with ModelServer([says(calls("noop"))]) as server:
        file = tmp_path / "secrets.toml"
        file.write_text(f'{KEY_NAME} = "{KEY}"\n[keys]\n{KEY_NAME} = "{server.host}"\n', encoding="utf-8")
        st.secrets._reset()
        config.set_option("secrets.files", [str(file)])
        yield server
    st.secrets._reset()  # takes the key out of the environment again
    config.set_option("secrets.files", before)


def test_a_key_and_its_host_in_streamlits_secrets_are_found(data_dir: Path, server: ModelServer):
    with TraceStore.from_settings(load_settings()) as store:
        store.seeds.save(described(0, trees=12))
        store.profiles.save(ModelProfile("local", server.url, "tiny-model", KEY_NAME))
        assert read_key(KEY_NAME) == ""  # before the page reads the secrets
        at = opened_launch("0", by="llm", profile="local", max_decisions="1")
        assert at.selectbox(key="launch_param_llm_key_name").value == KEY_NAME
        checked(at.button(key="launch_llm_try").click().run())
        assert server.requests[0][1]["authorization"] == f"Bearer {KEY}"
        assert pieces(everything(at)) == []

        at.button(key="launch_now").click().run()  # a worker finds it too
        (summary,) = wait_until_over(store, query_value(at, "id"))
        assert summary.n_decisions == 1 and summary.error is None
        assert server.requests[1][1]["authorization"] == f"Bearer {KEY}"
        assert pieces(repr(store.episodes.load(summary.id)) + repr(store.runs.get(summary.run_id))) == []
