"""The empty state: what Craftscope is, and a button that plays sample episodes."""

from __future__ import annotations

import streamlit as st

from core import jobs
from core.env.rules import ACHIEVEMENTS, ENGINE_VERSION, ITEMS
from core.errors import CraftscopeError
from core.plan import LaunchPlan, make_run
from core.types import EnvConfig, Limits, OnDone, PolicySpec, RewardConfig, Run
from pages.components.shared.state import settings, store
from pages.components.text.escape import escape

_SAMPLE_SEEDS = (42, 7, 1)


def show_empty_store() -> None:
    _, middle, _ = st.columns([1, 2, 1])
    with middle, st.container(border=True):
        st.subheader("Nothing is stored yet")
        st.write(
            "Craftscope stores every episode: each decision, its reward in parts, its timing, and every frame. Launch "
            "a run, and its episodes appear under Runs and Traces."
        )
        st.write(
            "To look around first, play three sample episodes with the scripted policy: 300 steps each on seeds "
            "42, 7 and 1, with per-achievement rewards. This takes less than a minute."
        )
        with st.container(horizontal=True):
            clicked = st.button(
                "Play three sample episodes", type="primary", key="run_samples", disabled=store().read_only
            )
            if st.button("Choose seeds and launch", key="go_to_launch"):
                st.switch_page("pages/launch.py")
        if clicked:
            _run_samples()


def _run_samples() -> None:
    run = sample_run("Three samples", PolicySpec("scripted"), _SAMPLE_SEEDS, steps=300)
    try:
        jobs.launch(store(), settings(), run)
    except CraftscopeError as error:
        st.error(escape(str(error)))
        return
    st.switch_page("pages/run.py", query_params={"id": run.id})


def sample_run(name: str, policy: PolicySpec, seeds: tuple[int, ...], steps: int) -> Run:
    """One episode a seed, with the default per-achievement rewards."""
    plan = LaunchPlan(
        seeds=seeds,
        episodes_per_seed=1,
        policy=policy,
        reward=RewardConfig(strategy="per_achievement"),
        limits=Limits(max_steps=steps, max_decisions=steps),
        env=EnvConfig(),
        on_done=OnDone.TERMINATE,
        max_actions_per_call=5,
        name=name,
    )
    return make_run(plan, engine_version=ENGINE_VERSION, achievements=ACHIEVEMENTS, items=ITEMS)
