"""The player alone, on an episode that is played when the server starts. The URL sets the options:
`?steps=300&step=5&present=1&width=560&hostile=1&view=3x15`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from core.env import CrafterEnv
from core.env.rules import ACTIONS
from core.scenes import pack_scenes
from core.types import Decision, Scene, Step
from pages.components import charts
from pages.components.player import PlayerData, Seek, build_player_data, player
from tests.support.player_episodes import decision_of, episode_of, step_of

HOSTILE = "<img src=x onerror='window.hacked = true'> **bold** ![](http://example.com/x.png)"
_COMMON = (1, 2, 3, 4, 5, 5, 5, 5, 7, 8, 11)  # moves and do; place stone, table; make a pickaxe
_SLEEP = 6


@st.cache_resource
def episode(n_steps: int, hostile: bool, view: tuple[int, int]) -> PlayerData:
    """The walk as the player shows it."""
    scenes, steps = list[Scene](), list[Step]()
    for env, step in walk(n_steps, view):
        scenes.append(env.scene())
        steps += [step] if step else []
    return build_player_data(pack_scenes(scenes), episode_of(*_decisions(steps, hostile)))


def walk(n_steps: int, view: tuple[int, int] = (9, 9)) -> Iterator[tuple[CrafterEnv, Step | None]]:
    """A random walk of seed 42 that goes to sleep now and then; the same each time. First the world after reset,
    then after each step; a death leads to the seed's next world."""
    env = CrafterEnv(view=view, length=n_steps + 1, observe=False)
    env.reset(seed=42)
    yield env, None
    rng = np.random.default_rng(0)
    for index in range(n_steps):
        action = _SLEEP if index % 100 > 90 else int(rng.choice(_COMMON))
        _, reward, terminated, _, _ = env.step(action)
        yield env, step_of(index, ACTIONS[action], reward, env.facts())
        if terminated:
            env.reset()


def _decisions(steps: list[Step], hostile: bool) -> list[Decision]:
    """Decisions of 1, 2, 3, 1, 2, 3, ... steps; the fourth has no step."""
    unlocks = episode_of(decision_of(steps)).unlock_steps.values()
    decisions: list[Decision] = []
    start = 0
    while start < len(steps):
        if len(decisions) == 3:
            decisions.append(decision_of((), error="no valid action was left in the call"))
        end = min(start + 1 + len(decisions) % 3, len(steps))
        reward = sum(1.0 for index in unlocks if start <= index < end) + 0.05 * (end - start) - 0.08
        reason = HOSTILE if hostile else f"The nearest tree is {1 + start % 5} cells away; walk there and collect wood."
        decisions.append(decision_of(steps[start:end], reward, reason))
        start = end
    return decisions


def seek_button() -> Seek | None:
    """A button that goes to frame 20 at each press."""
    if st.button("Go to 20"):
        st.session_state["nonce"] = st.session_state.get("nonce", 0) + 1
    nonce = st.session_state.get("nonce", 0)
    return {"step": 20, "nonce": nonce} if nonce else None


def main() -> None:
    st.set_page_config(page_title="Player", layout="wide")
    query = st.query_params
    columns, rows = query.get("view", "9x9").split("x")
    data = episode(int(query.get("steps", "300")), query.get("hostile") == "1", (int(columns), int(rows)))
    present = query.get("present") == "1"
    width = int(query.get("width", "0"))
    start = st.session_state.get("last", int(query.get("step", "0")))
    if not present:
        with st.container(horizontal=True):
            seek = seek_button()
            shown = st.toggle("Show", value=True)
            st.text_input("Note", label_visibility="collapsed", placeholder="note")
    else:
        seek, shown = None, True
    with st.container(width=width or "stretch"):
        if shown:
            exit_url = "/?step=0" if present else None
            frame = player(data, key="player", start_step=start, seek=seek, present=present, exit_url=exit_url)
            st.session_state["last"] = frame
    st.text(f"panel shows {st.session_state['last']}")
    if query.get("chart") == "1":
        show_chart(data.frames - 1)


def show_chart(last: int) -> None:
    """A chart whose horizontal axis counts all steps, as the reward tab has one."""
    axis = {"range": [0, last], "fixedrange": True}
    figure = go.Figure({"data": [{"x": [0, last], "y": [0, 1]}], "layout": {"xaxis": axis, "dragmode": False}})
    charts.show(figure, key="chart", alt="A line", seeks="steps")


if __name__ == "__main__":
    main()
