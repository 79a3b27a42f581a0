"""Fills the reward form: from the defaults, a saved configuration, or that of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import streamlit as st

from core.env.rules import ACHIEVEMENTS, ITEMS
from core.errors import InvalidReward, StoreCorrupt, StoreError
from core.rewards import checked_reward, from_document
from core.store import EpisodeFilter, SavedReward
from core.text import plural
from core.types import RewardConfig
from pages.components.rewards.form import DEFAULT, fill_reward_form
from pages.components.rewards.reward_text import reward_text
from pages.components.shared.corrupt_rows import show_corrupt_rewards
from pages.components.shared.form_state import FormState
from pages.components.shared.state import store
from pages.components.text.escape import one_line, safe_text
from pages.components.text.format import run_label, short_id, when

DEFAULTS: Final = "defaults"
IMPORTED: Final = "imported"
FROM_LAB: Final = "lab"
LINKED: Final = "link"
_DELETED: Final = "forgotten"
_UNLISTED: Final = {
    IMPORTED: "Imported JSON",
    FROM_LAB: "As tried in the Lab",
    LINKED: "The link",
    _DELETED: "A deleted configuration",
}

_SAVED, _RUN, _EPISODE = "saved:", "run:", "episode:"
_FIELD: Final = "start"
_PROBLEM: Final = "start_problem"
_MAX_NAME_LENGTH = 60
_MAX_RUNS = 30
_MAX_SENTENCE_LENGTH = 500


def start_picker(form: FormState, saved: Mapping[str, SavedReward], *, with_runs: bool = False) -> str:
    """Draw the selector; returns the name of the saved configuration picked, or an empty string.

    saved: by name. with_runs: also offer the configurations of the newest runs.
    """
    options = {DEFAULTS: "The defaults"}
    options |= {_SAVED + name: f"Saved: {one_line(name, _MAX_NAME_LENGTH)}" for name in saved}
    if with_runs:
        options |= _runs()
    current = form.get(_FIELD, DEFAULTS)
    if current.startswith(_EPISODE):
        options = {current: f"Episode {one_line(short_id(current.removeprefix(_EPISODE)), 8)}"} | options
    elif current not in options:
        if current not in _UNLISTED:  # deleted since; the form keeps its values
            current = _DELETED
            form.put(_FIELD, current)
        options = {current: _UNLISTED[current]} | options
    chosen = st.selectbox(
        "Start from",
        list(options),
        format_func=lambda key: options.get(key) or key,
        key=form.keep(_FIELD, DEFAULTS),
        persist_state="session",
        on_change=_start,
        args=(form,),
        help="Fills the form; the source does not change.",
    )
    if problem := form.get(_PROBLEM):
        st.error("Cannot start from this configuration.")
        st.text(safe_text(problem, _MAX_SENTENCE_LENGTH))
    show_corrupt_rewards(store().rewards.saved().unreadable, form.key("corrupt_rewards"))
    return chosen.removeprefix(_SAVED) if chosen and chosen.startswith(_SAVED) else ""


def start_from(form: FormState, config: RewardConfig, origin: str) -> None:
    """Fill the form; call it before it is drawn, or in a callback. origin: such as `IMPORTED` or `saved_as(...)`."""
    form.put(_PROBLEM, "")
    form.put(_FIELD, origin)
    fill_reward_form(form, config)


def start_from_link(form: FormState, config: RewardConfig) -> None:
    """Fill the form with a link's configuration, a checked one. A saved one is shown by its name."""
    if config == checked_reward(DEFAULT):
        origin = DEFAULTS
    else:
        origin = next(
            (saved_as(saved.name) for saved in store().rewards.saved().rows if saved.config == config), LINKED
        )
    start_from(form, config, origin)


def config_in(text: str) -> RewardConfig:
    """The checked configuration of a trainer's JSON or of a link. Names in saved configurations are accepted beside
    Crafter's own, so that the Lab can import its own exports. Raises InvalidReward."""
    saved = [entry.config for entry in store().rewards.saved().rows]
    achievements, items = [*ACHIEVEMENTS], [*ITEMS]
    for config in saved:
        achievements += [*config.weights, *config.k_limits, *config.achievement_count_weights]
        items += config.inventory_weights
    return from_document(text, achievements=dict.fromkeys(achievements), items=dict.fromkeys(items))


def saved_as(name: str) -> str:
    """The origin of a saved configuration."""
    return _SAVED + name


def origin_of(form: FormState) -> str:
    """The form's last origin."""
    return form.get(_FIELD, DEFAULTS)


def start_from_episode(form: FormState, episode_id: str) -> None:
    """Fill the form with the configuration of an episode. Raises StoreError, InvalidReward."""
    start_from(form, checked_reward(store().episodes.get(episode_id).spec.reward), _EPISODE + episode_id)


def _runs() -> dict[str, str]:
    return {
        _RUN + run.id: f"Run: {run_label(run.name, run.id)} · {when(run.created_at)}"
        for run in store().runs.newest(_MAX_RUNS).rows
        if run.n_episodes
    }


def _start(form: FormState) -> None:
    """Fill the form from the choice, or remember why that is not possible."""
    chosen = form.get(_FIELD)
    form.put(_PROBLEM, "")
    try:
        fill_reward_form(form, _config_of(chosen))
    except (StoreError, InvalidReward, KeyError) as error:
        gone = "It was deleted." if isinstance(error, KeyError) else str(error)
        form.put(_PROBLEM, gone)


def _config_of(chosen: str) -> RewardConfig:
    """Raises StoreError, InvalidReward, and KeyError if the saved configuration was deleted."""
    if chosen.startswith(_SAVED):
        saved = {entry.name: entry.config for entry in store().rewards.saved().rows}
        return checked_reward(saved[chosen.removeprefix(_SAVED)])
    if chosen.startswith(_RUN):
        page = store().episodes.page(EpisodeFilter(run_id=chosen.removeprefix(_RUN)))
        if not page.rows and page.unreadable:
            raise StoreCorrupt(page.unreadable[0].problem)
        return checked_reward(page.rows[0].spec.reward) if page.rows else DEFAULT
    if chosen.startswith(_EPISODE):
        return checked_reward(store().episodes.get(chosen.removeprefix(_EPISODE)).spec.reward)
    return DEFAULT  # offered only while the form shows it


def described(entry: SavedReward) -> str:
    """One line about a saved configuration."""
    stored = f" · returns of {plural(entry.n_scored, 'episode')} stored" if entry.n_scored else ""
    return f"{reward_text(entry.config)} · saved {when(entry.saved_at)}{stored}"
