"""Potential: how far an episode's shaping is from a potential's difference, in words, and where."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.analysis.potential_check import CHOICES, PotentialCheck, check
from core.rollout import run_rollout
from core.store import TraceStore
from core.types import Limits, PolicySpec, QueuedEpisode, RewardConfig, Run
from pages.components.episode.potential_chart import MAX_COLUMNS, is_cut, potential_chart
from pages.components.episode.potential_panel import verdict
from tests.support.episode_page import SCRIPTED, button, opened, selector, spec_of, texts

SHAPED = "9" * 32


@pytest.fixture
def shaped(recorded: TraceStore) -> TraceStore:
    """With one more episode, which was shaped by a potential."""
    params = {"potential": "tool_tier", "gamma": 0.95, "scale": 3.0}
    spec = spec_of(
        policy=PolicySpec("scripted"),
        limits=Limits(max_steps=120),
        reward=RewardConfig("potential_based", params=params),
    )
    recorded.runs.create(Run("c" * 32, datetime.now(UTC), (QueuedEpisode(SHAPED, spec),)))
    recorded.queue.claim_next(worker="tests")
    run_rollout(spec, episode_id=SHAPED, run_id="c" * 32, recorder_for=lambda entry: recorded.recorder(entry.id))
    return recorded


def on_potential(episode: str = SCRIPTED, **query: str) -> AppTest:
    at = opened(id=episode, tab="Potential", **query)
    assert len(at.get("plotly_chart")) == 1
    return at


def said(at: AppTest) -> str:
    return "\n".join([*texts(at), *(caption.value for caption in at.caption)])


def test_an_episode_that_was_shaped_by_a_potential_opens_with_it_and_does_not_deviate(shaped: TraceStore):
    at = on_potential(SHAPED)
    count = len(shaped.episodes.decisions(SHAPED))
    assert f"Based on this potential: in all {count} decisions" in said(at)
    assert "The scale that fits best is 3; with it, 100% of the shaping is explained." in said(at)
    assert not [each for each in at.button if each.key == "go-to-largest-deviation"]


def test_each_configuration_begins_with_what_fits_it(shaped: TraceStore):
    at = on_potential()
    assert at.selectbox(key="potential").value == "achievements"
    at.number_input(key="potential_gamma").set_value(0.5).run()
    at.query_params.clear()
    at.query_params["id"], at.query_params["tab"] = SHAPED, "Potential"
    at.run()
    assert "Based on this potential" in said(at)
    assert at.number_input(key="potential_gamma").value == 0.95
    assert at.number_input(key="potential_scale").value == 3.0


def test_read_as_added_the_same_episode_deviates(shaped: TraceStore):
    at = on_potential(SHAPED)
    at.button_group(key="reading").set_value("added").run()
    assert "Not based on this potential" in said(at)


def test_another_episode_deviates_and_the_worst_place_is_one_click_away(recorded: TraceStore):
    at = on_potential(step="1")
    assert "Not based on this potential" in said(at)
    go = button(at, "go-to-largest-deviation")
    worst = int(go.label.split()[3].strip(","))
    go.click().run()
    assert selector(at).value == worst


@pytest.mark.parametrize("potential", list(CHOICES))
def test_every_potential_can_be_picked(recorded: TraceStore, potential: str):
    at = on_potential(potential=CHOICES[potential].label)
    assert CHOICES[potential].description in said(at)


def test_an_end_that_was_foreseen_and_one_that_was_not_are_told_apart(recorded: TraceStore):
    assert "known to be the end (the step limit was reached), so φ is 0 after it" in said(on_potential())
    with recorded._database.writing() as connection:
        connection.exec_driver_sql("UPDATE episodes SET stop_reason = 'aborted', status = 'aborted'")
        connection.exec_driver_sql("DELETE FROM episode_packs")
    assert "was cut off (stopped), so φ stays what it was" in said(on_potential())


def test_scenes_that_are_damaged_meanwhile_are_a_sentence_where_they_are_needed(recorded: TraceStore):
    at = on_potential()
    with recorded._database.writing() as connection:
        connection.exec_driver_sql("UPDATE scene_chunks SET blob = x'00'")
    at.selectbox(key="potential").set_value("next_resource").run()
    assert not at.exception
    assert "Cannot read this" in [subheader.value for subheader in at.subheader]
    at.selectbox(key="potential").set_value("vitals").run()
    assert "Not based on this potential" in said(at)


# ----------------------------------------------------------------------------------------------- its parts


def found(shaping: np.ndarray, phi: np.ndarray, ended: bool = True) -> PotentialCheck:
    is_end = np.zeros(len(shaping), bool)
    is_end[-1] = ended
    return check(shaping, (phi[:-1], phi[1:]), is_end=is_end, gamma=1.0)


def test_a_column_of_a_long_episode_shows_the_decision_that_deviates_most_and_leads_to_it():
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


def test_what_the_end_pays_back_does_not_flatten_all_else():
    phi = np.arange(21.0)
    paid = found(np.ones(20), phi)
    assert paid.largest == 19
    assert is_cut(paid)
    assert not is_cut(found(np.ones(20), phi, ended=False))


def test_the_verdict_is_plain():
    assert verdict(found(np.array([1.0, -1.0]), np.array([0.0, 1.0, 1.0]))).startswith("Based on this potential")
    assert "1 of 2 decisions deviate, by 2.00 in all. Most in decision 1" in verdict(
        found(np.array([1.0, 1.0]), np.array([0.0, 1.0, 1.0]))
    )
    assert "shows nothing" in verdict(found(np.zeros(2), np.zeros(3)))
