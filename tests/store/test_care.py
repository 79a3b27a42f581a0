"""`python -m core.store`: check names what is corrupt; backup and migrate write copies that open."""

from __future__ import annotations

import re
import shutil
import threading
from contextlib import closing
from pathlib import Path

import pytest

from core.store import TraceStore
from core.store.__main__ import main
from core.store.blobs import compress
from core.store.schema import head_revision
from core.store.sqlite_file import sqlite_driver
from core.types import ModelProfile, RewardConfig
from tests.support.records import SEED_DESCRIPTION, change, copy_as_of, make_run, record_episode, record_run


@pytest.fixture
def recorded(database_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a database with two finished episodes and a queued one, which the commands use."""
    monkeypatch.setenv("CRAFTSCOPE_DB_URL", database_url)
    with TraceStore(database_url) as store:
        store.runs.create(make_run("run-1", ["a-episode", "b-episode", "c-episode"]))
        record_episode(store, "a-episode", 110)
        record_episode(store, "b-episode", 4, seed=2)
    return database_url


def change_rows(url: str, *statements: str) -> None:
    with TraceStore(url) as store:
        change(store, *statements)


def check(capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str], str]:
    """The exit code, the findings, and the last line."""
    code = main(["check"])
    *found, last = capsys.readouterr().out.splitlines()
    return code, found, last


# ------------------------------------------------------------------------------------------------- check


def test_check_finds_nothing_in_a_sound_store(recorded: str, capsys: pytest.CaptureFixture[str]):
    assert check(capsys) == (0, [], "Checked 3 episodes with 114 decisions: 0 findings.")


def test_check_finds_nothing_in_an_episode_that_is_being_recorded(recorded: str, capsys: pytest.CaptureFixture[str]):
    with TraceStore(recorded) as store:
        done, codes = threading.Event(), list[int]()

        def look() -> None:
            while not done.is_set():
                codes.append(main(["check"]))

        thread = threading.Thread(target=look)
        thread.start()
        record_episode(store, "c-episode", 60)
        done.set()
        thread.join()
    assert set(codes) == {0}, capsys.readouterr().out


DECISION = "(SELECT id FROM decisions WHERE episode_id = 2 AND idx = {})"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("statement", "finding"),
    [
        (
            "UPDATE decisions SET reward = reward + 1 WHERE episode_id = 2 AND idx = 1",
            "decision 1's reward is .*, but its lambda and components give",
        ),
        (
            "UPDATE decisions SET env_reward = 99 WHERE episode_id = 2 AND idx = 1",
            "decision 1's environment reward is 99.0, but its steps give",
        ),
        (
            "UPDATE decisions SET idx = 7 WHERE episode_id = 2 AND idx = 3",
            "decision 7 follows where decision 3 belongs",
        ),
        (
            "UPDATE decisions SET actions = '\x1b[31mred' WHERE episode_id = 2 AND idx = 2",
            r"decision 2 has 1 unknown action: '\\x1b\[31mred'",
        ),
        (
            "UPDATE decisions SET unlocked = 'win' WHERE episode_id = 2 AND idx = 2",
            "2 has 1 unknown achievement: 'win'",
        ),
        ("INSERT INTO episode_achievements VALUES (2, 'win', 0)", "it has 1 unknown achievement: 'win'"),
        ("UPDATE episodes SET n_steps = n_steps + 1 WHERE id = 2", "its n_steps is .*, but its decisions give"),
        ("UPDATE episodes SET n_decisions = 9 WHERE id = 2", "its n_decisions is 9, but its decisions give 4"),
        ("UPDATE episodes SET shaped_return = 9 WHERE id = 2", "its shaped_return is 9.0, but its decisions give"),
        ("UPDATE episodes SET status = 'lost' WHERE id = 2", "its status 'lost' is unknown"),
        (
            f"DELETE FROM decision_payloads WHERE decision_id = {DECISION.format(2)}",
            "the content of decision 2 is missing",
        ),
        (f"DELETE FROM reward_components WHERE k = 0 AND decision_id = {DECISION.format(1)}", "decision 1"),
        ("DELETE FROM request_parts WHERE episode_id = 2", "messages of its model calls are missing"),
        ("DELETE FROM scene_chunks WHERE episode_id = 2", "it has 0 scenes instead of"),
    ],
)
def test_check_names_the_episode_whose_rows_disagree(
    recorded: str, statement: str, finding: str, capsys: pytest.CaptureFixture[str]
):
    change_rows(recorded, statement)
    code, found, last = check(capsys)
    assert code == 1
    assert last == f"Checked 3 episodes with 114 decisions: {len(found)} finding{'s' * (len(found) != 1)}."
    (line, *_) = [line for line in found if re.search(finding, line)]
    assert line.startswith("Episode b-episode: ") and line.endswith("Restore a backup, or delete the episode.")
    assert not [line for line in found if "a-episode" in line or "c-episode" in line or not line.isprintable()]


@pytest.mark.parametrize(
    ("table", "condition", "what"),
    [
        ("decision_payloads", f"decision_id = {DECISION.format(0)}", "Decision 0 of episode b-episode"),
        ("decision_payloads", f"decision_id = {DECISION.format(3)}", "Decision 3 of episode b-episode"),
        ("request_parts", "episode_id = 2 AND idx = 1", "Message 1 of episode b-episode"),
        ("episode_starts", "episode_id = 2", "The start of episode b-episode"),
        ("scene_chunks", "episode_id = 2", "Scenes 0 to [0-9]+ of episode b-episode"),
        ("episode_packs", "episode_id = 2", "The reward facts of episode b-episode"),
    ],
)
def test_check_names_blobs_that_do_not_decode(
    recorded: str, table: str, condition: str, what: str, capsys: pytest.CaptureFixture[str]
):
    quote = "X'{}'" if recorded.startswith("sqlite") else "'\\x{}'"
    change_rows(recorded, f"UPDATE {table} SET blob = {quote.format(compress(b'{').hex())} WHERE {condition}")
    code, found, _ = check(capsys)
    assert code == 1
    assert all("b-episode" in line for line in found)
    change_rows(recorded, f"UPDATE {table} SET blob = {quote.format('00')} WHERE {condition}")
    assert any(re.match(f"{what} is stored but cannot be read", line) for line in check(capsys)[1])


def test_check_names_runs_reward_configurations_seeds_and_profiles_that_do_not_decode(
    recorded: str, capsys: pytest.CaptureFixture[str]
):
    with TraceStore(recorded) as store:
        store.rewards.save("dry", RewardConfig("consistent"))
        store.seeds.save(SEED_DESCRIPTION)
        store.profiles.save(ModelProfile("local", "http://127.0.0.1:8080/v1", "tiny"))
        assert check(capsys)[1] == []
        bytes_ = "CAST('{' AS BLOB)" if recorded.startswith("sqlite") else "'{'"
        change(
            store,
            f"UPDATE runs SET config = {bytes_}",
            f"UPDATE reward_configs SET config = {bytes_} WHERE hash = '{RewardConfig('consistent').config_hash}'",
            f"UPDATE seed_descriptions SET description = {bytes_}",
            f"UPDATE model_profiles SET profile = {bytes_}",
        )
    code, found, _ = check(capsys)
    assert code == 1
    assert [line.partition(" is stored but cannot be read")[0] for line in found] == [
        "The configuration of run run-1",
        "The reward configuration dry",
        "The description of seed 42",
        "The profile local",
    ]


def test_an_unreadable_id_does_not_keep_the_other_episodes_from_being_checked(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("CRAFTSCOPE_DB_URL", sqlite_url)
    with TraceStore(sqlite_url) as store:
        record_run(store, "a-episode", "b-episode", decisions=3)
        change(
            store,
            "UPDATE episodes SET uuid = CAST(X'ff41' AS TEXT) WHERE id = 1",
            "UPDATE episodes SET n_decisions = 8 WHERE id = 2",
        )
    code, found, last = check(capsys)
    assert code == 1
    assert found[0].startswith("Episode number 1: ")
    assert any("its n_decisions is 8" in line for line in found[1:])
    assert last.startswith("Checked 2 episodes")


def test_corrupt_pages_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "traces.db"
    monkeypatch.setenv("CRAFTSCOPE_DB_URL", f"sqlite:///{file}")
    with TraceStore(f"sqlite:///{file}") as store:
        record_run(store, "a-episode", decisions=300)
    content = bytearray(file.read_bytes())
    for page in range(len(content) // 4096 - 8, len(content) // 4096 - 4):
        content[page * 4096 : page * 4096 + 2048] = b"\xa5" * 2048
    file.write_bytes(content)
    code, found, last = check(capsys)
    assert code == 1
    assert any("corrupt" in line for line in found)
    assert last.startswith("Checked ")


@pytest.mark.parametrize("command", [["check"], ["backup", "copy.db"], ["migrate"]])
def test_a_missing_database_is_not_created(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("CRAFTSCOPE_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("CRAFTSCOPE_DB_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    assert main(command) == 2
    assert "craftscope.db does not exist. Check CRAFTSCOPE_DATA_DIR" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------------- backup


def test_a_backup_opens_and_holds_everything(recorded: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "a backup of 100%.db"
    assert main(["backup", str(out)]) == 0
    assert str(out) in capsys.readouterr().out
    assert out.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.glob("a backup*")] == [out.name]
    shutil.move(out, tmp_path / "moved.db")
    with TraceStore(recorded) as store, TraceStore(f"sqlite:///{tmp_path / 'moved.db'}") as copy:
        for id_ in ("a-episode", "b-episode"):
            assert copy.episodes.load(id_) == store.episodes.load(id_)
        copy.runs.create(make_run("run-2", ["d-episode"]))


def test_a_backup_can_be_taken_while_an_episode_is_recorded(recorded: str, tmp_path: Path):
    with TraceStore(recorded) as store:
        thread = threading.Thread(target=record_episode, args=(store, "c-episode", 100))
        thread.start()
        codes = [main(["backup", str(tmp_path / f"copy-{number}.db")]) for number in range(3)]
        thread.join()
    assert codes == [0, 0, 0]
    for number in range(3):
        url = f"sqlite:///{tmp_path / f'copy-{number}.db'}"
        with TraceStore(url) as copy:
            assert len(copy.episodes.load("c-episode").decisions) == copy.episodes.get("c-episode").n_decisions


def test_a_backup_neither_overwrites_a_file_nor_creates_a_folder(
    recorded: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "copy.db").write_text("precious")
    assert main(["backup", str(tmp_path / "copy.db")]) == 2
    assert "exists already and was not overwritten" in capsys.readouterr().err
    assert (tmp_path / "copy.db").read_text() == "precious"
    assert main(["backup", str(tmp_path / "missing" / "copy.db")]) == 2
    assert "cannot be created" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------------- migrate


@pytest.fixture
def older(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a database of schema 0002 with an episode."""
    monkeypatch.setenv("CRAFTSCOPE_DB_URL", database_url)
    with TraceStore(f"sqlite:///{tmp_path / 'today.db'}") as today:
        record_run(today, "a-episode", decisions=4)
        copy_as_of("0002", database_url, today)
    return database_url


def test_migrate_leaves_the_original_alone_and_names_the_copy(
    older: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    assert main(["migrate"]) == 0
    printed = capsys.readouterr().out
    out = tmp_path / "craftscope-migrated.db"
    assert f"(schema 0002) was copied to {out}, and the copy migrated to schema {head_revision()}" in printed
    assert printed.endswith(f"CRAFTSCOPE_DB_URL=sqlite:///{out}\n")
    assert main(["check"]) == 2
    assert "older schema 0002" in capsys.readouterr().err
    monkeypatch.setenv("CRAFTSCOPE_DB_URL", f"sqlite:///{out}")
    assert check(capsys) == (0, [], "Checked 1 episode with 4 decisions: 0 findings.")
    assert out.stat().st_mode & 0o777 == 0o600


def test_migrate_copies_nothing_that_is_up_to_date(
    recorded: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    assert main(["migrate"]) == 0
    assert "is up to date" in capsys.readouterr().out
    assert not (tmp_path / "craftscope-migrated.db").exists()


def test_the_commands_leave_the_database_of_another_program_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    with closing(sqlite_driver().connect(str(tmp_path / "other.db"))) as other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
    monkeypatch.setenv("CRAFTSCOPE_DB_URL", f"sqlite:///{tmp_path / 'other.db'}")
    assert main(["check"]) == 2
    assert "holds other tables" in capsys.readouterr().err
