"""The "Potential" tab: whether the shaping is potential-based, so that it cannot change which policies are best."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from core.analysis.next_resource import NextResource
from core.analysis.potential_check import CHOICES, PotentialCheck, Reading, check
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
from pages.components.text.format import amount, short_id, signed, stop_reason_text

_READINGS = {Reading.ADDED: "added to the env reward", Reading.INSTEAD: "used instead of it"}
_SOURCES = (
    "F = scale × (γ φ(after) − φ(before)) for some φ is the only shaping that keeps the best policies in every world "
    "(Ng, Harada, Russell 1999), with φ = 0 after an episode's end (Grzes 2017). A decision counts as one step."
)
_KEYS = ("potential", "potential_gamma", "potential_scale", "reading")
_CHOSEN_FOR = "potential_chosen_for"  # the configuration that the controls were last set for
_MAX_ERROR_LENGTH = 500


def show_potential(summary: EpisodeSummary, data: EpisodeData, current: int) -> None:
    potential, gamma, scale, reading = _show_controls(summary.spec.reward)
    try:
        found = _checked(summary, data, potential, gamma, scale, reading)
    except InvalidInput as error:  # the scenes are corrupt or incomplete
        st.text(safe_text(str(error), _MAX_ERROR_LENGTH))
        return
    _show_verdict(found, summary, data)
    figure, size = potential_chart(found, potential, min(current, len(found.shaping) - 1), charts.theme())
    charts.show(
        figure,
        key=f"potential-{summary.id}",
        alt=verdict(found),
        seeks="decisions",
        download=Download(file_name("episode", short_id(summary.id), "potential", potential), lambda: _csv(found)),
    )
    notes = [f"φ: {CHOICES[potential].description}"]
    if is_cut(found):
        notes.insert(0, "The last decision, which pays back the potential, exceeds the chart.")
    if size > 1:
        notes.insert(0, f"Each column: the largest deviation of {size} decisions, or the current one.")
    st.caption(" ".join(notes))


def verdict(found: PotentialCheck) -> str:
    n, at = len(found.shaping), found.largest
    if not found.shaping.any() and not found.expected.any():
        return "No result: no shaped reward, and the potential never changed."
    if at is None:
        return (
            f"Potential-based: in all {n:,} decisions the shaping equals the potential difference, up to rounding. "
            "It does not change which policies are best."
        )
    where = " (the last; φ is 0 after it)" if found.largest_is_end else ""
    return (
        f"Not potential-based with this φ: {len(found.violations):,} of {n:,} decisions deviate, by "
        f"{amount(found.total_deviation)} in total. Largest in decision {at:,}{where}: shaping "
        f"{_signed(found.shaping[at])}, potential difference {_signed(found.expected[at])}."
    )


def second_largest(found: PotentialCheck) -> int | None:
    """The largest deviation before the end, if the end itself is the largest: that one only pays back φ."""
    return found.largest_before_end if found.largest_is_end else None


def fit_sentence(found: PotentialCheck) -> str:
    best = found.best_scale
    if best is None:
        return "Best-fitting scale: none, as the potential never changed."
    scale = f"{best:.4g}".replace("-", "−")
    return f"Best-fitting scale: {scale}, which explains {found.explained:.0%} of the shaping."


def sums_sentence(found: PotentialCheck) -> str:
    any_play = ", whatever the policy does" if found.ended else ""
    return (
        f"Sum: shaping {_signed(found.shaping.sum())}, potential difference {_signed(found.expected.sum())}. "
        f"Discounted by γ, as in training: shaping {_signed(found.discounted_shaping)}, potential difference "
        f"{_signed(found.discounted_expected)}{any_play}."
    )


def end_sentence(found: PotentialCheck, summary: EpisodeSummary) -> str:
    why = stop_reason_text(summary.stop_reason, summary.spec.on_done)
    if found.ended:
        return f"Known end ({why}): φ is 0 after the last decision."
    return f"Cut off ({why}): φ keeps its value after the last decision."


def _show_controls(config: RewardConfig) -> tuple[str, float, float, Reading]:
    """Potential, gamma, scale, and how a trainer uses the shaped reward."""
    _reset_for_new_configuration(config)
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
        field = partial(st.number_input, format="%g", width=118, bind="query-params", persist_state="session")
        gamma = field(
            "γ",
            min_value=0.0,
            max_value=1.0,
            value=_number(params.get("gamma"), 0.99),
            step=0.01,
            key="potential_gamma",
        )
        scale = field(
            "Scale",
            min_value=-1e15,
            max_value=1e15,
            value=_number(params.get("scale"), 1.0) * (config.effective_lambda if params else 1.0),
            step=0.1,
            key="potential_scale",
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
            "Added: the shaping F is the shaped reward. Used instead: F is the shaped reward minus the environment's."
        ),
    )
    return potential or names[0], gamma, scale, Reading(reading or Reading.ADDED)


def _reset_for_new_configuration(config: RewardConfig) -> None:
    """Back to the defaults when another configuration is shown, except for what the URL sets."""
    if st.session_state.get(_CHOSEN_FOR) not in (None, config.config_hash):
        for key in _KEYS:
            if key not in st.query_params:
                st.session_state.pop(key, None)
    st.session_state[_CHOSEN_FOR] = config.config_hash


def _checked(
    summary: EpisodeSummary, data: EpisodeData, potential: str, gamma: float, scale: float, reading: Reading
) -> PotentialCheck:
    columns = reward_columns_of(store(), summary)
    phi = POTENTIALS.get(potential) or NextResource(scenes_of(store(), summary))
    before, after = phi.around(columns)
    n = min(len(data.decisions), columns.n_decisions)  # a running episode may have grown between the two
    rewards = np.array([decision.reward for decision in data.decisions[:n]])
    env = np.array([decision.env_reward for decision in data.decisions[:n]])
    return check(
        reading.shaping(rewards, env), (before[:n], after[:n]), is_end=columns.is_end[:n], gamma=gamma, scale=scale
    )


def _show_verdict(found: PotentialCheck, summary: EpisodeSummary, data: EpisodeData) -> None:
    with st.container(border=True, gap="small", key="potential-verdict"):
        st.text(verdict(found))
        if found.largest is not None:
            with st.container(horizontal=True, gap="small"):
                st.button(
                    f"Go to decision {found.largest:,}, the largest deviation",
                    key="go-to-largest-deviation",
                    on_click=partial(go_to_decision, summary.id, data.decisions, found.largest),
                )
                if (other := second_largest(found)) is not None:
                    st.button(
                        f"Decision {other:,}, the largest before the end",
                        key="go-to-largest-before-end",
                        on_click=partial(go_to_decision, summary.id, data.decisions, other),
                    )
    with st.expander("Details", key="potential-details"):
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
