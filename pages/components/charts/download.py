"""Downloads of a chart: as a picture (PNG, SVG) and its data (CSV). Needs no network.

Three small buttons appear at a chart's upper right corner on hover or focus. Plotly makes the pictures in the browser:
our button presses the one in its hidden tool bar after setting the format.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.components.v2 import component

from pages.components.text.escape import safe_text

Cell = str | int | float | None
Table = Sequence[Sequence[Cell]]

_NAME = "craftscope.chart_pictures"
_PIXELS = 2  # pixels of the PNG per pixel on the page

# Spreadsheets may run text that begins with one of these as a formula; their full-width forms too.
# OWASP, "CSV injection": https://owasp.org/www-community/attacks/CSV_Injection
_FORMULA = re.compile(r"\s*[=+\-@|%\t\r\n\uff1d\uff0b\uff0d\uff20]")
_UNSAFE_IN_A_NAME = re.compile(r"[^0-9A-Za-z]+")
_MAX_NAME_LENGTH = 40
_MAX_CELL_LENGTH = 300

_JS = """
export default function ({ data, parentElement }) {
  const buttons = [...parentElement.querySelectorAll("button")];
  const find = () => {
    const host = parentElement.getRootNode().host ?? parentElement;
    const chart = host.closest("[class*='st-key-chart-']")?.querySelector(".js-plotly-plot");
    return [chart, chart?.querySelector(".modebar-btn")];
  };
  const press = async (event) => {
    const { format } = event.currentTarget.dataset;
    let [chart, camera] = find();
    while (!camera && parentElement.isConnected) { // the buttons are there before a browser has drawn its first chart
      await new Promise((resolve) => setTimeout(resolve, 50));
      [chart, camera] = find();
    }
    if (!camera) return; // another page is shown
    chart._context.toImageButtonOptions = { format, filename: data.name, scale: format === "png" ? data.pixels : 1 };
    const { layout } = chart;
    chart.layout = asPicture(layout); // Plotly copies it while the button is pressed
    camera.dispatchEvent(new MouseEvent("click"));
    chart.layout = layout;
  };
  for (const button of buttons) button.addEventListener("click", press);
  return () => buttons.forEach((button) => button.removeEventListener("click", press));
}

// A picture is drawn without the page's fonts: letters of another width would be cut. Nor can it be clicked.
function asPicture(layout) {
  const title = layout.xaxis?.title?.text?.replace(/ \\(click to go there\\)$/, "");
  const xaxis = title ? { ...layout.xaxis, title: { ...layout.xaxis.title, text: title } } : layout.xaxis;
  return { ...layout, xaxis, font: { ...layout.font, family: "sans-serif" } };
}
"""
_HTML = """
<button type="button" data-format="png" title="Save the chart as a picture (PNG)">PNG</button>
<button type="button" data-format="svg" title="Save the chart as a drawing (SVG)">SVG</button>
"""
_CSS = """
:host, div { display: flex; gap: 0.15rem; }
button { all: unset; box-sizing: border-box; height: 1.6rem; padding: 0 0.3rem; cursor: pointer;
  font: 500 0.75rem/1.6rem var(--st-font), sans-serif; color: var(--st-text-color); opacity: 0.8; border-radius: 4px; }
button:hover { opacity: 1; color: var(--st-primary-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); opacity: 1; }
"""

STYLES = """
[class*="st-key-chart-"] { position: relative; }
[class*="st-key-chart-"] .modebar-container { display: none; }
[data-testid="stLayoutWrapper"]:has(> [class*="st-key-files-"]) { position: absolute; top: 0; right: 0; width: auto;
  z-index: 2; opacity: 0; transition: opacity 0.12s; }
[class*="st-key-chart-"]:is(:hover, :focus-within) [data-testid="stLayoutWrapper"]:has(> [class*="st-key-files-"]) {
  opacity: 1; }
@media (hover: none) {
  [data-testid="stLayoutWrapper"]:has(> [class*="st-key-files-"]) { opacity: 1; }
}
[class*="st-key-files-"] { width: auto; padding: 0 0.2rem; border-radius: 6px; flex-wrap: nowrap;
  backdrop-filter: blur(8px); }
[class*="st-key-files-"] [data-testid="stDownloadButton"] button { min-height: 0; height: 1.6rem; padding: 0 0.3rem;
  opacity: 0.8; }
[class*="st-key-files-"] [data-testid="stDownloadButton"] button:hover { opacity: 1; }
[class*="st-key-files-"] [data-testid="stDownloadButton"] [data-testid="stMarkdownContainer"] { margin: 0; }
[class*="st-key-files-"] [data-testid="stDownloadButton"] p { font-size: 0.75rem; font-weight: 500;
  line-height: 1.6rem; height: 1.6rem; }
/* Plotly's own words on what it is doing: the last of them, and in the style of the page. */
.plotly-notifier { top: auto !important; bottom: 1rem; right: 1rem !important; width: auto !important;
  max-width: 24rem !important; font: inherit !important; font-size: 0.8rem !important; }
.plotly-notifier .notifier-note { background: #151a22 !important; border: 1px solid #262d38 !important;
  border-radius: 8px; padding: 0.5rem 0.75rem !important; opacity: 1; }
.plotly-notifier .notifier-note:not(:last-child), .plotly-notifier .notifier-close { display: none; }
"""
"""For every page that has such charts."""


@dataclass(frozen=True, slots=True)
class Download:
    """name: file name without extension. table: returns the data, header row first; called only for a download."""

    name: str
    table: Callable[[], Table]

    @property
    def config(self) -> dict[str, Any]:
        """Plotly's configuration: a tool bar with only the picture button."""
        options = {"format": "png", "filename": self.name, "scale": _PIXELS}
        return {"displayModeBar": True, "modeBarButtons": [["toImage"]], "toImageButtonOptions": options}


def file_name(*parts: str) -> str:
    """The parts joined into a file name, without characters that file systems refuse."""
    safe = (_UNSAFE_IN_A_NAME.sub("-", part).strip("-")[:_MAX_NAME_LENGTH] for part in parts)
    return "_".join(part for part in safe if part) or "chart"


def as_csv(table: Table) -> bytes:
    """The rows as CSV in UTF-8, safe for spreadsheets: formulas become text, invisible characters become escapes, and
    texts too long for a cell are cut. Numbers stay as they are."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows([_harmless(cell) for cell in row] for row in table)
    # With a byte order mark, or spreadsheets do not recognise UTF-8.
    return text.getvalue().encode("utf-8-sig", "replace")


@contextmanager
def chart_with_downloads(key: str, download: Download) -> Iterator[None]:
    """Draw the chart inside this context; its buttons follow."""
    with st.container(key=f"chart-{key}"):
        yield
        with st.container(
            key=f"files-{key}", horizontal=True, vertical_alignment="center", gap="xxsmall", width="content"
        ):
            pictures = component(_NAME, html=_HTML, css=_CSS, js=_JS)
            pictures(key=f"pictures-{key}", data={"name": download.name, "pixels": _PIXELS}, width="content")
            st.download_button(
                "CSV",
                lambda: as_csv(download.table()),
                file_name=f"{download.name}.csv",
                mime="text/csv",
                key=f"csv-{key}",
                help="Save the data behind the chart",
                on_click="ignore",
                type="tertiary",
            )


def _harmless(cell: Cell) -> Cell:
    if isinstance(cell, str):
        return f"'{safe_text(cell, _MAX_CELL_LENGTH)}" if _FORMULA.match(cell) else safe_text(cell, _MAX_CELL_LENGTH)
    return cell
