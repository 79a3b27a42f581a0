"""Launch: pick seeds, a policy, a reward configuration and limits; see what will run; run it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import jobs
from core.env.checks import checked_config
from core.env.rules import ACHIEVEMENTS, ITEMS
from core.env.simulation import local_grid
from core.errors import InvalidInput, JobError, StoreError
from core.plan import LaunchPlan, checked_budget, checked_limits, parse_seeds
from core.policies import POLICIES, checked_policy
from core.rewards import checked_reward
from core.store import EpisodeFilter
from core.text import plural
from core.types import EnvConfig, EpisodeStatus, OnDone, Run
from pages.components.browser.styles import launch_styles
from pages.components.launch.estimate import (
    MIN_STEPS,
    estimate_notes,
    estimate_of,
    estimate_rows,
    longest_s,
    throughput_of,
)
from pages.components.launch.limits_form import limits_form, world_form
from pages.components.launch.matrix import Matrix, matrix_fields, plans_of, runs_of, size_text
from pages.components.launch.policy_form import policy_picker, policy_settings
from pages.components.launch.request import request_popover
from pages.components.launch.seeds import SEEDS_KEY, seed_gallery
from pages.components.launch.state import (
    LAUNCH,
    LAUNCH_BUTTON,
    PREFIX,
    REWARD_OF_LINK,
    begin,
    clear_name_next_time,
    link_problems,
    show_link,
)
from pages.components.rewards.form import reward_form
from pages.components.rewards.reward_text import reward_text
from pages.components.rewards.start import described, start_from_link, start_picker
from pages.components.shared.router import ensure_router
from pages.components.shared.state import settings, store
from pages.components.text.escape import escape
from pages.components.text.format import number, seconds

_T = TypeVar("_T")
_MEASURED_EPISODES = 20
_JUST_NOW = timedelta(minutes=2)


@dataclass
class _Check:
    """Runs core's checks and shows each error beside its part of the form."""

    problems: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def __call__(self, part: str, place: DeltaGenerator, check: Callable[[], _T]) -> _T | None:
        try:
            return check()
        except InvalidInput as error:
            place.error(escape(str(error)))
            self.problems.append((part, str(error)))
            return None


def main() -> None:
    ensure_router()
    begin()
    if (linked := st.session_state.pop(REWARD_OF_LINK, None)) is not None:
        start_from_link(LAUNCH, linked)
    launch_styles()
    check = _Check()
    left, right = st.columns([7, 3], gap="medium")
    with right, st.container(border=True, key="launch-panel"):
        seeds = _seeds_field(check)
        policy_name = policy_picker()
        episodes = st.number_input(
            "Episodes per seed",
            key=f"{PREFIX}episodes",
            step=1,
            persist_state="session",
            help="Each has its own policy seed, derived from seed and index, so it can be repeated.",
        )
        episodes_place = st.container()
        name = st.text_input("Name", key=f"{PREFIX}name", persist_state="session", placeholder="optional")
        matrix_place = st.container()
        summary = st.container(key="launch-summary", gap="small")
        go = st.container(key="launch-go", gap="small")
    with left:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.title("Launch", anchor=False, width="content")
            st.space("stretch")
            request_popover()
        link_place = st.container()
        seeds_tab, policy_tab, reward_tab, limits_tab = st.tabs(["Seeds", "Policy", "Reward", "Limits and world"])
    with limits_tab:
        place = st.container()
        limits, on_done = limits_form()
        check("Limits and world", place, lambda: checked_limits(limits))
        st.divider()
        env = _checked_world(check, place)
    with policy_tab:
        policy_place = st.container()
        chosen = policy_settings(policy_name)
        if chosen.missing:
            policy_place.info(chosen.missing)
        else:
            check("Policy", policy_place, lambda: checked_policy(chosen.spec))
        check("Policy", policy_place, lambda: checked_budget(chosen.budget))
    with reward_tab:
        reward_place = st.container()
        _reward_start()
        reward_given = reward_form(LAUNCH)
        reward = check(
            "Reward", reward_place, lambda: checked_reward(reward_given, achievements=ACHIEVEMENTS, items=ITEMS)
        )
    with seeds_tab:
        generate_missing_worlds = seed_gallery(env or EnvConfig())
    with matrix_place:
        matrix = matrix_fields(chosen.spec)
    with summary:
        plan = None
        if chosen.missing:
            st.info(f"**Policy:** {chosen.missing}")
        elif seeds and env and reward and not check.problems:
            plan = LaunchPlan(
                seeds=seeds,
                episodes_per_seed=int(episodes),
                policy=chosen.spec,
                reward=reward,
                limits=limits,
                env=env,
                on_done=on_done,
                max_actions_per_call=chosen.max_actions,
                name=name.strip(),
                budget=chosen.budget,
            )
        runs = None
        if plan:
            runs = check("Episodes", episodes_place, partial(runs_of, plan, matrix))
        if plan and runs:
            _show_summary(plan, matrix, len(runs[0].episodes))
        _show_problems(check)
    with go:
        _launch_button(runs or ())
    with link_place:
        for sentence in link_problems(reward_given, chosen.spec):
            st.warning(escape(sentence))
    show_link(reward_given, chosen.spec)
    generate_missing_worlds()


def _seeds_field(check: _Check) -> tuple[int, ...] | None:
    text = st.text_input(
        "Seeds to play",
        key=SEEDS_KEY,
        persist_state="session",
        placeholder="0-9, 42",
        help="Numbers and ranges. Ticking a world adds its seed.",
    )
    place = st.container()
    if not text.strip():
        place.caption("No seeds yet. Select worlds, or type seeds: 0-9, 42")
        return None
    return check("Seeds", place, lambda: parse_seeds(text))


def _checked_world(check: _Check, place: DeltaGenerator) -> EnvConfig | None:
    given = world_form()
    env = check("Limits and world", place, lambda: checked_config(given.area, given.view, given.length))
    if env and (sentence := _too_small(env)):
        place.warning(sentence)
    return env


def _reward_start() -> None:
    saved = {entry.name: entry for entry in store().rewards.saved().rows}
    picker, lab = st.columns([3, 2], gap="medium", vertical_alignment="bottom")
    with picker:
        name = start_picker(LAUNCH, saved)
    lab.page_link("pages/lab.py", label="Try it on stored episodes in the Lab →")
    if name:
        st.caption(escape(described(saved[name])))


def _too_small(env: EnvConfig) -> str:
    (width, height), (columns, rows) = env.area, local_grid(env.view)
    if width >= columns and height >= rows:
        return ""
    return f"The world ({width} × {height} cells) is smaller than the view ({columns} × {rows}): the rest is gray."


def _show_summary(plan: LaunchPlan, matrix: Matrix, count: int) -> None:
    """count: episodes of a run."""
    open_ended = plan.on_done is OnDone.RESET
    plans = plans_of(plan, matrix)
    total = count * len(plans)
    seeds = f"{plural(len(plan.seeds), 'seed')} × {plan.episodes_per_seed}"
    of_runs = "" if matrix.is_one_run else f" × {plural(len(plans), 'run')}"
    own = [("Reward", reward_text(plan.reward)), ("Reward hash", f"<code>{plan.reward.config_hash}</code>")]
    estimated = [(each, found) for each in plans if (found := estimate_of(each, count))]
    rows = [
        *([] if matrix.is_one_run else [("Runs", size_text(plan, matrix))]),
        ("Episodes", f"{seeds}{of_runs} = {number(total)}{' or more' if open_ended else ''}"),
        ("Max steps", number(total * _max_steps(plan))),
        ("Max decisions", number(total * plan.limits.max_decisions)),
        *(estimate_rows([(each, found[0]) for each, found in estimated]) if estimated else ()),
        *(own if matrix.is_one_run else ()),
    ]
    entries = "".join(f"<div><span>{label}</span><b>{value}</b></div>" for label, value in rows)
    st.html(f'<div class="cs-summary">{entries}</div>')
    for note, basis in dict.fromkeys(estimate_notes(each, *found) for each, found in estimated):
        st.caption(note, help=basis)
    durations = [_duration(each, count) for each in plans]
    if all(took is not None for took, _ in durations):
        duration = f"Takes up to {seconds(sum(took or 0.0 for took, _ in durations))}"
    else:
        duration = "No time estimate yet"
    st.caption(duration, help="\n\n".join(dict.fromkeys(basis for _, basis in durations)))


def _max_steps(plan: LaunchPlan) -> int:
    """Of one rollout."""
    return min(plan.limits.max_steps, plan.limits.max_decisions * plan.max_actions_per_call)


def _duration(plan: LaunchPlan, rollouts: int) -> tuple[float | None, str]:
    """Seconds at most (None if unknown), and what they are based on."""
    label = POLICIES[plan.policy.name].label.lower()
    at_once = settings().max_workers
    over = EpisodeFilter(policies=(plan.policy.name,), statuses=(EpisodeStatus.COMPLETED,))
    throughput = throughput_of(store().episodes.page(over, limit=_MEASURED_EPISODES).rows)
    if throughput is None:
        return None, f"No stored {label} episode is long enough ({MIN_STEPS} steps). Workers: {at_once}."
    longest = longest_s(
        throughput, rollouts=rollouts, max_steps=_max_steps(plan), max_time_s=plan.limits.max_time_s, at_once=at_once
    )
    return longest, (
        f"If all steps are used. From {plural(throughput.episodes, f'{label} episode')}: "
        f"{throughput.seconds_per_step * 1000:.1f} ms per step. Workers: {at_once}."
    )


def _show_problems(check: _Check) -> None:
    for part, sentence in check.problems:
        if part not in ("Seeds", "Episodes"):  # shown under their own fields, just above
            st.error(f"**{part}:** {escape(sentence)}")


def _show_if_just_launched(run: Run) -> None:
    """A reload just after a launch shows the same form, so this says that the run exists."""
    for newest in store().runs.newest(1).rows:
        age = datetime.now(UTC) - newest.created_at
        if newest.config == run.config and age < _JUST_NOW:
            st.caption(f"Same configuration launched {age.total_seconds():.0f} s ago")
            st.page_link("pages/run.py", label="Open that run →", query_params={"id": newest.id})


def _launch_button(runs: tuple[Run, ...]) -> None:
    """No runs: the form is not complete."""
    count = sum(len(run.episodes) for run in runs)
    clicked = st.button(
        f"Launch {plural(count, 'episode')}" if runs else "Launch",
        key=LAUNCH_BUTTON,
        type="primary",
        width="stretch",
        disabled=not runs or store().read_only,
    )
    if len(runs) == 1 and not clicked:
        _show_if_just_launched(runs[0])
    if not clicked or not runs:
        return
    try:
        jobs.launch(store(), settings(), *runs)
    except StoreError as error:
        st.error(escape(str(error)))
        return
    except JobError:
        pass  # the runs are stored; their page starts a worker again and shows the error
    clear_name_next_time()
    batch_id = runs[0].batch_id
    st.switch_page("pages/run.py", query_params={"batch": batch_id} if batch_id else {"id": runs[0].id})


main()
