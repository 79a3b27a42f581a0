"""What several test modules need: records, recorded episodes, servers and a browser."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
