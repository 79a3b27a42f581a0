"""The "Import" popover of the Traces page: exported episodes into this store."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import streamlit as st

from core.errors import StoreError
from core.imports import UNNAMED_POLICY, Report, import_file
from pages.components.shared.export_files import safe_file_name
from pages.components.shared.state import store
from pages.components.text.escape import escape, safe_text

_FILES: Final = "import_files"
_REPORT: Final = "import_report"
_KINDS: Final = ("json", "jsonl", "zip", "npz", "db", "sqlite")
_MAX_PROBLEMS: Final = 10
_MAX_PROBLEM: Final = 300


def import_popover() -> None:
    popover = st.popover("Import…", key="import", on_change="rerun", help="Episodes that were exported elsewhere")
    with popover:
        if popover.open:
            _panel()


@st.fragment
def _panel() -> None:
    files = st.file_uploader(
        "Episodes",
        help="Exported episodes (JSON, JSONL, zip), a zip file of a Minari dataset, files of Crafter's recorder (.npz, "
        "stats.jsonl), databases of synth-ai's tracing",
        type=list(_KINDS),
        accept_multiple_files=True,
        key=_FILES,
    )
    policy = st.text_input(
        "Policy", value=UNNAMED_POLICY, max_chars=100, key="import_policy", help="Of recordings that do not name theirs"
    )
    st.caption("Importing twice changes nothing. From a terminal: python -m core.imports FILE")
    if st.button("Import", key="import_now", type="primary", disabled=not files or store().read_only):
        st.session_state[_REPORT] = _imported(files, policy.strip() or UNNAMED_POLICY)
    report: Report | None = st.session_state.get(_REPORT)
    if report is None:
        return
    show = st.warning if report.failed else st.success
    show(escape(report.sentence))
    for problem in report.problems[:_MAX_PROBLEMS]:
        st.text(safe_text(problem, _MAX_PROBLEM))
    if report.episodes and st.button("Show them", key="import_show"):
        del st.session_state[_REPORT]
        st.rerun()


def _imported(files: Sequence[Any], policy: str) -> Report:
    report = Report()
    try:
        bar = st.progress(0.0, "Importing…")
        with tempfile.TemporaryDirectory() as folder:
            for number, file in enumerate(files):
                name = Path(file.name)
                path = Path(folder) / f"{safe_file_name(name.stem)}{name.suffix.lower()}"
                path.write_bytes(file.getvalue())
                share = number / len(files)
                import_file(
                    store(),
                    path,
                    report,
                    policy=policy,
                    looked_at=lambda share=share: bar.progress(share, escape(report.sentence)),
                )
        bar.empty()
    except StoreError as error:
        st.error(escape(str(error)))
    return report
