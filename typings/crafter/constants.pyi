from pathlib import Path
from typing import Any

root: Path
actions: list[str]
materials: list[str]
walkable: list[str]
items: dict[str, dict[str, int]]
collect: dict[str, dict[str, Any]]
place: dict[str, dict[str, Any]]
make: dict[str, dict[str, Any]]
achievements: list[str]
