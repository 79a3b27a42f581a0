"""The "Reward" tab: what this decision earned and why, and how both returns grew."""

from __future__ import annotations

from dataclasses import asdict

import streamlit as st

from core.types import Decision, RewardConfig
from pages.components import charts
from pages.components.call_panel import show_json
from pages.components.cursor import Cursor
from pages.components.plain import MOST_IN_A_LINE, shown
from pages.components.sentences import env_reward_sentence, reward_notes, reward_sentence
from pages.components.track import Track

_MOST_IN_A_SENTENCE = 1_000


def show_reward(decision: Decision, config: RewardConfig, track: Track, cursor: Cursor, key: str) -> None:
    """Draw the tab for one decision."""
    theme = charts.theme()
    # First what every decision has: it stays where it is while its points are clicked.
    figure = charts.cumulative_rewards(
        track.decisions, track.shaped_totals, track.env_totals, track.unlocks, cursor.frame, theme
    )
    alt = "Shaped and environment return as they grew with the steps"
    charts.show(figure, key=f"returns-{key}", alt=alt, seeks="steps")
    with st.container(border=True, key=f"reward-sentence-{key}"):
        sentence = reward_sentence(decision, config)
        st.text(shown(sentence, _MOST_IN_A_SENTENCE))
        for note in reward_notes(decision, config):
            st.text(shown(note, MOST_IN_A_LINE))
        st.text(env_reward_sentence(decision))
    if decision.reward.components:
        charts.show(charts.reward_waterfall(decision.reward, theme), key=f"waterfall-{key}", alt=sentence)
    with st.expander(f"Reward configuration {config.config_hash[:8]}"):
        strategy = shown(config.strategy, MOST_IN_A_LINE)
        st.text(f"strategy {strategy}, λ {config.effective_lambda:g}, step beta {config.step_beta:g}")
        show_json(asdict(config))
