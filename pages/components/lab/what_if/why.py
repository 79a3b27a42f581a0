"""Why returns change: what each component pays in one or two episodes, and the decisions with the largest changes."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.errors import CraftscopeError
from core.text import plural
from pages.components import charts
from pages.components.charts.download import Download, Table, file_name
from pages.components.lab.shared.lab_text import change_lines, episode_name, from_to, id_of, policy_of
from pages.components.lab.shared.link import LAB
from pages.components.lab.what_if.charts import PaidEpisode, largest_parts, paid_parts, part_label, part_totals
from pages.components.lab.what_if.rescored import Rescored
from pages.components.rewards.form import can_set_weight, cell_label, set_weight, weight_of
from pages.components.text.escape import escape, one_line, safe_text
from pages.components.text.format import name_text, number, signed

_MAX_DECISIONS = 6
_MAX_WEIGHTS = 3
_MAX_LINE_LENGTH = 200
_MAX_EPISODE_DECISIONS = 20_000  # adding up the components takes 0.1 s for 4,000 decisions, at each edit


def show_why(result: Rescored, places: Sequence[int], key: str) -> None:
    """Explains the changes of one episode, or of two side by side, and lets the user edit the weights behind them."""
    if any(result.episodes[at].n_decisions > _MAX_EPISODE_DECISIONS for at in places):
        st.info(f"No details for episodes of more than {number(_MAX_EPISODE_DECISIONS)} decisions.")
        return
    try:
        paid = [_paid(result, at) for at in places]
    except CraftscopeError as error:
        st.error("Cannot read the reward components.")
        st.text(safe_text(str(error), 500))
        return
    alt = "; ".join(", ".join(episode.title) for episode in paid)
    download = Download(
        file_name("rewards-by-component", *(id_of(result.episodes[at]) for at in places)),
        lambda: _table(result, places, paid),
    )
    charts.show(paid_parts(paid, charts.theme()), key=f"lab-parts-{key}", alt=alt, download=download)
    _offer_weights(result, paid)
    st.markdown("**Decisions that change most**")
    if result.changes_nothing:
        st.caption("No changes: both sides pay the same.")
        return
    for column, at in zip(st.columns(len(places), gap="medium"), places, strict=True):
        with column:
            if len(places) > 1:
                st.text(f"{episode_name(result.episodes[at])}: {change_text(result, at)}")
            _list_decisions(result, at)


def _paid(result: Rescored, at: int) -> PaidEpisode:
    episode = result.episodes[at]
    returns = from_to(result.before.returns[at], result.after.returns[at])
    title = (policy_of(episode), plural(episode.n_achievements, "achievement"), returns)
    return PaidEpisode(title, part_totals(result.parts_before(at)), part_totals(result.parts_after(at)))


def change_text(result: Rescored, at: int) -> str:
    """Such as `−6.12 in 22 of 22 decisions`."""
    changed, count = result.n_changed(at), result.episodes[at].n_decisions
    if not changed:
        return f"no change in {plural(count, 'decision')}"
    return f"{signed(result.changes[at])} in {number(changed)} of {number(count)} decisions"


def _offer_weights(result: Rescored, paid: Sequence[PaidEpisode]) -> None:
    """Shows number fields for the weights of the components that pay most."""
    keys = [
        (kind, name)
        for kind, name in largest_parts(paid, max_parts=20)
        if can_set_weight(result.config.strategy, kind, name)
    ][:_MAX_WEIGHTS]
    if not keys:
        return
    st.caption("Weights of the largest contributions, as in the tables. Edit them here or there.")
    with st.container(key="lab-weights"):
        for column, (kind, name) in zip(st.columns(_MAX_WEIGHTS), keys, strict=False):
            value = float(weight_of(result.config, kind, name))
            # The table holds the value. The field starts with it, and gets a new key when it changes, so that it never
            # shows an outdated value.
            field = LAB.key(f"pays_{kind}_{name}_{LAB.get(_edits_of(kind, name), 0)}_{value!r}")
            LAB.put(field_of(kind, name), field)
            column.number_input(
                f"{name_text(name)}, {cell_label(kind)}",
                value=value,
                key=field,
                step=0.01,
                format="%g",
                on_change=set_from_field,
                args=(kind, name, field, value),
            )


def set_from_field(kind: str, name: str, field: str, initial: float) -> None:
    """Writes the typed weight into the table.

    With the next edit, a browser may report the value of a replaced field once more. That must not undo the edit.
    """
    value = st.session_state.get(field)
    if LAB.get(field_of(kind, name)) != field or value == initial:
        return
    LAB.put(_edits_of(kind, name), LAB.get(_edits_of(kind, name), 0) + 1)
    if value is not None:
        set_weight(LAB, kind, name, float(value))


def field_of(kind: str, name: str) -> str:
    """The form key that holds the widget key of the current field."""
    return f"field_of_{kind}_{name}"


def _edits_of(kind: str, name: str) -> str:
    """The form key that counts edits, so that each edit gives the field a new widget key."""
    return f"edits_of_{kind}_{name}"


def _list_decisions(result: Rescored, at: int) -> None:
    episode = result.episodes[at]
    places = result.most_changed_decisions(at, _MAX_DECISIONS)
    if not places:
        st.caption("No decision changes.")
        return
    first = result.stored.columns.decisions_of(at).start
    before, after = result.parts_before(at), result.parts_after(at)
    for index in places:
        step = int(result.stored.columns.step_ends[first + index])
        with st.container(gap=None, key=f"lab-decision-{at}-{index}"):
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.page_link(
                    "pages/episode.py",
                    label=f"Decision {number(index)}, step {number(step)} →",
                    query_params={"id": episode.id, "step": str(step), "tab": "Ledger"},
                    width="content",
                )
                st.text(
                    from_to(float(result.before.rewards[first + index]), float(result.after.rewards[first + index]))
                )
            for line in change_lines(before[index], after[index]):
                st.caption(escape(one_line(line, _MAX_LINE_LENGTH)))
    more = result.n_changed(at) - len(places)
    if more > 0:
        st.caption(f"… and {number(more)} more with smaller changes")


def _table(result: Rescored, places: Sequence[int], paid: Sequence[PaidEpisode]) -> Table:
    """The data of the chart; each row names its episode, because users sort and split spreadsheets."""
    heading = ("episode", "policy", "seed", "kind", "component", "paid before", "pays now", "decisions")
    rows: list[tuple[str | float | int, ...]] = [heading]
    for at, parts in zip(places, paid, strict=True):
        episode = result.episodes[at]
        for key in largest_parts([parts], max_parts=10_000):
            before, after = parts.before.get(key), parts.after.get(key)
            counted = max(total.decisions for total in (before, after) if total)
            rows.append(
                (
                    episode.id,
                    episode.policy,
                    episode.seed,
                    key[0],
                    part_label(key),
                    before.value if before else 0.0,
                    after.value if after else 0.0,
                    counted,
                )
            )
    return rows
