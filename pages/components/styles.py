"""The few rules that Streamlit's own elements do not offer. Colours work on both themes."""

from __future__ import annotations

import streamlit as st

_BASE = """
[data-testid="stMainBlockContainer"] { padding-top: 4.5rem; padding-bottom: 3rem; }
"""

_ICONS = """
.cs-icon { width: 1em; height: 1em; image-rendering: pixelated; border-radius: 2px; vertical-align: -0.12em;
  margin-right: 0.3em; display: inline; }
.cs-muted { opacity: 0.6; }
"""

_GALLERY = """
.cs-legend { font-size: 0.82rem; opacity: 0.8; line-height: 1.7; }
.cs-legend .cs-icon { margin-left: 0.35em; }
.cs-traits { display: flex; justify-content: space-between; font-size: 0.8rem; line-height: 1.55; white-space: nowrap;
  font-variant-numeric: tabular-nums; position: relative; z-index: 2; }
.cs-traits:first-child { justify-content: flex-start; gap: 1.1em; }
.cs-world-to-come { aspect-ratio: 1; border-radius: 6px; background: rgba(128, 140, 155, 0.18);
  animation: cs-pulse 1.6s ease-in-out infinite; }
@keyframes cs-pulse { 50% { opacity: 0.45; } }
@media (prefers-reduced-motion: reduce) { .cs-world-to-come { animation: none; } }
[class*="st-key-seed-card-"] { position: relative; padding: 0.6rem; }
[class*="st-key-seed-card-"] img:not(.cs-icon) { border-radius: 6px; }
[class*="st-key-seed-card-"]:hover { border-color: rgba(16, 185, 129, 0.6); }
[class*="st-key-seed-card-"]:has(input:checked) { border-color: #10b981; box-shadow: 0 0 0 1px #10b981; }
/* The whole card is its check box's label. */
[class*="st-key-seed-card-"] :is([data-testid="stElementContainer"], [data-testid="stCheckbox"],
  [data-testid="stLayoutWrapper"], [data-testid="stHorizontalBlock"], [data-testid="stVerticalBlock"],
  label) { position: static; }
[class*="st-key-seed-card-"] [data-testid="stCheckbox"] label::after { content: ""; position: absolute; inset: 0;
  z-index: 1; cursor: pointer; }
"""

_PANEL = """
[data-testid="stColumn"]:has(.st-key-launch-panel) { position: sticky; top: 4.5rem; align-self: flex-start; }
.cs-summary { font-size: 0.9rem; }
.cs-summary div { display: flex; justify-content: space-between; gap: 0.75rem; padding: 0.22rem 0; }
.cs-summary div + div { border-top: 1px solid rgba(128, 140, 155, 0.18); }
.cs-summary span { opacity: 0.7; white-space: nowrap; }
.cs-summary b { font-weight: 500; text-align: right; font-variant-numeric: tabular-nums; }
"""

_LIVE = """
[class*="st-key-frame-"] img { border-radius: 6px; aspect-ratio: 1; }
/* A frame that takes a moment to come must not make the card blink once a second. */
:is([class*="st-key-card-"], [class*="st-key-row-"], .st-key-run-totals) [data-stale="true"] { opacity: 1 !important; }
[class*="st-key-row-"] { min-height: 2.55rem; justify-content: center; }
[class*="st-key-actions-"] { min-height: 2.5rem; }
[data-testid="stMain"] [data-testid="stPageLink-NavLink"] p { color: #0d9f73; }
.cs-chips { display: flex; flex-wrap: wrap; gap: 0.4rem; font-size: 0.82rem; }
.cs-chips span { padding: 0.1rem 0.5rem; border-radius: 6px; border: 1px solid rgba(128, 140, 155, 0.3); opacity: 0.6;
  white-space: nowrap; }
.cs-chips .cs-done { opacity: 1; border-color: #10b981; background: rgba(16, 185, 129, 0.14); }
.cs-unlocks { font-size: 0.82rem; line-height: 1.5; height: 3em; overflow: hidden; opacity: 0.8; display: -webkit-box;
  -webkit-box-orient: vertical; -webkit-line-clamp: 2; }
.cs-figures { display: grid; grid-template-columns: repeat(3, 1fr); gap: 0.5rem; }
.cs-figures div span { display: block; font-size: 0.78rem; opacity: 0.7; white-space: nowrap; }
.cs-figures div b { font-size: clamp(1rem, 1.45vw, 1.35rem); font-weight: 600; font-variant-numeric: tabular-nums; }
.cs-cell { font-size: 0.88rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
.cs-cell.cs-end { text-align: right; }
"""


def base_styles() -> None:
    """What every page has: less empty space above the title than Streamlit leaves by default."""
    st.html(f"<style>{_BASE}</style>")


def launch_styles() -> None:
    """The rules of the launch page."""
    st.html(f"<style>{_ICONS}{_GALLERY}{_PANEL}</style>")


def live_styles() -> None:
    """The rules of the run page."""
    st.html(f"<style>{_ICONS}{_LIVE}</style>")
