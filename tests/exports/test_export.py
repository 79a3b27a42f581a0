"""Exported episodes and training examples: complete, documented, and in a form that does not change unnoticed."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.errors import InvalidInput
from core.exports import (
    VERSION,
    document_schema,
    episode_json,
    main,
    read_document,
    read_sft,
    sft_lines,
    sft_schema,
    write_whole,
)
from core.settings import Settings, worker_environment
from core.store import TraceStore
from core.store.database import FILE_NAME
from core.types import EpisodeError, Outcome, StopReason
from tests.support import ROOT
from tests.support.model.fake_client import answer, play_model
from tests.support.records import START, make_decisions, make_run, record_episode

SCHEMA = ROOT / "tests" / "data" / "export_schema_v1.json"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A data folder for each test."""
    return Settings(data_dir=tmp_path / "data", db_url=None, max_workers=1)


@pytest.fixture
def store(settings: Settings) -> Iterator[TraceStore]:
    """A store with a finished episode, `episode-1`, and a queued one, `waiting`."""
    with TraceStore.from_settings(settings) as opened:
        opened.runs.create(make_run("run-1", ["episode-1", "waiting"]))
        record_episode(opened, "episode-1", 12)
        yield opened


Run = Callable[..., tuple[int, bytes, str]]


@pytest.fixture
def run(settings: Settings, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Runs the command in this process, where it takes no start: its exit code, output and errors."""
    monkeypatch.setenv("CRAFTSCOPE_DATA_DIR", str(settings.data_dir))
    monkeypatch.delenv("CRAFTSCOPE_DB_URL", raising=False)

    def run(*arguments: str) -> tuple[int, bytes, str]:
        code = main(arguments)
        printed = capsysbinary.readouterr()
        return code, printed.out, printed.err.decode()

    return run


def exported(store: TraceStore, episode_id: str = "episode-1") -> dict[str, Any]:
    """The document as any JSON reader sees it."""
    return json.loads(episode_json(store, episode_id))


def test_the_document_names_its_format_run_and_episode(store: TraceStore):
    document = exported(store)
    assert (document["format"], document["version"]) == ("craftscope.episode", 1)
    assert document["run"]["id"] == "run-1"
    assert document["run"]["trace_correlation_id"] == "trace_run-1"
    episode = document["episode"]
    assert (episode["id"], episode["status"], episode["stop_reason"]) == ("episode-1", "completed", "max_steps")
    assert episode["started_at"] == "2026-03-01T12:00:00.123456Z"
    assert episode["spec"]["policy"] == {"name": "random", "params": {"actions_per_call": 3}}
    assert episode["spec"]["reward"]["weights"] == {"collect_wood": 2.5}
    assert episode["spec"]["engine_version"] == "engine-1"


def test_the_document_holds_everything_that_is_stored(store: TraceStore):
    loaded, document = store.episodes.load("episode-1"), read_document(episode_json(store, "episode-1"))
    assert document.episode.spec == loaded.spec
    assert document.episode.unlock_steps == loaded.unlock_steps
    assert (document.episode.env_return, document.episode.shaped_return) == (loaded.env_return, loaded.shaped_return)
    assert loaded.initial is not None and document.initial is not None
    assert (document.initial.facts, document.initial.scene) == (loaded.initial.facts, loaded.initial.scene)
    same = ("index", "observation", "tool_calls", "model_call", "before", "not_executed", "unlocked", "unique_unlocked")
    for ours, theirs in zip(document.decisions, loaded.decisions, strict=True):
        for name in (*same, "env_reward", "error", "warning"):
            assert getattr(ours, name) == getattr(theirs, name), name
        assert (ours.reward.components, ours.reward.total) == (theirs.reward.components, theirs.reward.total)
        assert (ours.timing.inference_ms, ours.timing.store_ms) == (theirs.timing.inference_ms, theirs.timing.store_ms)
        for our_step, their_step in zip(ours.steps, theirs.steps, strict=True):
            assert (our_step.action, our_step.env_reward) == (their_step.action, their_step.env_reward)
            assert our_step.state.facts == their_step.state.facts
            assert our_step.state.scene == their_step.state.scene
            assert our_step.state.state_digest == their_step.state.state_digest


def test_the_document_sums_up_rewards_for_trainers(store: TraceStore):
    summary, loaded = exported(store, "episode-1")["summary"], store.episodes.load("episode-1")
    assert summary["reward_sum"] == pytest.approx(loaded.shaped_return)
    assert summary["unique_achievements"] == [name for d in loaded.decisions for name in d.unique_unlocked]
    assert summary["strategy"] == loaded.spec.reward.strategy


def without_descriptions(schema: Any) -> Any:
    if isinstance(schema, list):
        return [without_descriptions(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: part for name, part in schema.items() if name != "description" or not isinstance(part, str)}
    return {name: without_descriptions(part) for name, part in kept.items()}


def test_schema_matches_the_published_file():
    # Add new fields to the file. A field that changes or goes needs a new VERSION and a new file.
    assert without_descriptions(document_schema()) == json.loads(SCHEMA.read_text(encoding="utf-8"))
    assert f"_v{VERSION}." in SCHEMA.name


def test_a_queued_episode_can_be_exported(store: TraceStore):
    document = exported(store, "waiting")
    assert (document["episode"]["status"], document["initial"], document["decisions"]) == ("queued", None, [])


def test_text_that_utf_8_cannot_hold_is_exported(store: TraceStore):
    store.queue.claim_next(worker="test")
    recorder = store.recorder("waiting")
    initial, (decision,) = make_decisions(1)
    recorder.start(START, initial)
    recorder.record(replace(decision, observation="half \ud83d and \x00"))
    recorder.finish(Outcome(StopReason.POLICY_ERROR, START, EpisodeError("kind", "detail")))
    assert exported(store, "waiting")["decisions"][0]["observation"] == "half \ud83d and \x00"


@pytest.mark.parametrize("change", [{"format": "other"}, {"version": 2}])
def test_a_document_of_another_format_is_refused(store: TraceStore, change: dict[str, Any]):
    with pytest.raises(InvalidInput, match="can be read"):
        read_document(json.dumps({**exported(store), **change}).encode())
    with pytest.raises(InvalidInput, match="not an exported episode"):
        read_document(b"{}")


def test_a_file_is_written_completely_or_not_at_all(tmp_path: Path):
    file = tmp_path / "episode.json"
    write_whole(file, b"first")
    write_whole(file, b"second")
    assert file.read_bytes() == b"second"
    (tmp_path / "folder").mkdir()
    with pytest.raises(InvalidInput, match="folder is a folder; name a file in it, such as .*folder/episode.json"):
        write_whole(tmp_path / "folder", b"third")
    with pytest.raises(InvalidInput, match="nowhere/episode.json cannot be written"):
        write_whole(tmp_path / "nowhere" / "episode.json", b"third")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["episode.json", "folder"]


def test_the_command_writes_the_document(store: TraceStore, settings: Settings, run: Run, tmp_path: Path):
    out = tmp_path / "episode.json"
    assert run("episode-1", "--out", str(out)) == (0, b"", "")
    assert out.read_bytes() == episode_json(store, "episode-1")
    done = run_process(settings, "episode-1")
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout) == exported(store)


@pytest.mark.parametrize("arguments", [("coded",), ("--sft",)])
def test_terminal_codes_are_escaped_when_printed(
    store: TraceStore, run: Run, tmp_path: Path, arguments: tuple[str, ...]
):
    codes = "\x1b[31mred\x1b[0m\x1b]0;title\x07 \x9b2J back\x08 over\rwritten \u202egnp.exe \u2066x\x7f é 🙂"
    play_model(store, "coded", [answer("noop", model=codes)])
    printed = run(*arguments)[1]
    seen = [sign for sign in printed.decode() if unicodedata.category(sign) in ("Cc", "Cf") and sign != "\n"]
    assert seen == []
    out = tmp_path / "out"
    run(*arguments, "--out", str(out))
    in_file = [json.loads(line) for line in out.read_bytes().splitlines()]
    assert [json.loads(line) for line in printed.splitlines()] == in_file  # escaped, but the same
    assert json.dumps(codes) in json.dumps(in_file)


def test_the_command_reports_an_unknown_episode(store: TraceStore, settings: Settings, run: Run):
    code, printed, problem = run("nothing-like-it")
    assert (code, printed) == (1, b"")
    assert problem.startswith("No episode 'nothing-like-it' is stored.")
    assert str(settings.data_dir / FILE_NAME) in problem


@pytest.mark.parametrize("arguments", [["episode-1"], ["--sft"]])
def test_the_command_creates_no_database(
    settings: Settings, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
):
    for file in (settings.data_dir / FILE_NAME, tmp_path / "other.db"):
        code, printed, problem = run(*arguments)
        assert (code, printed) == (1, b"")
        assert f"There is no database {file}" in problem
        monkeypatch.setenv("CRAFTSCOPE_DB_URL", f"sqlite:///{tmp_path / 'other.db'}")
    assert list(tmp_path.iterdir()) == []


def test_a_new_file_follows_the_umask_and_an_overwritten_one_keeps_its_mode(tmp_path: Path):
    file = tmp_path / "episode.json"
    before = os.umask(0o027)
    try:
        write_whole(file, b"content")
        assert stat.S_IMODE(file.stat().st_mode) == 0o640
        file.chmod(0o604)
        write_whole(file, b"content")
        assert stat.S_IMODE(file.stat().st_mode) == 0o604
    finally:
        os.umask(before)


@pytest.mark.parametrize("name", ["with\0nul", "loop", "x" * 300])
def test_an_invalid_file_name_is_reported(tmp_path: Path, name: str):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(InvalidInput, match="cannot be written"):
        write_whole(tmp_path / name, b"content")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here, which is a disk that is full")
@pytest.mark.parametrize("arguments", [("episode-1",), ("--sft",)])
def test_a_full_disk_is_reported(store: TraceStore, settings: Settings, run: Run, arguments: tuple[str, ...]):
    code, printed, problem = run(*arguments, "--out", "/dev/full")
    assert (code, printed) == (1, b"")
    assert problem.startswith("/dev/full cannot be written (No space left on device).")
    with open("/dev/full", "wb") as full:
        done = run_process(settings, *arguments, stdout=full)
    assert done.returncode == 1
    assert done.stderr.decode().startswith("The standard output cannot be written (No space left on device).")
    assert done.stderr.count(b"\n") == 1


# ------------------------------------------------------------------------------------------ training examples


@pytest.fixture
def trained(settings: Settings) -> Iterator[TraceStore]:
    """Two episodes of a model, `first` and `second`, and one of a random policy with some model calls."""
    with TraceStore.from_settings(settings) as opened:
        opened.runs.create(make_run("run-1", ["episode-1"]))
        record_episode(opened, "episode-1", 5)
        sapling = answer("do", "do", "do", "do", "do")
        play_model(opened, "first", [answer("noop"), sapling, sapling])
        play_model(opened, "second", [answer("noop", model="other-model")], minutes=60)
        yield opened


def test_the_command_writes_training_examples(trained: TraceStore, run: Run, tmp_path: Path):
    out = tmp_path / "examples.jsonl"
    assert run("--sft", "--policy", "llm", "--out", str(out)) == (0, b"", "")
    with out.open("rb") as file:
        assert [record.episode_id for record in read_sft(file)] == ["second", "first", "first", "first"]
    assert set(out.read_bytes().splitlines(keepends=True)) < set(sft_lines(trained))
    assert run("--sft", "--policy", "llm")[1] == out.read_bytes()


@pytest.mark.parametrize(
    ("filters", "lines"),
    [
        (["--min-reward", "1"], 1),
        (["--min-return", "1"], 3),
        (["--achievement", " Collect_Sapling"], 3),
        (["--achievement", "collect_sapling", "--achievement", "collect_wood"], 0),
        (["--model", "other-model"], 1),
        (["--model", "other-model", "--model", "tiny-model"], 4),
        (["--run", "run-of-first"], 3),
        (["--created-after", "2026-03-01T13:00:00Z"], 1),
        (["--created-before", "2026-03-01T13:00"], 3),
        (["--created-after", "2026-03-01", "--created-before", "2026-03-02"], 4),
        (["--include-invalid"], 4),
        (["--policy", "scripted", "--all-policies"], 0),
        (["--policy", "random"], 1),
        (["--policy", "random", "--all-policies"], 4),
    ],
)
def test_the_command_filters(trained: TraceStore, run: Run, filters: list[str], lines: int):
    if "--policy" not in filters:
        filters = [*filters, "--policy", "llm"]
    code, printed, problem = run("--sft", *filters)
    assert (code, len(printed.splitlines())) == (int(lines == 0), lines)
    assert problem.startswith("Nothing was exported: ") == (lines == 0)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--sft", "episode-1"], "--sft and --format take no episode id"),
        (["episode-1", "--min-reward", "1"], "filters belong to --sft"),
        (["--schema", "--all-policies"], "filters belong to --sft"),
        ([], "give an episode id"),
        (["--sft", "--min-reward", "nan"], "'nan' is not a finite number"),
        (["--sft", "--min-return", "much"], "much"),
        (["--sft", "--created-after", "yesterday"], "'yesterday' is not a time"),
        (["--sft", "--achievement", "colect_wood"], "invalid choice: 'colect_wood'"),
        (["--sft", "--status", "lost"], "invalid choice: 'lost'"),
    ],
)
def test_invalid_arguments_are_refused(capsys: pytest.CaptureFixture[str], arguments: list[str], problem: str):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert problem in capsys.readouterr().err


def test_an_export_that_fails_leaves_the_file_as_it_was(trained: TraceStore, run: Run, tmp_path: Path):
    out = tmp_path / "examples.jsonl"
    out.write_bytes(b"before")
    code, printed, problem = run("--sft", "--run", "nowhere", "--out", str(out))
    assert (code, printed) == (1, b"")
    assert problem.startswith("No run 'nowhere' is stored.")
    assert trained.url in problem
    assert out.read_bytes() == b"before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "examples.jsonl"]


def test_an_error_while_pieces_are_computed_leaves_no_file(tmp_path: Path):
    def pieces() -> Iterator[bytes]:
        yield b"one"
        raise ValueError("not of the file")

    with pytest.raises(ValueError, match="not of the file"):
        write_whole(tmp_path / "file", pieces())
    assert not list(tmp_path.iterdir())


def test_a_pipe_is_written_to_and_not_replaced(trained: TraceStore, run: Run, tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    assert run("--sft", "--out", str(pipe)) == (0, b"", "")
    reader.join(10)
    assert read == [b"".join(sft_lines(trained))]
    assert pipe.is_fifo()


def test_a_closed_pipe_is_not_an_error(trained: TraceStore, settings: Settings):
    receiver, sender = os.pipe()
    os.close(receiver)
    with open(sender, "wb") as stdout:
        done = run_process(settings, "--sft", stdout=stdout)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("arguments", "schema"), [(["--schema"], document_schema), (["--sft", "--schema"], sft_schema)]
)
def test_the_command_prints_the_schema(
    capsysbinary: pytest.CaptureFixture[bytes], arguments: list[str], schema: Callable[[], dict[str, Any]]
):
    assert main(arguments) == 0
    assert json.loads(capsysbinary.readouterr().out) == schema()


def run_process(
    settings: Settings, *arguments: str, stdout: Any = subprocess.PIPE
) -> subprocess.CompletedProcess[bytes]:
    """Run `python -m core.exports`."""
    return subprocess.run(
        [sys.executable, "-m", "core.exports", *arguments],
        env=worker_environment(settings),
        cwd=ROOT,
        stdout=stdout,
        stderr=subprocess.PIPE,
        check=False,
    )
