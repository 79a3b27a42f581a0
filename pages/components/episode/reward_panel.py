"""The "Reward" tab: this decision's reward and why, and both returns over the episode."""

from __future__ import annotations

from dataclasses import asdict

import streamlit as st

from core.types import Decision, RewardBreakdown, RewardConfig
from pages.components import charts
from pages.components.charts.download import Cell, Download, file_name
from pages.components.episode.reward_charts import agent_numbers, cumulative_rewards, reward_waterfall
from pages.components.player.cursor import Cursor
from pages.components.player.episode_data import EpisodeData
from pages.components.shared.long_text import show_long_data
from pages.components.text.escape import MAX_LINE_LENGTH, safe_text
from pages.components.text.format import exact, short_id
from pages.components.text.sentences import env_reward_sentence, lambda_text, reward_notes, reward_sentence

_MAX_SENTENCE_LENGTH = 1_000


def show_reward(decision: Decision, config: RewardConfig, data: EpisodeData, cursor: Cursor, key: str) -> None:
    theme = charts.theme()
    # First, as every decision has it: the figure must not move while its points are clicked.
    figure = cumulative_rewards(data.decisions, data.shaped_totals, data.env_totals, data.unlocks, cursor.frame, theme)
    alt = "Shaped and environment return by step"
    returns = Download(file_name("episode", short_id(key), "returns"), lambda: returns_table(data))
    charts.show(figure, key=f"returns-{key}", alt=alt, seeks="steps", download=returns)
    if (numbers := agent_numbers(data.decisions, cursor.frame, theme)) is not None:
        name = file_name("episode", short_id(key), "agent")
        download = Download(name, lambda: numbers_table(data))
        charts.show(numbers, key=f"agent-{key}", alt="The agent's numbers by step", seeks="steps", download=download)
    with st.container(border=True, key=f"reward-sentence-{key}"):
        sentence = reward_sentence(decision, config)
        st.text(safe_text(sentence, _MAX_SENTENCE_LENGTH))
        for note in reward_notes(decision, config):
            st.text(safe_text(note, MAX_LINE_LENGTH))
        st.text(env_reward_sentence(decision))
    if decision.reward.components:
        name = file_name("episode", short_id(key), "decision", str(decision.index), "reward")
        parts = Download(name, lambda: parts_table(decision.reward))
        charts.show(reward_waterfall(decision.reward, theme), key=f"waterfall-{key}", alt=sentence, download=parts)
    with st.expander(f"Reward configuration {config.config_hash[:8]}"):
        strategy = safe_text(config.strategy, MAX_LINE_LENGTH)
        st.text(f"strategy {strategy}, {lambda_text(config)}, step beta {exact(config.step_beta)}")
        show_long_data(asdict(config), key=f"reward-config-{key}", name="reward-configuration")


def returns_table(data: EpisodeData) -> list[list[Cell]]:
    """Both returns at each step; the shaped one changes at the last step of a decision."""
    rows: list[list[Cell]] = [["step", "decision", "environment_return", "shaped_return"]]
    rows.append([0, None, data.env_totals[0], 0.0])
    for decision, total in zip(data.decisions, data.shaped_totals, strict=True):
        before = total - decision.reward
        for step in range(decision.step_start + 1, min(decision.step_end, len(data.env_totals) - 1) + 1):
            shaped = total if step == decision.step_end else before
            rows.append([step, decision.index, data.env_totals[step], shaped])
    return rows


def numbers_table(data: EpisodeData) -> list[list[Cell]]:
    """The agent's numbers of each decision, all of them."""
    names = list(dict.fromkeys(name for each in data.decisions for name in each.numbers))
    rows: list[list[Cell]] = [["decision", "step", "value", "logprob", *names]]
    for each in data.decisions:
        rows.append([each.index, each.step_end, each.value, each.logprob, *map(each.numbers.get, names)])
    return rows


def parts_table(reward: RewardBreakdown) -> list[list[Cell]]:
    rows: list[list[Cell]] = [["kind", "name", "rise", "weight", "value"]]
    rows += [[part.kind, part.name, part.delta, part.weight, part.value] for part in reward.components]
    return [*rows, ["sum", "", None, None, reward.base], ["lambda times sum", "", None, None, reward.total]]
