"""The "Reward" tab: what this decision earned and why, and how both returns grew."""

from __future__ import annotations

from dataclasses import asdict

import streamlit as st

from core.types import Decision, RewardConfig
from pages.components import charts
from pages.components.cursor import Cursor
from pages.components.sentences import env_reward_sentence, reward_notes, reward_sentence
from pages.components.track import Track


def show_reward(decision: Decision, config: RewardConfig, track: Track, cursor: Cursor, key: str) -> None:
    """Draw the tab for one decision."""
    theme = charts.theme()
    with st.container(border=True, key=f"reward-sentence-{key}"):
        sentence = reward_sentence(decision, config)
        st.text(sentence)
        for note in reward_notes(decision, config):
            st.text(note)
        st.text(env_reward_sentence(decision))
    if decision.reward.components:
        charts.show(charts.reward_waterfall(decision.reward, theme), key=f"waterfall-{key}", alt=sentence)
    figure = charts.cumulative_rewards(
        track.decisions, track.shaped_totals, track.env_totals, track.unlocks, decision.index, theme
    )
    charts.show(figure, key=f"returns-{key}", alt="Shaped and environment return as they grew with the steps")
    with st.expander(f"Reward configuration {config.config_hash[:8]}"):
        st.text(f"strategy {config.strategy}, λ {config.effective_lambda:g}, step beta {config.step_beta:g}")
        st.json(asdict(config), expanded=1)
