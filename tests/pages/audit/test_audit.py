"""The audit's findings on the episode page and in the Lab, each with a link to its frames."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime

import pytest
from streamlit.testing.v1 import AppTest

from core.analysis.audit import RULES, AuditThresholds
from core.settings import load_settings
from core.store import TraceStore
from core.types import EpisodeSpec, Limits, PolicySpec, QueuedEpisode, RewardConfig, Run
from tests.support.lab_episodes import HONEST as HONEST_CHANGES
from tests.support.lab_episodes import record_changes
from tests.support.launches import record_queue
from tests.support.pages import opened, said

FARMED, HONEST = "a" * 32, "b" * 32


@pytest.fixture(scope="module")
def farmed_and_honest(recorded_folder: object, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with two episodes of one world: one farms water, one plays honestly."""
    path = tmp_path_factory.mktemp("audited") / "traces.db"
    limits = Limits(max_steps=400, max_decisions=400)
    reward = RewardConfig(strategy="per_achievement")
    queued = tuple(
        QueuedEpisode(name, EpisodeSpec(42, policy, 1, reward=reward, limits=limits))
        for name, policy in ((FARMED, PolicySpec("farmer", {"farm": "water"})), (HONEST, PolicySpec("scripted")))
    )
    with TraceStore(f"sqlite:///{path}") as store:
        store.runs.create(Run("f" * 32, datetime.now(UTC), queued, name="Audited"))
        record_queue(store)
    return f"sqlite:///{path}"


@pytest.fixture
def audited(data_dir: object, farmed_and_honest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAFTSCOPE_DB_URL", farmed_and_honest)


def findings(at: AppTest) -> list[str]:
    """The rule names of the findings in the episode itself, in order."""
    names = [element.value.strip("*") for element in at.markdown]
    start, end = names.index("In this episode"), names.index("In its reward configuration")
    return [name for name in names[start + 1 : end] if name in {rule.name for rule in RULES.values()}]


def frame_buttons(at: AppTest) -> list:
    return [button for button in at.button if (button.key or "").startswith("audit-go-")]


def test_a_farmed_episode_shows_what_paid_and_links_to_its_frames(audited: None):
    at = opened("episode", id=FARMED, tab="Audit")
    assert "A loop that pays" in findings(at)
    assert frame_buttons(at), "no link to a frame"
    at = frame_buttons(at)[0].click().run()
    assert not at.exception
    assert at.session_state[f"seek:{FARMED}"]["step"] > 0


def test_an_honest_episode_raises_no_alert(audited: None):
    at = opened("episode", id=HONEST, tab="Audit")
    assert findings(at) == ["Double-counted unlocks"], "a notice, which every honest episode raises"


def test_a_configuration_that_pays_for_a_loop_is_reported(audited: None):
    at = opened("episode", id=HONEST, tab="Audit")
    assert "Drinking" in said(at) and "100 steps" in said(at)


def test_a_configuration_without_an_alert_shows_the_reason(data_dir: object):
    with TraceStore.from_settings(load_settings()) as store:
        record_changes(store, "shaped01", HONEST_CHANGES, reward=RewardConfig("potential_based"))
    assert "configuration is potential-based" in said(opened("lab", view="Audit"))


def test_thresholds_change_the_findings_and_can_be_reset(audited: None):
    at = opened("episode", id=FARMED, tab="Audit")
    assert {widget.key for widget in at.number_input} >= {
        f"audit_param_audit_{spec.name}" for spec in fields(AuditThresholds)
    }
    found = len(frame_buttons(at))
    at.number_input(key="audit_param_audit_loop_repeats").set_value(1_000)
    at = at.number_input(key="audit_param_audit_component_share").set_value(1.0).run()
    assert not at.exception
    assert len(frame_buttons(at)) < found
    at = at.button(key="audit_defaults").click().run()
    assert len(frame_buttons(at)) == found


def test_the_lab_lists_episodes_with_alerts_first(audited: None):
    at = opened("lab", view="Audit")
    assert "Audited all 2; 1 with an alert" in said(at)
    (table,) = [frame.value for frame in at.dataframe if "Found" in frame.value or "what" in frame.value]
    alerts = dict(zip(table["policy"], table["alerts"], strict=True))
    assert alerts["farmer"] > 0 and alerts["scripted"] == 0
    assert list(table["alerts"]) == sorted(table["alerts"], reverse=True)
    assert "First with an alert: episode aaaaaaaa" in said(at)
    links = [link for link in at.get("page_link") if "Audit" in str(link.proto)]
    assert links, "no link to a frame"


def test_the_lab_lists_reward_configurations_with_their_alerts(audited: None):
    at = opened("lab", view="Audit")
    titles = [block.label for block in at.expander]
    assert any("2 episodes" in title and "alert" in title for title in titles)


def test_a_saved_configuration_is_shown_by_its_name(audited: None):
    with TraceStore.from_settings(load_settings()) as store:
        store.rewards.save("by *the* book", store.episodes.get(FARMED).spec.reward)
        try:
            at = opened("lab", view="Audit")
        finally:
            store.rewards.delete_saved("by *the* book")
    assert any(block.label.replace("\\", "").startswith("“by *the* book” (") for block in at.expander)


def test_the_thresholds_form_stays_open_while_it_is_edited(audited: None):
    at = opened("lab", view="Audit")
    at.session_state["audit_rules"] = True
    at = at.number_input(key="audit_param_audit_component_share").set_value(0.95).run()
    assert not at.exception
    (rules,) = [block for block in at.expander if block.label == "Rules and thresholds"]
    assert rules.proto.expanded
    assert "Changed thresholds: 1 of " in said(at)
    at = at.button(key="audit_defaults").click().run()
    assert "Changed thresholds" not in said(at)


@pytest.mark.parametrize("page", ["lab", "episode"])
def test_a_link_sets_thresholds_and_reports_invalid_ones(audited: None, page: str):
    query = {"view": "Audit"} if page == "lab" else {"id": FARMED, "tab": "Audit"}
    at = opened(
        page,
        state=None,
        **query,
        loop_repeats="7",
        component_share="0.25",
        loop_worth="many",
        still_steps="5",
        loop_laps="3",
    )
    assert at.number_input(key="audit_param_audit_loop_repeats").value == 7
    assert at.number_input(key="audit_param_audit_component_share").value == 0.25
    assert "Changed thresholds: 2 of 12" in said(at)
    (warning,) = [one.value for one in at.warning if "link" in one.value]
    assert 'loop_worth" is "many"' in warning.replace("\\", "")
    assert "a whole number from 10 to 10,000" in warning
    assert 'Unknown threshold in the link: "loop_laps"' in warning.replace("\\", "")
    at.number_input(key="audit_param_audit_loop_repeats").set_value(8).run()
    assert not [one for one in at.warning if "link" in one.value]
