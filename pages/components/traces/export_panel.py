"""The "Export" popover of the Traces page: the listed or selected episodes as training examples or other formats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from core.errors import CraftscopeError
from core.exports import Portion, SftFilter, export_command
from core.store import EpisodeFilter, EpisodeSummary
from core.text import plural
from pages.components.shared.export_files import MAX_BYTES, MAX_EXAMPLES, count_examples, examples_file, models_of
from pages.components.shared.state import store
from pages.components.text.escape import escape, one_line, safe_text
from pages.components.text.format import number
from pages.components.traces.export_formats import format_picker, offer_format

FILE_NAME = "craftscope-sft.jsonl"
_COUNTED_WITHOUT_ASKING = 300  # decisions
_MAX_COMMAND = 4_000
_COUNTED = "sft_counted"


def export_popover(chosen: EpisodeFilter, rows: Sequence[EpisodeSummary], ticked: Sequence[EpisodeSummary]) -> None:
    """chosen: the page's filter. rows: the listed episodes. ticked: if not empty, only these are exported."""
    popover = st.popover("Export…", key="export", on_change="rerun", help="For trainers and other programs")
    with popover:
        if popover.open:
            _panel(chosen, tuple(rows), tuple(ticked))


@st.fragment
def _panel(chosen: EpisodeFilter, rows: tuple[EpisodeSummary, ...], ticked: tuple[EpisodeSummary, ...]) -> None:
    format_ = format_picker()
    st.caption(
        f"From {plural(len(ticked), 'selected episode')}"
        if ticked
        else "From all episodes that match the filters, on every page. Select some to export only those."
    )
    wanted = SftFilter() if format_ else _filters(rows)
    wanted = (
        replace(wanted, episode_ids=tuple(row.id for row in ticked)) if ticked else replace(wanted, episodes=chosen)
    )
    try:
        totals = None if ticked else store().episodes.totals(chosen)
        if format_:
            offer_format(format_, wanted, totals.episodes if totals else len(ticked))
        else:
            _offer(wanted, totals.decisions if totals else sum(row.n_decisions for row in ticked))
    except CraftscopeError as error:
        st.error(escape(str(error)))
        return
    command = export_command(wanted, format_.out if format_ else FILE_NAME, format_.name if format_ else None)
    if len(command) <= _MAX_COMMAND:
        st.caption("From a terminal, without a size limit:")
        st.code(safe_text(command), language="bash", wrap_lines=True)


def _filters(rows: Sequence[EpisodeSummary]) -> SftFilter:
    min_reward = st.number_input(
        "Decision reward from", value=None, key="sft_min_reward", placeholder="any", help="Shaped reward, inclusive"
    )
    models = st.multiselect(
        "Model",
        models_of(store(), rows),
        key="sft_models",
        placeholder="Any",
        accept_new_options=True,
        format_func=lambda name: one_line(name, 60),
        help="The model name in the response",
    )
    with_invalid = st.checkbox("Include invalid calls", key="sft_unusable")
    all_policies = st.checkbox("Include other policies", key="sft_all_policies", help="Such as scripted and random")
    return SftFilter(
        min_reward=min_reward, models=tuple(models), include_invalid=with_invalid, all_policies=all_policies
    )


def _offer(wanted: SftFilter, decisions: int) -> None:
    """Counts few decisions immediately and many on request; then offers the download. decisions: the number to read."""
    counted: dict[tuple[SftFilter, int], Portion] = st.session_state.setdefault(_COUNTED, {})
    what = (wanted, decisions)
    if what not in counted and (
        decisions <= _COUNTED_WITHOUT_ASKING
        or st.button("Count", key="sft_count", help=f"Reads {plural(decisions, 'decision')}")
    ):
        with st.spinner("Counting…"):
            counted.clear()
            counted[what] = count_examples(store(), wanted)
    found = counted.get(what)
    if found is not None and not found.lines:
        st.info("No decision matches. Include invalid calls or other policies above to export more.")
        return
    st.caption(_count_text(found))
    stored = store()
    st.download_button(
        "Download" if found is None else f"Download {plural(found.lines, 'example')}",
        data=lambda: examples_file(stored, wanted),
        file_name=FILE_NAME,
        mime="application/jsonl",
        on_click="ignore",
        type="primary",
        key="sft_download",
    )


def _count_text(found: Portion | None) -> str:
    limit = f"{number(MAX_EXAMPLES)} examples or {number(MAX_BYTES / 2**20)} MB"
    if found is None:
        return f"Not counted yet. Limit: {limit}, newest episodes first."
    size = f"{number(found.size / 2**20, 1)} MB" if found.size >= 2**20 else f"{number(found.size / 1024, 1)} kB"
    counted = f"{plural(found.lines, 'example')}, {size}."
    return counted if found.is_all else f"The first {counted} Limit: {limit}."
