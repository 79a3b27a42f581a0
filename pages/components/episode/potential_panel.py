"""The "Potential" tab: how far this episode's shaping is from one that cannot change which policies are best."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from core.analysis.potential_check import CHOICES, PotentialCheck, Reading, check, potential_around
from core.errors import InvalidInput
from core.rewards.potentials import POTENTIALS
from core.store import EpisodeSummary
from core.types import RewardConfig
from pages.components import charts
from pages.components.charts.download import Cell, Download, file_name
from pages.components.episode.potential_chart import is_cut, potential_chart
from pages.components.player.episode_data import EpisodeData, reward_columns_of, scenes_of
from pages.components.player.position import go_to_decision
from pages.components.shared.state import store
from pages.components.text.escape import safe_text
from pages.components.text.format import amount, reason_in_words, short_id, signed

_READINGS = {
    Reading.ADDED: "added to the env reward",
    Reading.INSTEAD: "used instead of it",
}
_SOURCES = (
    "F = scale × (γ φ(after) − φ(before)) for some φ is the only shaping that leaves the best policies as they are in "
    "every world (Ng, Harada, Russell 1999), with φ = 0 after an episode's end (Grzes 2017). A decision counts as one "
    "step."
)
_KEYS = ("potential", "potential_gamma", "potential_scale", "reading")
_CHOSEN_FOR = "potential_chosen_for"
_MAX_ERROR_LENGTH = 500


def show_potential(summary: EpisodeSummary, track: EpisodeData, current: int) -> None:
    """Draw the tab with a decision marked."""
    potential, gamma, scale, reading = _show_controls(summary.spec.reward)
    try:
        found = _checked(summary, track, potential, gamma, scale, reading)
    except InvalidInput as error:  # the scenes are damaged, or not all there yet
        st.text(safe_text(str(error), _MAX_ERROR_LENGTH))
        return
    _show_verdict(found, summary, track)
    figure, size = potential_chart(found, potential, min(current, len(found.shaping) - 1), charts.theme())
    charts.show(
        figure,
        key=f"potential-{summary.id}",
        alt=verdict(found),
        seeks="decisions",
        download=Download(file_name("episode", short_id(summary.id), "potential", potential), lambda: _csv(found)),
    )
    says = [f"φ: {CHOICES[potential].description}"]
    if is_cut(found):
        says.insert(0, "The last decision, which pays the potential back, runs out of the chart.")
    if size > 1:
        says.insert(0, f"Each column shows the one of {size} decisions that deviates most, or the current one.")
    st.caption(" ".join(says))


def verdict(found: PotentialCheck) -> str:
    """Whether the shaping is the potential's difference, in words."""
    n, at = len(found.shaping), found.largest
    if not found.shaping.any() and not found.expected.any():
        return "This episode shows nothing: no reward was shaped and the potential never changed."
    if at is None:
        return (
            f"Based on this potential: in all {n:,} decisions the shaping is the potential's difference, up to "
            "rounding. It does not change which policies are best."
        )
    where = "the last, " if found.largest_is_end else ""
    ends = " (at the end φ is 0, which pays all of it back)" if found.largest_is_end else ""
    return (
        f"Not based on this potential: {len(found.violations):,} of {n:,} decisions deviate, by "
        f"{amount(found.total_deviation)} in all. Most in decision {at:,}, {where}which pays "
        f"{_signed(found.shaping[at])} where the potential's difference is {_signed(found.expected[at])}{ends}."
    )


def next_to_look_at(found: PotentialCheck) -> int | None:
    """Where the largest deviation is the end itself, which says little: the largest before it, if there is one."""
    return found.largest_before_end if found.largest_is_end else None


def fit_sentence(found: PotentialCheck) -> str:
    """Whether another scale would fit better."""
    best = found.best_scale
    if best is None:
        return "This potential never changed here, so no scale fits better than another."
    scale = f"{best:.4g}".replace("-", "−")
    return f"The scale that fits best is {scale}; with it, {found.explained:.0%} of the shaping is explained."


def sums_sentence(found: PotentialCheck) -> str:
    """What the shaping comes to over the episode, beside what the potential's would."""
    whatever = " whatever is played" if found.ended else ""
    return (
        f"Summed, the shaping is {_signed(found.shaping.sum())} and the potential's difference "
        f"{_signed(found.expected.sum())}. Discounted by γ, as a trainer sees it, the shaping adds "
        f"{_signed(found.discounted_shaping)}; by this potential it would add {_signed(found.discounted_expected)}"
        f"{whatever}."
    )


def end_sentence(found: PotentialCheck, summary: EpisodeSummary) -> str:
    """Where phi is taken to be 0."""
    why = reason_in_words(summary.stop_reason, summary.spec.on_done)
    if found.ended:
        return f"The last decision was known to be the end ({why}), so φ is 0 after it."
    return f"The episode was cut off ({why}), so φ stays what it was after the last decision."


def _show_controls(config: RewardConfig) -> tuple[str, float, float, Reading]:
    """The potential, gamma, scale, and what a trainer does with the shaped reward."""
    _forget_what_was_chosen_for_another(config)
    params = config.params if config.strategy == "potential_based" else {}
    own = params.get("potential")
    names = list(CHOICES)
    with st.container(horizontal=True, gap="small", key="potential-controls"):
        potential = st.selectbox(
            "Potential φ",
            names,
            index=names.index(own) if own in POTENTIALS else 0,
            format_func=lambda name: CHOICES[name].label,
            key="potential",
            width="stretch",
            help=_SOURCES,
            bind="query-params",
            persist_state="session",
        )
        gamma = st.number_input(
            "γ",
            min_value=0.0,
            max_value=1.0,
            value=_number(params.get("gamma"), 0.99),
            step=0.01,
            format="%g",
            key="potential_gamma",
            width=118,
            bind="query-params",
            persist_state="session",
        )
        scale = st.number_input(
            "Scale",
            min_value=-1e15,
            max_value=1e15,
            value=_number(params.get("scale"), 1.0) * (config.effective_lambda if params else 1.0),
            step=0.1,
            format="%g",
            key="potential_scale",
            width=118,
            bind="query-params",
            persist_state="session",
        )
    holds_env = config.strategy == "environment" or bool(params.get("env_weight", 1.0) if params else 0)
    reading = st.segmented_control(
        "Shaped reward is",
        list(_READINGS),
        default=Reading.INSTEAD if holds_env else Reading.ADDED,
        required=True,
        format_func=lambda reading: _READINGS[reading],
        key="reading",
        bind="query-params",
        persist_state="session",
        help=(
            "Added, the shaping F is the shaped reward. Used instead, F is the shaped reward minus the environment's: "
            "what it differs by from the reward that the world pays."
        ),
    )
    return potential or names[0], gamma, scale, Reading(reading or Reading.ADDED)


def _forget_what_was_chosen_for_another(config: RewardConfig) -> None:
    """Each configuration begins with what fits it, unless the address says otherwise."""
    if st.session_state.get(_CHOSEN_FOR) not in (None, config.config_hash):
        for key in _KEYS:
            if key not in st.query_params:
                st.session_state.pop(key, None)
    st.session_state[_CHOSEN_FOR] = config.config_hash


def _checked(
    summary: EpisodeSummary, track: EpisodeData, potential: str, gamma: float, scale: float, reading: Reading
) -> PotentialCheck:
    columns = reward_columns_of(store(), summary)
    scenes = scenes_of(store(), summary) if CHOICES[potential].needs_scenes else None
    before, after = potential_around(potential, columns, scenes)
    n = min(len(track.decisions), columns.n_decisions)  # a running episode may have grown between the two
    rewards = np.array([decision.reward for decision in track.decisions[:n]])
    env = np.array([decision.env_reward for decision in track.decisions[:n]])
    return check(
        reading.shaping(rewards, env), (before[:n], after[:n]), is_end=columns.is_end[:n], gamma=gamma, scale=scale
    )


def _show_verdict(found: PotentialCheck, summary: EpisodeSummary, track: EpisodeData) -> None:
    with st.container(border=True, gap="small", key="potential-verdict"):
        st.text(verdict(found))
        if found.largest is not None:
            with st.container(horizontal=True, gap="small"):
                st.button(
                    f"Go to decision {found.largest:,}, the largest deviation",
                    key="go-to-largest-deviation",
                    on_click=partial(go_to_decision, summary.id, track.decisions, found.largest),
                )
                if (other := next_to_look_at(found)) is not None:
                    st.button(
                        f"Decision {other:,}, the largest before the end",
                        key="go-to-largest-before-end",
                        on_click=partial(go_to_decision, summary.id, track.decisions, other),
                    )
    with st.expander("Details", key="potential-sums"):
        for sentence in (sums_sentence(found), fit_sentence(found), end_sentence(found, summary)):
            st.text(sentence)


def _csv(found: PotentialCheck) -> list[list[Cell]]:
    head: list[Cell] = ["decision", "shaping", "potential_before", "potential_after", "expected", "deviation"]
    columns = (found.shaping, found.before, found.after, found.expected, found.deviation)
    return [head, *([at, *row] for at, row in enumerate(np.column_stack(columns).tolist()))]


def _number(value: object, otherwise: float) -> float:
    return float(value) if isinstance(value, int | float) else otherwise


def _signed(value: float) -> str:
    return signed(float(value), 2)
