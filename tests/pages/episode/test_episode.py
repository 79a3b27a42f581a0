"""The episode page: its tabs, moving between decisions, following a running episode, and missing data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from streamlit.testing.v1 import AppTest

from core.env import CrafterEnv
from core.env.observation import Observation
from core.policies import make_policy
from core.rewards import RewardShaper
from core.rollout import run_episode
from core.store import TraceStore
from core.types import (
    Decision,
    DroppedAction,
    PolicyReply,
    PolicySpec,
    QueuedEpisode,
    RewardConfig,
    Run,
    ToolCall,
)
from pages.components.episode.view import is_first_look
from pages.components.text.sentences import reward_sentence
from tests.support.episode_page import SCRIPTED, go_to, markdown, only_queued, opened, selector, spec_of
from tests.support.pages import codes, metrics, page_links, texts

HOSTILE = '![](http://example.org/x.png) <img src="http://example.org/y.png"> **bold**'


def on_tab(at: AppTest, name: str) -> AppTest:
    at.session_state["tab"] = name
    at.run()
    assert not at.exception
    return at


class Hostile:
    """Answers one good call with hostile text in every place, then fails."""

    name = "hostile"

    def __init__(self, text: str = HOSTILE) -> None:
        self.text = text

    def reset(self, seed: int) -> None:
        pass

    def decide(self, observation: Observation, history: Sequence[Decision]) -> PolicyReply:
        if history:
            raise RuntimeError(self.text)
        dropped = (DroppedAction(self.text, self.text),)
        call = ToolCall(self.text, self.text, self.text, ("noop", "noop"), dropped, reasoning=self.text)
        return PolicyReply((call,), warning=self.text)

    def close(self) -> None:
        pass


@pytest.fixture
def hostile(empty: TraceStore) -> str:
    """A failed episode: a decision with two steps, then one without any."""
    return recorded_by(Hostile(), empty, only_queued(empty, spec_of()))


def recorded_by(policy: Hostile, store: TraceStore, queued: QueuedEpisode) -> str:
    assert store.queue.claim_next(worker="tests")
    env = CrafterEnv(observe=False)
    run_episode(queued.spec, env, policy, RewardShaper(RewardConfig()), store.recorder(queued.id))
    return queued.id


# ------------------------------------------------------------------------------------------ contents


def test_the_header_shows_results_run_and_neighbours_and_checks_the_replay(recorded: TraceStore):
    summary = recorded.episodes.get(SCRIPTED)
    at = opened(id=SCRIPTED)
    shown = metrics(at)
    assert shown["Env return"] == f"{summary.env_return:+.2f}"
    assert shown["Shaped return"] == f"{summary.shaped_return:+.2f}"
    assert shown["Achievements"] == f"{len(summary.achievements)} / 22"
    assert shown["Steps"] == str(summary.n_steps)
    assert "id=" + "f" * 32 in page_links(at)["Run: Recorded"].query_string
    assert at.button(key="Previous-episode").disabled and not at.button(key="Next-episode").disabled
    at.button(key="check-replay").click().run()
    assert f"Replay exact: all {summary.n_steps} steps match" in texts(at)


def test_the_reward_of_a_decision_is_explained(recorded: TraceStore):
    decision = next(d for d in recorded.episodes.load(SCRIPTED).decisions if len(d.reward.components) > 1)
    at = opened(id=SCRIPTED, step=str(decision.steps[0].index + 1))
    assert reward_sentence(decision, RewardConfig(strategy="per_achievement")) in texts(at)
    assert len(at.get("plotly_chart")) == 2


def test_a_tool_call_is_shown_raw_and_as_actions_ticked_up_to_the_frame(recorded: TraceStore):
    decision = next(d for d in recorded.episodes.load(SCRIPTED).decisions if len(d.steps) > 2)
    at = on_tab(opened(id=SCRIPTED, step=str(decision.steps[1].index + 1)), "Tool call")
    marks = "".join(re.findall(r"badge\[([✓▶·✕]) ", " ".join(element.value for element in at.markdown)))
    assert "✓▶·" in marks
    assert any(decision.tool_calls[0].arguments in code for code in codes(at))
    assert decision.tool_calls[0].reasoning in texts(at)


def test_an_unknown_decision_shows_the_valid_range_and_restores_the_number(recorded: TraceStore):
    at = opened(id=SCRIPTED)
    go_to(at, 9_999)
    last = len(recorded.episodes.decisions(SCRIPTED)) - 1
    assert f":red[No decision 9,999 (0 to {last})]" in [element.value for element in at.markdown]
    assert selector(at).value == 0
    at.button(key="decision-forward").click().run()
    assert "No decision" not in markdown(at)
    shown = selector(at).value
    go_to(at, None)  # an empty field
    assert selector(at).value == shown


def test_every_tab_draws(recorded: TraceStore):
    at = opened(id=SCRIPTED, step="9")
    assert "took" in " ".join(texts(on_tab(at, "Timing")))
    assert len(at.get("plotly_chart")) == 2
    assert "Achievements at this step" in markdown(on_tab(at, "State"))
    assert len(on_tab(at, "Map").get("plotly_chart")) == 1


def test_invalid_and_very_long_text_is_cut_on_every_tab(empty: TraceStore):
    text = "\ud83d \x00 <script>alert(1)</script> ![x](http://example.org/x.png)" + "x" * 10**6
    queued = QueuedEpisode("a" * 32, spec_of(policy=PolicySpec(text)))
    empty.runs.create(Run("e" * 32, datetime.now(UTC), (queued,), name=text))
    at = opened(id=recorded_by(Hostile(text), empty, queued), step="1")
    for tab in ("Reward", "Tool call", "Timing", "State", "Map"):
        on_tab(at, tab)
        assert "![" not in markdown(at) and "<script>" not in markdown(at)
        assert all(len(shown) < 25_000 for shown in [*texts(at), *(code.value for code in at.code)])
    go_to(at, 1)
    assert not at.exception


# ---------------------------------------------------------------------------------------- moving


def test_choosing_a_decision_moves_the_player_there(recorded: TraceStore):
    at = opened(id=SCRIPTED)
    go_to(at, 7)
    assert any(text.startswith("Decision 7 earned") for text in texts(at))
    result = recorded.episodes.decision(SCRIPTED, 7).steps[-1].index + 1
    assert at.session_state[f"seek:{SCRIPTED}"]["step"] == result
    at.button(key="decision-forward").click().run()
    assert any(text.startswith("Decision 8 earned") for text in texts(at))


def test_the_unlock_menu_moves_the_player(recorded: TraceStore):
    unlocking = next(d for d in recorded.episodes.decisions(SCRIPTED) if d.unlocked)
    at = opened(id=SCRIPTED)
    name = unlocking.unlocked[0]
    at.selectbox(key=f"unlock-{SCRIPTED}").set_value(name).run()
    assert selector(at).value == unlocking.index
    assert at.session_state[f"frame:{SCRIPTED}"] == recorded.episodes.load(SCRIPTED).unlock_steps[name] + 1


def test_the_world_after_reset_comes_before_the_first_decision(recorded: TraceStore):
    at = opened(id=SCRIPTED)
    assert at.button(key="decision-back").disabled
    at.button(key="decision-forward").click().run()
    assert at.session_state[f"frame:{SCRIPTED}"] == len(recorded.episodes.decision(SCRIPTED, 0).steps)
    at.button(key="decision-back").click().run()
    assert at.session_state[f"frame:{SCRIPTED}"] == 0


def test_the_state_shows_changes_since_the_start_of_the_decision(recorded: TraceStore):
    at = on_tab(opened(id=SCRIPTED), "State")
    assert "After reset" in markdown(at)
    go_to(at, 7)
    assert "change since the start of decision 7" in markdown(at)


@pytest.mark.parametrize("tab", ["Reward", "Tool call", "State"])
def test_an_episode_deleted_while_open_shows_an_error(recorded: TraceStore, tab: str):
    summary = recorded.episodes.get(SCRIPTED)
    at = AppTest.from_function(open_page, args=(summary, tab), default_timeout=60).run()
    assert not at.exception
    recorded.episodes.delete([SCRIPTED])
    at.run()
    assert not at.exception
    assert "Cannot read this" in [subheader.value for subheader in at.subheader]


def open_page(summary, tab: str) -> None:
    """The part of the page that is drawn again at each step, with the data that was loaded before."""
    import streamlit as st  # noqa: PLC0415

    from pages.components.episode.view import show_episode  # noqa: PLC0415
    from pages.components.player.episode_data import episode_data_of  # noqa: PLC0415
    from pages.components.shared.state import store  # noqa: PLC0415

    st.session_state["tab"] = tab
    show_episode(summary, episode_data_of(store(), summary))


def test_each_episode_remembers_its_step(recorded: TraceStore):
    at = opened(id=SCRIPTED, step="12")
    del at.query_params["step"]
    at.switch_page("pages/traces.py").run()
    at.query_params["id"] = SCRIPTED
    at.switch_page("pages/episode.py").run()
    assert at.session_state[f"frame:{SCRIPTED}"] == 12
    (decision,) = [d for d in recorded.episodes.decisions(SCRIPTED) if d.step_start <= 11 < d.step_end]
    assert selector(at).value == decision.index


# ------------------------------------------------------------------- missing or unfinished data


def test_an_unknown_id_shows_an_error_and_a_link(recorded: TraceStore):
    at = opened(id="0123456789ab")
    assert any("0123456789ab" in text for text in texts(at))
    assert "All traces" in page_links(at)


def test_an_invalid_step_shows_an_error_above_the_episode(recorded: TraceStore):
    at = opened(id=SCRIPTED, step="99999")
    assert any("Step 99999 is not in this episode" in text for text in texts(at))
    assert selector(at).value == 0


def test_without_an_id_the_newest_episodes_are_offered_those_with_steps_first(recorded: TraceStore):
    only_queued(recorded, spec_of(), "d" * 32)
    offers = [b.key for b in opened().button if (b.key or "").startswith("offer-")]
    assert len(offers) == 4
    assert offers[-1] == "offer-" + "d" * 32


def test_a_failed_episode_shows_its_error_and_hostile_text_as_text(hostile: str):
    at = opened(id=hostile, step="1")
    on_tab(at, "Tool call")
    assert HOSTILE in texts(at)
    assert any(HOSTILE in code for code in codes(at))
    assert "example.org" not in markdown(at)  # text of a model is never read as Markdown
    on_tab(at, "Reward")
    assert "RuntimeError" in texts(at)
    go_to(at, 1)
    assert any("no step was executed" in text for text in texts(at))


def test_a_queued_episode_waits_for_a_worker(empty: TraceStore):
    queued = only_queued(empty, spec_of())
    at = opened(id=queued.id)
    assert any("Waiting for a worker" in caption.value for caption in at.caption)
    assert any("has not made a decision yet" in text for text in texts(at))


def test_a_running_episode_shows_what_is_stored(empty: TraceStore):
    queued = only_queued(empty, spec_of())
    assert empty.queue.claim_next(worker="tests")
    recorder = empty.recorder(queued.id)
    env = CrafterEnv(observe=False)
    policy = make_policy(queued.spec.policy, seed=1, max_actions=5)
    finished = run_episode(queued.spec, env, policy, RewardShaper(RewardConfig()), Unfinished(recorder))
    at = opened(id=queued.id)
    assert metrics(at)["Steps"] == str(finished.length)
    assert any(caption.value.startswith("Running:") for caption in at.caption)
    assert selector(at).value == 0


def test_following_a_running_episode_ends_when_the_user_moves_away(empty: TraceStore):
    queued = only_queued(empty, spec_of())
    assert empty.queue.claim_next(worker="tests")
    held: list[Decision] = []
    recorder = Unfinished(empty.recorder(queued.id))
    record, recorder.record = recorder.record, held.append
    policy = make_policy(queued.spec.policy, seed=1, max_actions=5)
    run_episode(queued.spec, CrafterEnv(observe=False), policy, RewardShaper(RewardConfig()), recorder)
    for decision in held[:2]:
        record(decision)
    at = opened(id=queued.id)
    toggle = at.toggle(key=f"follow-{queued.id}")
    assert not toggle.value and selector(at).value == 0
    toggle.set_value(True).run()
    assert selector(at).value == 1
    record(held[2])
    at.run()
    assert selector(at).value == 2
    at.button(key="decision-back").click().run()
    assert selector(at).value == 1
    record(held[3])
    at.run()
    assert selector(at).value != 3  # without a browser, the player stays at its first frame
    at.run()
    assert not at.toggle(key=f"follow-{queued.id}").value


class Unfinished:
    """Does not record the end of the episode."""

    def __init__(self, recorder) -> None:
        self.start = recorder.start
        self.record = recorder.record

    def finish(self, outcome: object) -> None:
        pass


def test_charts_are_drawn_in_the_second_run_of_a_new_session(recorded: TraceStore, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pages.components.episode.view.is_first_look", is_first_look)
    at = opened(id=SCRIPTED)
    assert "cs-is-awaited" in markdown(at)
    assert not at.get("plotly_chart")
    assert any(text.startswith("Decision ") for text in texts(at))
    at.run()
    assert "cs-is-awaited" not in markdown(at)
    assert at.get("plotly_chart")
