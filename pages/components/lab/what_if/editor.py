"""The panel that edits a reward configuration, and saves, imports, exports, deletes and launches it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import streamlit as st

from core.analysis.rescore import StoredFacts, score
from core.errors import InvalidInput, InvalidReward, StoreError
from core.rewards import checked_reward, to_document
from core.rewards.document import MAX_CHARACTERS
from core.store import SavedReward
from core.text import plural
from core.types import RewardConfig
from pages.components.lab.shared.link import LAB
from pages.components.launch.state import LAUNCH
from pages.components.rewards.form import DEFAULT, fill_reward_form, filled_from, reward_form
from pages.components.rewards.reward_text import differences
from pages.components.rewards.start import (
    FROM_LAB,
    IMPORTED,
    config_in,
    described,
    origin_of,
    saved_as,
    start_from,
    start_picker,
)
from pages.components.shared.state import store
from pages.components.text.escape import escape, one_line, safe_text
from pages.components.text.format import listed, number

_LAST_VALID: Final = "last_valid"
_FLASH: Final = "flash"
_SAVED: Final = "just_saved"
_SAVE_ERROR, _DELETE_ERROR, _IMPORT_ERROR = "save_error", "delete_error", "import_error"
_SAVE_POPOVER, _IMPORT_POPOVER = "save_popover", "import_popover"
_MAX_LISTED = 4
_MAX_NAME_LENGTH = 60
_MAX_SENTENCE_LENGTH = 500
_MAX_MEGABYTES = 6
_STATE_PX = 48  # two lines; longer texts scroll


@dataclass(frozen=True, slots=True)
class Edited:
    """config: the last valid configuration. problem: why the current one is invalid."""

    config: RewardConfig
    problem: str = ""


def editor(stored: StoredFacts, saved: Mapping[str, SavedReward]) -> Edited:
    """Draws the panel. stored: all episodes, whose returns can be saved. saved: configurations by name."""
    _start_from_saved()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**Reward configuration**", width="content")
        st.space("stretch")
        undo = st.container(width="content")
    name = start_picker(LAB, saved, with_runs=True)
    if name:
        st.caption(escape(described(saved[name])))
    tools = st.container(horizontal=True, gap="small", key="lab-tools")
    # A fixed height: the tables below must not move while the user edits cell after cell.
    state = st.container(height=_STATE_PX, border=False, gap="xxsmall", key="lab-state")
    st.divider()
    given = reward_form(LAB, narrow=True)
    edited = _checked(given)
    with undo:
        st.button(
            "Undo changes",
            key=LAB.key("undo"),
            type="tertiary",
            on_click=_undo,
            disabled=not differences(filled_from(LAB), given),
            help="Restore what the form started from.",
        )
    with tools:
        _save(edited, stored)
        _import()
        st.download_button(
            "Export",
            data=to_document(edited.config),
            file_name=f"step_rewards_{edited.config.config_hash[:8]}.json",
            mime="application/json",
            key=LAB.key("export"),
            disabled=bool(edited.problem),
            on_click="ignore",
            help="The JSON that a trainer takes.",
        )
        _launch_button(edited)
        if name:
            _delete(name)
    with state:
        _show_flash()
        _show_state(edited)
    return edited


def _checked(given: RewardConfig) -> Edited:
    try:
        config = checked_reward(given)
    except InvalidReward as error:
        return Edited(LAB.get(_LAST_VALID, DEFAULT), str(error))
    LAB.put(_LAST_VALID, config)
    return Edited(config)


def _show_state(edited: Edited) -> None:
    if edited.problem:
        problem = escape(one_line(edited.problem, _MAX_SENTENCE_LENGTH))
        st.caption(f":red[**Invalid configuration.** Results show the last valid one. {problem}]")
        return
    changed = differences(filled_from(LAB), edited.config)
    if changed:
        st.caption(f"**Changed:** {_shortened(changed)}.")
    elif own := differences(checked_reward(DEFAULT), edited.config):
        st.caption(f"**Differs from the defaults:** {_shortened(own)}.")
    else:
        st.caption("These are the defaults. Edits are re-scored at once.")


def _shortened(lines: Sequence[str]) -> str:
    return listed([escape(one_line(line, 90)) for line in lines], _MAX_LISTED, "; ")


def _undo() -> None:
    fill_reward_form(LAB, filled_from(LAB))


def _save(edited: Edited, stored: StoredFacts) -> None:
    with st.popover("Save…", key=LAB.key(_SAVE_POPOVER), on_change="rerun"):
        st.text_input("Name", key=LAB.key("save_name"), max_chars=80, placeholder="such as: no pay for drinking")
        st.checkbox(
            f"Also store the returns of all {number(len(stored.episodes))} episodes",
            key=LAB.key("save_returns"),
            help="Their returns under this configuration. The returns as played do not change.",
        )
        # Not in a callback: it would get the configuration of the previous rerun, without the latest edit.
        if st.button("Save", key=LAB.key("save"), type="primary", disabled=bool(edited.problem) or store().read_only):
            _do_save(edited.config, stored)
            st.rerun()
        _show_error(_SAVE_ERROR)
        st.caption("An existing name is not overwritten.")


def _do_save(config: RewardConfig, stored: StoredFacts) -> None:
    name = (LAB.get("save_name") or "").strip()
    more = ""
    LAB.put(_SAVE_ERROR, "")
    toast = st.toast("Saving…")  # takes a while if another program is writing
    new_returns: dict[str, float] = {}
    try:
        if LAB.get("save_returns"):
            returns = score(stored.columns, config).returns
            new_returns = {episode.id: float(value) for episode, value in zip(stored.episodes, returns, strict=True)}
        name = store().rewards.save(name, config)
    except (InvalidInput, StoreError) as error:
        LAB.put(_SAVE_ERROR, f"Not saved: {error}")
        toast.toast("Not saved.")
        return
    toast.toast("Saved.")
    try:
        if new_returns:
            store().rewards.save_scorings(config, new_returns)
            more = f" The returns of {plural(len(new_returns), 'episode')} are stored with it."
    except (InvalidInput, StoreError) as error:
        more = f" The returns were not stored: {error}"
    LAB.put(_SAVED, (name, config))
    LAB.put(_FLASH, f"Saved as “{name}”.{more}")


def _start_from_saved() -> None:
    """Fills the form with what was just saved. Call it before the form: Streamlit allows it only then."""
    if saved := st.session_state.pop(LAB.key(_SAVED), None):
        name, config = saved
        start_from(LAB, config, saved_as(name))
        LAB.put("save_name", "")
        LAB.put(_SAVE_POPOVER, False)


def _delete(name: str) -> None:
    with st.popover("Delete…", key=LAB.key("forget_popover")):
        st.text(f"Delete “{one_line(name, _MAX_NAME_LENGTH)}” and its stored returns?")
        st.caption("The returns as played stay. This cannot be undone.")
        st.button(
            "Delete for good", key=LAB.key("forget"), on_click=_do_delete, args=(name,), disabled=store().read_only
        )
        _show_error(_DELETE_ERROR)


def _do_delete(name: str) -> None:
    LAB.put(_DELETE_ERROR, "")
    try:
        store().rewards.delete_saved(name)
    except (InvalidInput, StoreError) as error:
        LAB.put(_DELETE_ERROR, f"Not deleted: {error}")
        return
    LAB.put(_FLASH, f"“{name}” is deleted. The form still shows it.")


def _show_error(kind: str) -> None:
    if error := LAB.get(kind):
        st.error(escape(one_line(error, _MAX_SENTENCE_LENGTH)))


def _show_flash() -> None:
    if text := st.session_state.pop(LAB.key(_FLASH), ""):
        st.text(safe_text(text, _MAX_SENTENCE_LENGTH))


def _import() -> None:
    with st.popover("Import…", key=LAB.key(_IMPORT_POPOVER), on_change="rerun"):
        key = LAB.key("file")
        st.file_uploader(
            "A trainer’s JSON file, loaded when chosen",
            type="json",
            key=key,
            max_upload_size=_MAX_MEGABYTES,
            on_change=_use_file,
            args=(key,),
        )
        st.text_area(
            "or paste it",
            key=LAB.key("pasted"),
            height=140,
            max_chars=MAX_CHARACTERS,
            placeholder='{"step_rewards": {"strategy": "per_achievement", …}}',
        )
        st.button("Use pasted JSON", key=LAB.key("use_pasted"), on_click=_use_pasted)
        _show_error(_IMPORT_ERROR)


def _use_file(key: str) -> None:
    LAB.put(_IMPORT_ERROR, "")
    if (file := st.session_state.get(key)) is not None:  # None if the file was removed
        _use(file.getvalue(), f"“{one_line(file.name, _MAX_NAME_LENGTH)}”")


def _use_pasted() -> None:
    _use((LAB.get("pasted") or "").encode("utf-8", "surrogatepass"))


def _use(content: bytes, what: str = "It") -> None:
    """Fills the form from a trainer's JSON. what: its name in error messages, since the field may show another file by
    then."""
    LAB.put(_IMPORT_ERROR, "")
    try:
        text = content.decode("utf-8")
        config = config_in(text)
    except UnicodeDecodeError:
        LAB.put(_IMPORT_ERROR, f"{what} was not imported: it is not text in UTF-8.")
        return
    except (InvalidReward, StoreError) as error:
        LAB.put(_IMPORT_ERROR, f"{what} was not imported: {error}")
        return
    start_from(LAB, config, IMPORTED)
    LAB.put("pasted", "")
    LAB.put(_IMPORT_POPOVER, False)
    LAB.put(_FLASH, "Imported.")


def _launch_button(edited: Edited) -> None:
    clicked = st.button(
        "Launch →",
        key=LAB.key("launch"),
        disabled=bool(edited.problem),
        help="Opens the launch form with this configuration. Nothing starts yet.",
    )
    if clicked:
        is_as_saved = edited.config == filled_from(LAB) and origin_of(LAB).startswith(saved_as(""))
        start_from(LAUNCH, edited.config, origin_of(LAB) if is_as_saved else FROM_LAB)
        # Without query_params, parameters bound to widgets of this page would reach the launch form.
        st.switch_page("pages/launch.py", query_params={})
