"""The environment decides where data lives and how many episodes run at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.errors import InvalidConfig
from core.settings import PROVIDER_KEYS, add_key_hosts, key_hosts, load_settings, read_key, worker_environment


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch):
    for name in (
        "CRAFTSCOPE_DATA_DIR",
        "CRAFTSCOPE_DB_URL",
        "CRAFTSCOPE_KEYS",
        "CRAFTSCOPE_MAX_WORKERS",
        "XDG_DATA_HOME",
    ):
        monkeypatch.delenv(name, raising=False)


def test_data_lives_outside_the_program_by_default():
    assert load_settings().data_dir == Path.home() / ".local" / "share" / "craftscope"


@pytest.mark.parametrize("text", ["", "  ", "~nosuchuser/x", "data/here"])
def test_the_data_folder_must_be_an_absolute_path(monkeypatch: pytest.MonkeyPatch, text: str):
    monkeypatch.setenv("CRAFTSCOPE_DATA_DIR", text)
    with pytest.raises(InvalidConfig, match="Set CRAFTSCOPE_DATA_DIR to an absolute path"):
        load_settings()


def test_a_relative_xdg_data_home_is_ignored_and_a_tilde_means_the_home_folder(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_DATA_HOME", "here")
    assert load_settings().data_dir == Path.home() / ".local" / "share" / "craftscope"
    monkeypatch.setenv("CRAFTSCOPE_DATA_DIR", "~/here")
    assert load_settings().data_dir == Path.home() / "here"


def test_a_password_in_the_settings_is_not_shown(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CRAFTSCOPE_DB_URL", "postgresql://u:geheim@h/d")
    assert "geheim" not in repr(load_settings())


def test_one_worker_per_core_by_default():
    assert load_settings().max_workers == (os.cpu_count() or 1)


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5"])
def test_an_invalid_worker_count_is_rejected(monkeypatch: pytest.MonkeyPatch, text: str):
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


# ----------------------------------------------------------------------------------------------- keys and their hosts


def test_keys_of_well_known_providers_are_paired_with_their_hosts():
    assert key_hosts() == PROVIDER_KEYS
    assert key_hosts()["OPENAI_API_KEY"] == ("api.openai.com",)


def test_craftscope_keys_adds_pairs_of_a_name_and_a_host(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CRAFTSCOPE_KEYS", " LAB_KEY = models.lab.example:8000,\nLAB_KEY=[::1]:8000, ")
    assert key_hosts() == {**PROVIDER_KEYS, "LAB_KEY": ("models.lab.example:8000", "[::1]:8000")}


@pytest.mark.parametrize(
    "pairs", ["sk-secret", "sk-secret=host", "A_KEY=", "A_KEY=a b", "CRAFTSCOPE_DB_URL=host", "=h"]
)
def test_an_invalid_key_entry_is_reported_by_number_without_its_text(monkeypatch: pytest.MonkeyPatch, pairs: str):
    monkeypatch.setenv("CRAFTSCOPE_KEYS", f"LAB_KEY=host, {pairs}")
    with pytest.raises(InvalidConfig, match="Entry 2 of CRAFTSCOPE_KEYS") as caught:
        load_settings()
    assert "secret" not in str(caught.value)


def test_a_variable_without_a_host_is_never_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LAB_KEY", "sk-1 ")
    assert read_key("LAB_KEY") == read_key("PATH") == ""
    monkeypatch.setenv("CRAFTSCOPE_KEYS", "LAB_KEY=host")
    assert read_key("LAB_KEY") == "sk-1"


def test_the_keys_table_of_the_secrets_is_added_and_reaches_workers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CRAFTSCOPE_KEYS", "LAB_KEY=set.by.hand")
    for _ in range(2):  # every page calls it
        add_key_hosts({"LAB_KEY": "other.example", "HOME_KEY": ["127.0.0.1:1", "[::1]:1"]})
    assert key_hosts()["LAB_KEY"] == ("set.by.hand",)  # the environment takes precedence
    assert key_hosts()["HOME_KEY"] == ("127.0.0.1:1", "[::1]:1")
    inherited = worker_environment(load_settings())["CRAFTSCOPE_KEYS"]
    assert "HOME_KEY=127.0.0.1:1" in inherited and "HOME_KEY=[::1]:1" in inherited
