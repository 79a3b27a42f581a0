"""The Potential tab: whether an episode's shaping is potential-based, and where it deviates."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.analysis.potential_check import CHOICES, PotentialCheck, check
from core.store import TraceStore
from core.types import Limits, PolicySpec, QueuedEpisode, RewardConfig, Run
from pages.components.episode.potential_chart import MAX_COLUMNS, is_cut, potential_chart
from pages.components.episode.potential_panel import verdict
from tests.support.episode_page import SCRIPTED, opened, selector, spec_of
from tests.support.launches import record_queue
from tests.support.pages import said

SHAPED = "9" * 32


@pytest.fixture
def shaped(recorded: TraceStore) -> TraceStore:
    """With another episode, whose shaping is potential-based."""
    params = {"potential": "tool_tier", "gamma": 0.95, "scale": 3.0}
    spec = spec_of(
        policy=PolicySpec("scripted"),
        limits=Limits(max_steps=120),
        reward=RewardConfig("potential_based", params=params),
    )
    recorded.runs.create(Run("c" * 32, datetime.now(UTC), (QueuedEpisode(SHAPED, spec),)))
    record_queue(recorded)
    return recorded


def on_potential(episode: str = SCRIPTED, **query: str) -> AppTest:
    at = opened(id=episode, tab="Potential", **query)
    assert len(at.get("plotly_chart")) == 1
    return at


def test_a_potential_based_episode_opens_with_its_potential_and_does_not_deviate(shaped: TraceStore):
    at = on_potential(SHAPED)
    count = len(shaped.episodes.decisions(SHAPED))
    assert f"Potential-based: in all {count} decisions" in said(at)
    assert "Best-fitting scale: 3, which explains 100% of the shaping." in said(at)
    assert not [each for each in at.button if each.key == "go-to-largest-deviation"]


def test_the_controls_start_with_the_values_of_each_configuration(shaped: TraceStore):
    at = on_potential()
    assert at.selectbox(key="potential").value == "achievements"
    at.number_input(key="potential_gamma").set_value(0.5).run()
    at.query_params.clear()
    at.query_params["id"], at.query_params["tab"] = SHAPED, "Potential"
    at.run()
    assert "Potential-based" in said(at)
    assert at.number_input(key="potential_gamma").value == 0.95
    assert at.number_input(key="potential_scale").value == 3.0


def test_the_same_episode_deviates_if_the_shaped_reward_is_added(shaped: TraceStore):
    at = on_potential(SHAPED)
    at.button_group(key="reading").set_value("added").run()
    assert "Not potential-based" in said(at)


def test_a_button_goes_to_the_largest_deviation(recorded: TraceStore):
    at = on_potential(step="1")
    assert "Not potential-based" in said(at)
    go = at.button(key="go-to-largest-deviation")
    worst = int(go.label.split()[3].strip(","))
    go.click().run()
    assert selector(at).value == worst


def test_a_known_end_and_a_cut_off_episode_differ(recorded: TraceStore):
    assert "Known end (the step limit was reached): φ is 0" in said(on_potential())
    with recorded._database.writing() as connection:
        connection.exec_driver_sql("UPDATE episodes SET stop_reason = 'aborted', status = 'aborted'")
        connection.exec_driver_sql("DELETE FROM episode_packs")
    assert "Cut off (stopped): φ keeps its value" in said(on_potential())


def test_corrupt_scenes_show_an_error_only_where_they_are_needed(recorded: TraceStore):
    at = on_potential()
    with recorded._database.writing() as connection:
        connection.exec_driver_sql("UPDATE scene_chunks SET blob = x'00'")
    at.selectbox(key="potential").set_value("next_resource").run()
    assert not at.exception
    assert "Cannot read this" in [subheader.value for subheader in at.subheader]
    at.selectbox(key="potential").set_value("vitals").run()
    assert CHOICES["vitals"].description in said(at)
    assert "Not potential-based" in said(at)


# ----------------------------------------------------------------------------------------------- its parts


def found(shaping: np.ndarray, phi: np.ndarray, ended: bool = True) -> PotentialCheck:
    is_end = np.zeros(len(shaping), bool)
    is_end[-1] = ended
    return check(shaping, (phi[:-1], phi[1:]), is_end=is_end, gamma=1.0)


def test_a_column_of_a_long_episode_shows_its_largest_deviation():
    shaping = np.zeros(10_000)
    shaping[5_003] = 7.0
    figure, size = potential_chart(found(shaping, np.zeros(10_001)), "vitals", 0, "dark")
    columns = -(-10_000 // size)
    assert (size, len(figure.to_dict()["data"][0]["x"])) == (42, columns)
    assert columns <= MAX_COLUMNS
    targets = figure.to_dict()["layout"]["meta"]["decisions"]
    assert targets["xy"] == targets["xy2"]
    assert targets["xy"][0][5_003 // size] == 5_003
    (mark,) = figure.to_dict()["layout"]["annotations"]
    assert mark["text"] == "▼"


def test_the_last_decision_does_not_flatten_the_chart():
    phi = np.arange(21.0)
    paid = found(np.ones(20), phi)
    assert paid.largest == 19
    assert is_cut(paid)
    assert not is_cut(found(np.ones(20), phi, ended=False))


def test_the_verdict_names_the_largest_deviation():
    assert verdict(found(np.array([1.0, -1.0]), np.array([0.0, 1.0, 1.0]))).startswith("Potential-based")
    assert "1 of 2 decisions deviate, by 2.00 in total. Largest in decision 1" in verdict(
        found(np.array([1.0, 1.0]), np.array([0.0, 1.0, 1.0]))
    )
    assert "No result" in verdict(found(np.zeros(2), np.zeros(3)))
