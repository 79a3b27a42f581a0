"""Dependencies point one way, `core` stands without the dashboard, and the environment is read in one file."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CORE = ROOT / "core"

# What each part of core may import of core; `OPEN` names those that are open to all.
ALLOWED = {
    "types": {"data"},
    "errors": set[str](),
    "text": set[str](),
    "params": set[str](),
    "settings": set[str](),
    "data": set[str](),
    "scenes": set[str](),
    "env": set[str](),
    "facts": set[str](),
    "rewards": {"facts"},
    "analysis": {"env.rules", "facts", "rewards", "scenes", "store"},
    "rubrics": set[str](),
    "evidence": set[str](),
    "plan": {"env.checks", "policies", "rewards"},
    "policies": {"env.observation", "env.rules", "settings"},
    "rollout": {"env", "policies", "rewards"},
    "replay": {"env"},
    "dataset": {"env", "store"},
    "store": {"env.rules", "facts", "scenes", "settings"},
    "exports": {"env", "policies", "rewards", "settings", "store"},
    "requests": {"env.rules", "exports", "plan", "policies", "rewards", "settings", "store"},
    "record": {"env", "rewards", "slots", "store"},
    "slots": {"settings"},
    "imports": {"env", "exports", "settings", "store"},
    "jobs": {"store", "settings", "slots"},
    "integrations": {"env", "policies", "rewards"},
    "service": {
        "dataset",
        "env",
        "integrations",
        "jobs",
        "policies",
        "requests",
        "rewards",
        "rubrics",
        "settings",
        "store",
    },
    "batch": {"env.rules", "jobs", "plan", "ray_tasks", "rewards", "settings", "store"},
    "ray_tasks": {"exports", "imports", "rollout", "store"},
    "worker": {"policies", "rollout", "store", "settings", "slots", "jobs"},
}
OPEN = {"types", "errors", "text", "data", "params"}


# The rooms of the dashboard, each of which may import only from those before it; within the lab likewise.
ROOMS = (
    "text",
    "links",
    "charts",
    "browser",
    "player",
    "shared",
    "rewards",
    "launch",
    "traces",
    "run",
    "audit",
    "episode",
    "lab",
)
LAB_ROOMS = ("shared", "audit", "what_if", "policies")


def _modules() -> list[Path]:
    return sorted(path for path in CORE.rglob("*.py") if "migrations" not in path.parts)


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def _part(module: str) -> str:
    """`core.env.rules` belongs to the part `env`."""
    return module.split(".")[1] if module.count(".") else ""


@pytest.mark.parametrize("path", _modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_core_imports_point_one_way(path: Path):
    own = path.relative_to(CORE).parts[0].removesuffix(".py")
    if own == "__init__":
        return
    assert own in ALLOWED, f"core/{own} is new: say in this test what it may import"
    allowed = ALLOWED[own] | OPEN | {own}
    modules = {name for name in _imports(path) if name.startswith("core.") and name != "core.__version__"}
    for name in modules:
        inner = name.removeprefix("core.")
        fits = any(inner == entry or inner.startswith(entry + ".") for entry in allowed)
        leads_there = any(entry.startswith(inner + ".") for entry in allowed)  # the package of an allowed module
        assert fits or leads_there, f"{path.relative_to(ROOT)} imports {name}"


@pytest.mark.parametrize("path", _modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_core_never_imports_the_dashboard(path: Path):
    roots = {name.split(".")[0] for name in _imports(path)}
    assert not roots & {"streamlit", "plotly", "pages", "app"}


def test_only_settings_reads_the_environment():
    readers = [
        str(path.relative_to(ROOT))
        for folder in (CORE, ROOT / "pages")
        for path in folder.rglob("*.py")
        if any(word in path.read_text(encoding="utf-8") for word in ("os.environ", "os.getenv"))
    ]
    assert readers == ["core/settings.py"]


def test_pages_hold_no_sql():
    for path in (ROOT / "pages").rglob("*.py"):
        assert not {name.split(".")[0] for name in _imports(path)} & {"sqlalchemy", "sqlite3", "pysqlite3"}, path


def _rooms_imported(path: Path, parent: str) -> set[str]:
    return {name.split(".")[parent.count(".") + 1] for name in _imports(path) if name.startswith(parent + ".")}


@pytest.mark.parametrize(("rooms", "parent"), [(ROOMS, "pages.components"), (LAB_ROOMS, "pages.components.lab")])
def test_rooms_of_the_dashboard_import_only_from_rooms_before_them(rooms: tuple[str, ...], parent: str):
    folder = ROOT.joinpath(*parent.split("."))
    assert {path.parent.name for path in folder.glob("*/__init__.py")} == set(rooms)
    assert {path.name for path in folder.glob("*.py")} == {"__init__.py"}, "a module outside of the rooms"
    for place, room in enumerate(rooms):
        for path in (folder / room).rglob("*.py"):
            later = _rooms_imported(path, parent) & set(rooms[place + 1 :])
            assert not later, f"{path.relative_to(ROOT)} imports from {sorted(later)}, which come after {room}"
