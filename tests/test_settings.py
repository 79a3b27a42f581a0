"""The environment decides where data lives and how many episodes run at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.errors import InvalidConfig
from core.settings import load_settings, worker_environment


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch):
    for name in ("CRAFTSCOPE_DATA_DIR", "CRAFTSCOPE_DB_URL", "CRAFTSCOPE_MAX_WORKERS", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)


def test_data_lives_outside_the_program_by_default():
    assert load_settings().data_dir == Path.home() / ".local" / "share" / "craftscope"


def test_the_data_folder_can_be_moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("CRAFTSCOPE_DATA_DIR", str(tmp_path / "here"))
    assert load_settings().data_dir == tmp_path / "here"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is set and empty"),
        ("  ", "is set and empty"),
        ("~nosuchuser/x", "no such user"),
        ("data/here", "depends on the current folder; give the whole path, such as /"),
        ("/half/\udcff/x", "not UTF-8"),
    ],
)
def test_a_data_folder_that_cannot_be_used_is_said(monkeypatch: pytest.MonkeyPatch, text: str, said: str):
    monkeypatch.setenv("CRAFTSCOPE_DATA_DIR", text)
    with pytest.raises(InvalidConfig, match=f"^CRAFTSCOPE_DATA_DIR .*{said}") as caught:
        load_settings()
    assert str(caught.value).isprintable()


def test_a_home_that_cannot_be_used_is_said(monkeypatch: pytest.MonkeyPatch):
    for home in ("somewhere", "/half/\udcff"):
        monkeypatch.setenv("HOME", home)
        with pytest.raises(InvalidConfig, match="set CRAFTSCOPE_DATA_DIR to the whole path"):
            load_settings()


def test_a_data_home_that_is_no_whole_path_is_ignored(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_DATA_HOME", "here")
    assert load_settings().data_dir == Path.home() / ".local" / "share" / "craftscope"


def test_a_tilde_means_the_home_folder(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CRAFTSCOPE_DATA_DIR", "~/here")
    assert load_settings().data_dir == Path.home() / "here"


def test_a_password_in_the_settings_is_not_shown(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CRAFTSCOPE_DB_URL", "postgresql://u:geheim@h/d")
    assert "geheim" not in repr(load_settings())


def test_one_worker_a_core_by_default():
    assert load_settings().max_workers == (os.cpu_count() or 1)


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5"])
def test_an_unusable_worker_count_is_said(monkeypatch: pytest.MonkeyPatch, text: str):
    monkeypatch.setenv("CRAFTSCOPE_MAX_WORKERS", text)
    with pytest.raises(InvalidConfig, match="CRAFTSCOPE_MAX_WORKERS"):
        load_settings()


def test_a_worker_gets_the_same_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("CRAFTSCOPE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("CRAFTSCOPE_DB_URL", "sqlite:///x.db")
    before = load_settings()
    for name, value in worker_environment(before).items():
        monkeypatch.setenv(name, value)
    assert load_settings() == before
