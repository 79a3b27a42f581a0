"""What Crafter's own recorder writes: recorded here by `crafter.Recorder` itself."""

# crafter has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import crafter
import numpy as np
import pytest

from core.env.rules import ACTIONS
from core.exports import LINES, episodes_of
from core.imports import Report, import_file, main
from core.imports.crafter_files import ONLY_SUMS
from core.settings import load_settings
from core.store import EpisodeFilter, TraceStore
from core.types import RunSource, StopReason

LENGTH = 30


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """A folder with two episodes of random actions, and the infos of the second one's steps."""
    folder = tmp_path_factory.mktemp("recorded")
    recorder: Any = crafter.Recorder  # pyright: ignore[reportAttributeAccessIssue]
    env: Any = recorder(crafter.Env(length=LENGTH, seed=3), folder, save_video=False)
    draw = np.random.default_rng(0)
    infos: list[dict[str, Any]] = []
    for _ in range(2):
        env.reset()
        infos, done = [], False
        while not done:
            action = int(draw.integers(0, len(ACTIONS)))
            _, reward, done, info = env.step(action)
            infos.append({**info, "action": action, "paid": reward, "player_pos": tuple(info["player_pos"].tolist())})
    env._file.close()
    return folder, infos


def imported(store: TraceStore, *paths: Path) -> Report:
    report = Report()
    for path in paths:
        import_file(store, path, report, policy="dreamer")
    return report


def test_an_episode_has_every_step_with_its_state_and_map(
    sqlite_store: TraceStore, recorded: tuple[Path, list[dict[str, Any]]]
):
    folder, infos = recorded
    paths = sorted(folder.glob("*.npz"))
    assert imported(sqlite_store, *paths, *paths).sentence == (
        f"2 episodes with {2 * LENGTH} decisions came in; 2 episodes with {2 * LENGTH} decisions were there already."
    )
    episodes = [sqlite_store.episodes.load(row.id) for row in sqlite_store.episodes.page().rows]
    actions = [ACTIONS[info["action"]] for info in infos]
    (episode,) = [one for one in episodes if [step.action for step in one.steps] == actions]
    for step, info in zip(episode.steps, infos, strict=True):
        facts, scene = step.state.facts, step.state.scene
        assert step.env_reward == pytest.approx(info["paid"])
        assert facts.inventory == info["inventory"] and facts.achievement_counts == info["achievements"]
        assert facts.position == info["player_pos"]
        assert scene.is_known and any(
            sprite.texture.startswith("player-") and (sprite.x, sprite.y) == (4, 3) for sprite in scene.sprites
        )
    assert episode.stop_reason is StopReason.TRUNCATED and episode.spec.policy.name == "dreamer"
    assert sqlite_store.runs.get(episode.run_id).source is RunSource.IMPORTED


def test_statistics_are_episodes_of_sums_and_come_out_as_they_came_in(
    sqlite_store: TraceStore, recorded: tuple[Path, list[dict[str, Any]]]
):
    path = recorded[0] / "stats.jsonl"
    assert imported(sqlite_store, path, path).episodes == 2
    rows = sqlite_store.episodes.page().rows
    assert len({row.run_id for row in rows}) == 1 and len({row.seed for row in rows}) == 2
    lines = [json.loads(line) for line in LINES["stats"](sqlite_store, episodes_of(sqlite_store, EpisodeFilter()))]
    given = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert sorted(lines, key=str) == sorted(given, key=str)
    (decision,) = sqlite_store.episodes.load(rows[0].id).decisions
    assert decision.warning == ONLY_SUMS and not any(step.state.scene.is_known for step in decision.steps)


def test_lines_that_are_added_later_come_in_alone(
    sqlite_store: TraceStore, recorded: tuple[Path, list[dict[str, Any]]], tmp_path: Path
):
    content = (recorded[0] / "stats.jsonl").read_bytes().splitlines(keepends=True)
    path = tmp_path / "stats.jsonl"
    path.write_bytes(content[0])
    assert imported(sqlite_store, path).episodes == 1
    counts = b'"achievement_collect_coal": 0}\n'
    odd = b'{"length": -1, "reward": 1, ' + counts + b'{"length": 5, "reward": NaN, ' + counts + b"not JSON\n"
    path.write_bytes(content[0] + content[1] + odd)
    report = imported(sqlite_store, path)
    assert (report.episodes, report.known_episodes, report.failed) == (1, 1, 3)


def _changed(path: Path, to: Path, **arrays: Any) -> Path:
    with np.load(path) as stored:
        kept = {name: stored[name] for name in stored.files} | arrays
    np.savez(to, **{name: array for name, array in kept.items() if array is not None})
    return to


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [
        ({"semantic": None}, "it lacks semantic"),
        ({"action": np.full(LENGTH + 1, 99)}, "an action that Crafter does not have"),
        ({"reward": np.zeros(3)}, "differ in length"),
        ({"player_pos": np.array([{"a": 1}] * (LENGTH + 1), dtype=object)}, "allow_pickle=False"),
        ({"semantic": np.zeros((LENGTH + 1, 2), np.uint8)}, "no map of the world"),
    ],
)
def test_a_file_that_is_no_recording_is_refused(
    sqlite_store: TraceStore,
    recorded: tuple[Path, list[dict[str, Any]]],
    tmp_path: Path,
    arrays: dict[str, Any],
    problem: str,
):
    path = _changed(next(recorded[0].glob("*.npz")), tmp_path / "other.npz", **arrays)
    report = imported(sqlite_store, path)
    assert (report.episodes, report.failed) == (0, 1) and problem in report.problems[0]


@pytest.mark.parametrize("content", [b"", b"no zip file", None])
def test_a_file_that_is_cut_is_refused(
    sqlite_store: TraceStore, recorded: tuple[Path, list[dict[str, Any]]], tmp_path: Path, content: bytes | None
):
    path = tmp_path / "cut.npz"
    whole = next(recorded[0].glob("*.npz")).read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if content is None else content)
    assert imported(sqlite_store, path).failed == 1


def test_the_command_names_the_policy(
    recorded: tuple[Path, list[dict[str, Any]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setenv("CRAFTSCOPE_DATA_DIR", str(tmp_path))
    assert main(["--policy", "dreamer", str(recorded[0] / "stats.jsonl")]) == 0
    assert capsys.readouterr().out.startswith("2 episodes with 2 decisions came in")
    with TraceStore.from_settings(load_settings()) as store:
        assert {row.policy for row in store.episodes.page().rows} == {"dreamer"}


def test_a_zip_bomb_is_not_unpacked(sqlite_store: TraceStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("core.imports.crafter_files._MAX_ARRAY_BYTES", 1_000)
    path = tmp_path / "bomb.npz"
    arrays: dict[str, Any] = {
        name: np.zeros((10, 64, 64), np.uint8) for name in ("action", "reward", "discount", "semantic", "player_pos")
    }
    np.savez_compressed(path, **arrays)
    assert zipfile.is_zipfile(path)
    assert "larger than" in imported(sqlite_store, path).problems[0]
