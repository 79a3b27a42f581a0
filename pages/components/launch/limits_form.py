"""The limits of a run, what happens when a world ends, and the size of the world."""

from __future__ import annotations

import streamlit as st

from core.types import EnvConfig, Limits, OnDone
from pages.components.launch.state import PREFIX

_ON_DONE_LABELS = {OnDone.TERMINATE: "Stop", OnDone.RESET: "Continue in the seed's next world"}
_ON_DONE_CAPTIONS = [
    "One world per rollout.",
    "Each further world is another episode with a new shaping state. Limits count over all of them.",
]


def limits_form() -> tuple[Limits, OnDone]:
    """Values as entered, not checked."""
    st.caption("The first limit reached ends the episode. Everything before it is stored.")
    row = st.columns(3)
    max_steps = row[0].number_input("Max steps", key=f"{PREFIX}max_steps", step=100, persist_state="session")
    max_decisions = row[1].number_input(
        "Max decisions",
        key=f"{PREFIX}max_decisions",
        step=100,
        persist_state="session",
        help="One policy call is one decision.",
    )
    max_seconds = row[2].number_input(
        "Max seconds", key=f"{PREFIX}max_seconds", step=60.0, format="%.0f", persist_state="session"
    )
    on_done = st.radio(
        "When a world ends before the limits are reached",
        [choice.value for choice in OnDone],
        format_func=lambda value: _ON_DONE_LABELS[OnDone(value)],
        captions=_ON_DONE_CAPTIONS,
        key=f"{PREFIX}on_done",
        persist_state="session",
    )
    with st.expander("Advanced"):
        max_ops = st.number_input(
            "Max operations",
            key=f"{PREFIX}max_ops",
            step=1000,
            persist_state="session",
            help="Policy calls plus the environment's turns after them.",
        )
    limits = Limits(int(max_steps), int(max_decisions), int(max_ops), float(max_seconds))
    return limits, OnDone(on_done)


def world_form() -> EnvConfig:
    """Values as entered, not checked."""
    st.caption("Changing the size changes the world of each seed. Published Crafter results use 64 x 64.")
    row = st.columns(3)
    width = row[0].number_input("Width, cells", step=1, key=f"{PREFIX}width", persist_state="session")
    height = row[1].number_input("Height, cells", step=1, key=f"{PREFIX}height", persist_state="session")
    length = row[2].number_input(
        "Length, steps",
        key=f"{PREFIX}length",
        step=1000,
        persist_state="session",
        help="The world ends after this many steps (truncated).",
    )
    return EnvConfig(area=(int(width), int(height)), length=int(length))
