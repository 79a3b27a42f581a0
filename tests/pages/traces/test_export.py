"""Downloads of episodes and training examples: the same bytes as the command writes."""

from __future__ import annotations

import io
import shlex
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.exports import FOLDERS, SftFilter, export_command, main, read_document, read_sft
from core.exports.command import _parser, _sft_filter  # pyright: ignore[reportPrivateUsage]
from core.settings import load_settings
from core.store import EpisodeFilter, TraceStore
from core.types import EpisodeStatus, RunSource
from pages.components.shared import export_files
from pages.components.shared.export_files import count_examples, episodes_zip, examples_file
from pages.components.traces import export_formats
from pages.components.traces.export_formats import FORMATS, Format
from tests.support.model.episodes import EPISODE, record, says_nothing_to_do, thinks
from tests.support.model.server import says
from tests.support.pages import opened


@pytest.fixture
def played(data_dir: Path) -> Iterator[TraceStore]:
    """A model's episode: two decisions with a valid call, one with an invalid one."""
    good = says(thinks("move_left", "do"))
    with TraceStore.from_settings(load_settings()) as store:
        record(store, (good, says(says_nothing_to_do()), good), on_bad_call="noop")
        yield store


@pytest.fixture
def downloads(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The function behind each download button, by its key; without a browser, nothing else calls it."""
    found: dict[str, Any] = {}
    real = st.download_button

    def button(label: str, data: Any, **options: Any) -> bool:
        found[options["key"]] = data
        return real(label, data, **options)

    monkeypatch.setattr(st, "download_button", button)
    return found


OPEN = {"export": True}  # the popover


def written(tmp_path: Path, *arguments: str) -> bytes:
    out = tmp_path / "examples.jsonl"
    assert main(["--sft", f"--out={out}", *arguments]) == 0
    return out.read_bytes()


def code_of(at: AppTest) -> str:
    return next(code.value for code in at.code if code.value.startswith("python -m core.exports"))


def test_the_list_downloads_what_the_command_writes(played: TraceStore, downloads: dict[str, Any], tmp_path: Path):
    at = opened("traces", state=OPEN)
    assert any(caption.value.startswith("2 examples") for caption in at.caption)
    lines = downloads["sft_download"]()
    assert lines == written(tmp_path)
    assert code_of(at) == "python -m core.exports --sft --out=craftscope-sft.jsonl"
    for example in read_sft(io.BytesIO(lines)):
        assert example.parsed().actions == example.actions == ("move_left", "do")
    at.checkbox(key="sft_unusable").check()
    at.multiselect(key="sft_models").set_value(["tiny-model"])
    at.number_input(key="sft_min_reward").set_value(-5.0).run()
    assert not at.exception
    assert downloads["sft_download"]() == written(
        tmp_path, "--include-invalid", "--model=tiny-model", "--min-reward=-5"
    )
    at.number_input(key="sft_min_reward").set_value(1000.0).run()
    assert any("No decision matches" in info.value for info in at.info)


def test_the_filters_of_the_page_apply_to_the_export(recorded: TraceStore, downloads: dict[str, Any], tmp_path: Path):
    at = opened("traces", state=OPEN, policy="random")
    assert any("No decision matches" in info.value for info in at.info)  # none of them asked a model
    at.checkbox(key="sft_all_policies").check().run()
    lines = downloads["sft_download"]()
    assert {example.policy for example in read_sft(io.BytesIO(lines))} == {"random"}
    assert lines == written(tmp_path, "--all-policies", "--policy=random")


@pytest.mark.parametrize("format_", FORMATS, ids=lambda found: found.name)
def test_every_format_is_prepared_and_is_what_the_command_writes(
    format_: Format, recorded: TraceStore, downloads: dict[str, Any], tmp_path: Path
):
    at = opened("traces", state=OPEN, policy="random")
    at.selectbox(key="export_format").select(format_).run()
    command = code_of(at)
    assert f"--format={format_.name}" in command and "--policy=random" in command
    at.button(key="export_prepare").click().run()
    assert not at.exception and not at.error
    content = downloads["export_download"]
    out = tmp_path / format_.out
    assert main([*shlex.split(command)[3:-1], f"--out={out}"]) == 0
    if format_.name not in FOLDERS:
        assert content == out.read_bytes()
        return
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = {str(path.relative_to(tmp_path)) for path in out.rglob("*") if path.is_file()}
        assert {name for name in archive.namelist() if not name.endswith("/")} == names


def test_too_many_steps_for_a_dataset_are_cut_and_reported(
    recorded: TraceStore, downloads: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(export_formats, "MAX_FOLDER_STEPS", 1)
    at = opened("traces", state=OPEN)
    at.selectbox(key="export_format").select(FORMATS[2]).run()
    at.button(key="export_prepare").click().run()
    assert any(caption.value.startswith("The first 1 episode,") for caption in at.caption)


def test_a_models_episode_downloads_its_examples(played: TraceStore, downloads: dict[str, Any], tmp_path: Path):
    opened("episode", id=EPISODE)
    assert downloads["download-sft"]() == written(tmp_path, f"--episode={EPISODE}")


def test_an_episode_of_another_policy_offers_no_examples(recorded: TraceStore, downloads: dict[str, Any]):
    opened("episode", id="1" * 32)
    assert downloads and "download-sft" not in downloads


def test_several_episodes_are_a_zip_without_deleted_ones(recorded: TraceStore):
    with zipfile.ZipFile(io.BytesIO(episodes_zip(recorded, ["1" * 32, "0" * 32, "3" * 32]))) as archive:
        documents = [read_document(archive.read(name)) for name in archive.namelist()]
    assert [document.episode.id for document in documents] == ["1" * 32, "3" * 32]


def test_too_many_examples_are_cut_after_a_whole_line_and_reported(
    recorded: TraceStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    wanted = SftFilter(all_policies=True)
    whole = written(tmp_path, "--all-policies")
    monkeypatch.setattr(export_files, "MAX_EXAMPLES", 3)
    found = count_examples(recorded, wanted)
    assert (found.lines, found.is_all) == (3, False)
    cut = examples_file(recorded, wanted)
    assert whole.startswith(cut) and cut.count(b"\n") == 3 and len(cut) == found.size
    monkeypatch.setattr(export_files, "MAX_BYTES", found.size - 1)
    assert count_examples(recorded, wanted).lines == 2


def test_named_episodes_come_once_and_only_if_they_match(recorded: TraceStore):
    named = SftFilter(episode_ids=("3" * 32, "1" * 32, "3" * 32), all_policies=True)
    lines = list(read_sft(examples_file(recorded, named).splitlines()))
    assert list(dict.fromkeys(line.episode_id for line in lines)) == ["3" * 32, "1" * 32]
    assert len({(line.episode_id, line.decision) for line in lines}) == len(lines)
    of_random = SftFilter(EpisodeFilter(policies=("random",)), named.episode_ids, all_policies=True)
    assert {line.episode_id for line in read_sft(examples_file(recorded, of_random).splitlines())} == {"3" * 32}


def test_the_shown_command_has_the_same_filters():
    wanted = SftFilter(
        EpisodeFilter(
            policies=("llm", "--odd name; rm"),
            seeds=(1, 42),
            statuses=(EpisodeStatus.COMPLETED, EpisodeStatus.FAILED),
            achievements=("collect_wood",),
            min_reward=-1.5,
            max_reward=9.0,
            created_after=datetime(2026, 3, 1, tzinfo=UTC),
            created_before=datetime(2026, 3, 2, tzinfo=UTC),
            run_id="f" * 32,
            sources=(RunSource.SERVICE,),
            mode="eval",
            trainer_id="batch-1",
        ),
        ("a" * 32,),
        min_reward=0.5,
        models=("it's $HOME",),
        include_invalid=True,
        all_policies=True,
    )
    arguments = shlex.split(export_command(wanted, "out.jsonl"))
    assert arguments[:3] == ["python", "-m", "core.exports"]
    assert _sft_filter(_parser().parse_args(arguments[3:])) == wanted
