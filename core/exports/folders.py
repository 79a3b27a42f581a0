"""Formats of several files in a new folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Final

from core.store import EpisodeSummary, TraceStore

WriteFolder = Callable[[TraceStore, Iterable[EpisodeSummary], Path], int]

FOLDERS: Final = ("parquet", "minari")
"""The formats by name; `core.exports.NAME` has the function `write_NAME`."""


def folder_writer(name: str) -> WriteFolder:
    """Writes a new folder and says how many episodes. Its module is loaded when needed: pyarrow takes 30 MB."""
    return getattr(import_module(f"core.exports.{name}"), f"write_{name}")
