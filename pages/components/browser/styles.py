"""CSS that Streamlit's own options do not offer. Colours work in both themes."""

from __future__ import annotations

import streamlit as st

from pages.components.charts.download import STYLES as _DOWNLOADS

_BASE = """
.st-key-history-entries { display: none; }
/* Nothing moves aside when a scroll bar comes or goes. */
[data-testid="stMain"] { scrollbar-gutter: stable; }
[data-testid="stMainBlockContainer"] { padding: 4rem 2rem 2.5rem; }
/* Boxes that take the focus when the page is clicked: a ring belongs around what can be used. */
:is([data-testid="stMain"], [data-testid="stTabPanel"]):is(:focus, :focus-visible) { outline: none; box-shadow: none; }
[data-testid="stMainBlockContainer"] h1 { padding: 0.25rem 0 0.75rem; }
[data-testid="stMain"] [data-testid="stPageLink-NavLink"] p { color: #0d9f73; }
"""

_TRACES = """
.st-key-trace-totals [data-testid="stMetricValue"] { font-size: 1.35rem; line-height: 1.3; }
.st-key-trace-detail { padding: 0.4rem 0.9rem; }
.st-key-trace-detail [data-testid="stPageLink-NavLink"] { padding: 0; }
/* What cannot be undone must not look like the way to go on. */
.st-key-confirm_delete button { background: #dc2626; border-color: #dc2626; color: #fff; }
.st-key-confirm_delete button:is(:hover, :focus-visible) { background: #b91c1c; border-color: #b91c1c; color: #fff; }
"""

_ICONS = """
.cs-icon { width: 1em; height: 1em; image-rendering: pixelated; border-radius: 2px; vertical-align: -0.12em;
  margin-right: 0.3em; display: inline; }
.cs-muted { opacity: 0.6; }
.cs-pending { background: rgba(128, 140, 155, 0.18); animation: cs-pulse 1.6s ease-in-out infinite; }
@keyframes cs-pulse { 50% { background: rgba(128, 140, 155, 0.08); } }
@media (prefers-reduced-motion: reduce) { .cs-pending { animation: none; } }
"""

_GALLERY = """
.cs-legend { font-size: 0.82rem; opacity: 0.8; line-height: 1.7; }
.cs-legend .cs-icon { margin-left: 0.35em; }
.cs-traits { display: flex; justify-content: space-between; font-size: 0.8rem; line-height: 1.55; white-space: nowrap;
  font-variant-numeric: tabular-nums; position: relative; z-index: 2; }
.cs-traits:first-child { justify-content: flex-start; gap: 1.1em; }
.cs-making { font-size: 0.82rem; line-height: 1.7; }
.cs-making i { display: block; height: 4px; border-radius: 2px; }
.cs-making i.cs-on { background: linear-gradient(to right, #10b981 var(--share), rgba(128, 140, 155, 0.22) 0); }
.cs-world-pending { aspect-ratio: 1; border-radius: 6px; }
[class*="st-key-seed-card-"] { position: relative; padding: 0.6rem; }
[class*="st-key-seed-card-"] img:not(.cs-icon) { border-radius: 6px; }
[class*="st-key-seed-card-"]:hover { border-color: rgba(16, 185, 129, 0.6); }
/* The whole card is its check box's label. */
[class*="st-key-seed-card-"] :is([data-testid="stElementContainer"], [data-testid="stCheckbox"],
  [data-testid="stLayoutWrapper"], [data-testid="stHorizontalBlock"], [data-testid="stVerticalBlock"],
  label) { position: static; }
[class*="st-key-seed-card-"] [data-testid="stCheckbox"] label::after { content: ""; position: absolute; inset: 0;
  z-index: 1; cursor: pointer; }
"""

_PANEL = """
[data-testid="stColumn"]:has(.st-key-launch-panel) { position: sticky; top: 4rem; align-self: flex-start; }
/* However much the panel says, its button stays in sight. */
.st-key-launch-panel { max-height: calc(100vh - 5rem); overflow-y: auto; gap: 0.7rem; padding: 0.8rem 0.9rem 0; }
[data-testid="stLayoutWrapper"]:has(> .st-key-launch-go) { position: sticky; bottom: 0; z-index: 3; }
.st-key-launch-go { padding: 0.3rem 0 0.8rem; backdrop-filter: blur(12px); }
.st-key-launch-picked { min-height: 2.5rem; }
.cs-summary { font-size: 0.9rem; }
.cs-summary div { display: flex; justify-content: space-between; gap: 0.75rem; padding: 0.14rem 0; }
.cs-summary div + div { border-top: 1px solid rgba(128, 140, 155, 0.18); }
.cs-summary span { opacity: 0.7; white-space: nowrap; }
.cs-summary code { font-size: 0.8rem; }
.cs-summary b { font-weight: 500; text-align: right; font-variant-numeric: tabular-nums; }
"""

_LIVE = """
[class*="st-key-frame-"] img { border-radius: 6px; aspect-ratio: 1; }
.cs-frame-pending { aspect-ratio: 1; border-radius: 6px; display: flex; align-items: center; justify-content: center;
  text-align: center; font-size: 0.85rem; padding: 0.5rem; }
.cs-frame-pending.cs-still { background: rgba(128, 140, 155, 0.14); animation: none; }
/* A frame that takes a moment to come must not make the card blink once a second. */
:is([class*="st-key-card-"], [class*="st-key-row-"], .st-key-run-totals) [data-stale="true"] { opacity: 1 !important; }
[class*="st-key-row-"] { min-height: 2.55rem; justify-content: center; }
[class*="st-key-actions-"] { min-height: 2.5rem; }
[class*="st-key-actions-"], [class*="st-key-run-title-"] { flex-wrap: nowrap; }
:is([class*="st-key-actions-"], [class*="st-key-links-"], [class*="st-key-run-title-"], .st-key-run-head)
  [data-testid="stPageLink-NavLink"] { padding-left: 0; padding-right: 0; background: none; white-space: nowrap; }
[class*="st-key-links-"] { flex-wrap: nowrap; }
[class*="st-key-run-line-"] { position: relative; padding: 0.6rem 0.9rem; }
[class*="st-key-run-line-"]:hover { border-color: rgba(16, 185, 129, 0.6); }
[class*="st-key-run-line-"] [data-testid="stText"] { overflow: hidden; text-overflow: ellipsis; white-space: nowrap;
  font-size: 0.88rem; opacity: 0.8; }
[class*="st-key-run-line-"] [data-testid="stCaptionContainer"] { white-space: nowrap; }
/* The whole card is its title's link. */
[class*="st-key-run-line-"] :is([data-testid="stElementContainer"], [data-testid="stPageLink"],
  [data-testid="stPageLink-NavLink"], [data-testid="stLayoutWrapper"], [data-testid="stHorizontalBlock"],
  [data-testid="stVerticalBlock"], [data-testid="stPageLink"] *) { position: static; }
[class*="st-key-run-line-"] [data-testid="stPageLink-NavLink"]::after { content: ""; position: absolute; inset: 0;
  z-index: 1; }
.st-key-run-head [data-testid="stButton"] button { padding: 0; min-height: 0; color: #0d9f73; }
.st-key-run-head h1 { padding-bottom: 0; }
.cs-chips { display: flex; flex-wrap: wrap; gap: 0.4rem; font-size: 0.82rem; }
.cs-chips span { padding: 0.1rem 0.5rem; border-radius: 6px; border: 1px solid rgba(128, 140, 155, 0.3); opacity: 0.6;
  white-space: nowrap; }
.cs-chips .cs-done { opacity: 1; border-color: #10b981; background: rgba(16, 185, 129, 0.14); }
.cs-unlocks { font-size: 0.82rem; line-height: 1.5; height: 3em; overflow: hidden; opacity: 0.8; display: -webkit-box;
  -webkit-box-orient: vertical; -webkit-line-clamp: 2; }
.cs-figures { display: grid; grid-template-columns: repeat(3, 1fr); gap: 0.5rem; }
.cs-figures div span { display: block; font-size: 0.78rem; opacity: 0.7; white-space: nowrap; }
.cs-figures div b { font-size: clamp(1rem, 1.45vw, 1.35rem); font-weight: 600; font-variant-numeric: tabular-nums;
  white-space: nowrap; }
.cs-cell { font-size: 0.88rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
.cs-cell.cs-end { text-align: right; }
"""

_LAB = """
[data-testid="stColumn"]:has(.st-key-lab-panel) { position: sticky; top: 4rem; align-self: flex-start; }
/* What is edited stays beside what it changes. */
.st-key-lab-panel { max-height: calc(100vh - 5rem); overflow-y: auto; gap: 0.7rem; padding: 0.8rem 0.9rem; }
.st-key-lab-panel hr { margin: 0.2rem 0; }
.st-key-lab-title h1 { padding-right: 1rem; }
.st-key-lab-tools button { min-height: 2rem; padding: 0 0.6rem; }
.st-key-lab-figures [data-testid="stMetricValue"] { font-size: 1.25rem; line-height: 1.3; }
.st-key-lab-figures [data-testid="stMetricDelta"] { font-size: 0.82rem; }
[class*="st-key-lab-decision-"] [data-testid="stPageLink-NavLink"] { padding: 0; background: none; }
[class*="st-key-lab-decision-"] { padding: 0.2rem 0 0.35rem; border-top: 1px solid rgba(128, 140, 155, 0.18); }
"""


def base_styles() -> None:
    """Rules for every page, such as less space above the title."""
    st.html(f"<style>{_BASE}{_DOWNLOADS}</style>")


def traces_styles() -> None:
    st.html(f"<style>{_TRACES}</style>")


def launch_styles() -> None:
    st.html(f"<style>{_ICONS}{_GALLERY}{_PANEL}</style>")


def live_styles() -> None:
    st.html(f"<style>{_ICONS}{_LIVE}</style>")


def lab_styles() -> None:
    st.html(f"<style>{_LAB}</style>")
