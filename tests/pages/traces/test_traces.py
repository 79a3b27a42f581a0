"""The traces page: the list, filters and their errors, deletion, and an empty store."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.exports import episode_json
from core.store import EpisodePage, TraceStore
from core.store.episodes import Episodes
from core.types import PolicySpec, QueuedEpisode, Run, RunSource
from tests.support.pages import metrics, opened, said, texts


def test_an_empty_store_explains_itself_and_offers_samples(data_dir: Path):
    at = opened("traces")
    assert "Nothing is stored yet" in [subheader.value for subheader in at.subheader]
    assert {"run_samples", "go_to_launch"} <= {b.key for b in at.button}


def test_every_stored_episode_is_listed_with_totals(recorded: TraceStore):
    at = opened("traces")
    table = at.dataframe[0].value
    assert sorted(table["policy"]) == ["random", "scripted", "scripted"]
    assert metrics(at)["Episodes"] == "3"
    assert metrics(at)["Steps"] == str(sum(table["steps"].tolist()))
    assert set(table["status"]) == {"✓ completed · step limit"}


@pytest.mark.parametrize("name", ["collect_wood", "collect wood"])
def test_achievements_of_a_link_may_be_names_or_labels(recorded: TraceStore, name: str):
    at = opened("traces", achievements=name)
    assert at.multiselect(key="achievements").value == ["collect_wood"]
    assert not at.warning
    assert metrics(at)["Episodes"] == str(
        sum("collect_wood" in row.achievements for row in recorded.episodes.page().rows)
    )


def test_a_link_to_one_run_shows_only_its_episodes_until_cleared(recorded: TraceStore):
    recorded.runs.create(
        Run("e" * 32, datetime.now(UTC), (QueuedEpisode("d" * 32, recorded.episodes.page().rows[0].spec),))
    )
    at = opened("traces", run="e" * 32)
    assert metrics(at)["Episodes"] == "1"
    at.button(key="clear_run").click().run()
    assert metrics(at)["Episodes"] == "4"
    assert "run" not in at.query_params


def test_the_seeds_filter_takes_ranges_and_reports_errors(recorded: TraceStore):
    at = opened("traces")
    at.text_input(key="seeds").set_value("0-9").run()
    assert list(at.dataframe[0].value["seed"]) == [7]
    at.text_input(key="seeds").set_value("seven").run()
    assert not at.exception
    assert "seven" in at.error[0].value
    assert len(at.dataframe[0].value) == 3


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"status": "bogus"}, 'status "bogus" (accepted: queued, running'),
        ({"status": "complete"}, 'did you mean "completed"?'),
        ({"policy": "scriptd"}, 'policy "scriptd" (did you mean "scripted"? accepted: random, scripted)'),
        ({"achievements": "collect_wod"}, 'did you mean "collect wood"?'),
        ({"run": "0123456789"}, 'run "0123456789" (unknown run)'),
        ({"min_reward": "nan"}, 'min_reward "nan" (enter a number)'),
        ({"max_reward": "many"}, 'max_reward "many" (enter a number)'),
        ({"since": "garbage"}, 'since "garbage" (enter a day such as 2026-03-01)'),
    ],
)
def test_an_invalid_filter_of_a_link_is_reported_and_the_others_apply(
    recorded: TraceStore, query: dict[str, str], message: str
):
    at = opened("traces", state=None, seeds="42", **query)
    assert message in at.warning[0].value.replace("\\", "")
    assert list(at.dataframe[0].value["seed"]) == [42, 42]


def test_invalid_seeds_of_a_link_leave_the_other_filters(recorded: TraceStore):
    at = opened("traces", seeds="![x](http://example.org/x.png)", policy="random")
    assert "http" in at.error[0].value and "![x](" not in at.error[0].value  # never read as Markdown
    assert list(at.dataframe[0].value["policy"]) == ["random"]


def test_filters_without_a_match_can_be_cleared(recorded: TraceStore):
    at = opened("traces", policy="random", seeds="7")
    assert "No stored episode matches" in at.info[0].value
    at.button(key="clear_filters").click().run()
    assert len(at.dataframe[0].value) == 3


def test_a_corrupt_database_is_reported_and_not_changed(data_dir: Path):
    path = data_dir / "craftscope.db"
    path.write_text("not a database at all" * 400)
    at = opened("traces")
    assert "The trace database is corrupt" in said(at)
    assert str(path) in "".join(texts(at))
    assert path.read_text() == "not a database at all" * 400


@pytest.mark.parametrize("url", ["mysql://host/db", "foo", "postgresql://user:secret@host:abc/db"])
def test_an_invalid_database_url_is_reported_without_its_password(
    data_dir: Path, url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CRAFTSCOPE_DB_URL", url)
    at = opened("traces")
    assert "CRAFTSCOPE_DB_URL" in said(at)
    assert "secret" not in said(at)


def test_hostile_text_of_a_trace_is_shown_as_text_and_cut(recorded: TraceStore):
    hostile = "![x](http://example.org/x.png)\0\ud83d" + "z" * 1_000_000
    row = recorded.episodes.page().rows[0]
    row = replace(row, spec=replace(row.spec, policy=PolicySpec(hostile)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Episodes, "policies", lambda self: (hostile,))
        patch.setattr(Episodes, "page", lambda self, *_, **__: EpisodePage((row,)))
        at = opened("traces")
    assert all(len(text) < 100 and text.encode() for text in at.dataframe[0].value["policy"])
    assert all(len(text) < 100 and text.encode() for text in at.multiselect(key="policy").options)


def test_episodes_can_be_found_by_what_a_trainer_knows_of_them(recorded: TraceStore):
    spec = recorded.episodes.page().rows[0].spec
    run = Run(
        "e" * 32,
        datetime.now(UTC),
        (QueuedEpisode("d" * 32, spec),),
        source=RunSource.SERVICE,
        mode="rl",
        trace_correlation_id="corr-1",
        training_session_id="session-1",
    )
    recorded.runs.create(run)
    for query in (
        {"mode": "rl"},
        {"source": "asked for by a trainer"},
        {"trainer_id": "corr-1"},
        {"trainer_id": "session-1", "mode": "rl"},
    ):
        assert metrics(opened("traces", state=None, **query))["Episodes"] == "1"
    assert metrics(opened("traces", source="launched here"))["Episodes"] == "3"
    assert "accepted: rl, eval" in said(opened("traces", mode="train"))


def test_exported_episodes_can_be_imported(recorded: TraceStore):
    (first, *_) = recorded.episodes.page().rows
    document = episode_json(recorded, first.id)
    recorded.episodes.delete([first.id])
    at = opened("traces", state={"import": True})
    uploader = at.file_uploader(key="import_files")
    uploader.upload("one.json", document)
    uploader.upload("bad.json", b"{}")
    at.run()
    at.button(key="import_now").click().run()
    assert not at.exception
    assert any(
        "1 episode with" in warning.value and "1 episode could not be read" in warning.value for warning in at.warning
    )
    assert any(text.startswith("bad.json") for text in texts(at))
    assert recorded.episodes.get(first.id).n_steps == first.n_steps
