"""Training examples (SFT): what a line holds, which decisions are exported, and that lines are read again."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from core.errors import InvalidInput
from core.exports import SFT_FORMAT, SftFilter, SftRecord, read_sft, sft_lines, sft_records, sft_schema
from core.policies.llm.client import Answer
from core.policies.llm.prompt import default_system_prompt
from core.policies.tools import tool_schema
from core.rollout import run_rollout
from core.store import EpisodeFilter, TraceStore
from core.types import EpisodeSpec, Limits, PolicySpec
from tests.support import ROOT
from tests.support.model.fake_client import answer, play_model, says
from tests.support.records import make_run, record_episode

DATA = ROOT / "tests" / "data"
DIALECTS = json.loads((DATA / "tool_call_dialects.json").read_text(encoding="utf-8"))
PROSE = says({"content": "I walk."})
HOSTILE = 'end\u2028 \u0085 \x0b \r\n </s> <|im_end|> "quoted" \\ \x00 \U0001f409 \ud83d'


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TraceStore]:
    """An empty store in a file."""
    with TraceStore(f"sqlite:///{tmp_path / 'traces.db'}") as opened:
        yield opened


def exported(store: TraceStore, **wanted: Any) -> list[SftRecord]:
    """The records as they come back from the lines."""
    return list(read_sft(sft_lines(store, SftFilter(**wanted))))


def play_script(store: TraceStore, name: str, episode_id: str = "script", decisions: int = 3) -> None:
    """An episode of a policy that asks no model."""
    spec = EpisodeSpec(7, PolicySpec(name), 1, limits=Limits(max_decisions=decisions), max_actions_per_call=2)
    store.runs.create(make_run("script-run", [episode_id], seed=7, policy=spec.policy, limits=spec.limits))
    store.queue.claim_next(worker="test")
    run_rollout(spec, episode_id=episode_id, run_id="script-run", recorder_for=lambda queued: store.recorder(queued.id))


# ------------------------------------------------------------------------------------------------- what a line holds


def test_a_line_holds_the_request_the_answer_and_the_rewards(store: TraceStore):
    sapling = answer("do", "do", "do", "do", "do")
    played, client = play_model(store, "episode-1", [answer("noop"), sapling, sapling])
    first, second, third = exported(store)
    assert [record.decision for record in (first, second, third)] == [0, 1, 2]
    assert first.format == SFT_FORMAT == "craftscope-sft-1"
    assert (first.run_id, first.episode_id, first.policy) == ("run-of-episode-1", "episode-1", "llm")
    assert (first.model, first.provider) == ("tiny-model", "127.0.0.1:9")
    assert [list(record.prompt) for record in (first, second, third)] == [r["messages"] for r in client.requests]
    assert list(first.tools) == client.requests[0]["tools"]
    assert second.prompt[0] == {"role": "system", "content": "Play."} and second.prompt[-1]["role"] == "tool"
    assert second.assistant == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {
                    "name": "interact",
                    "arguments": '{"actions": ["do", "do", "do", "do", "do"], "reasoning": "because"}',
                },
            }
        ],
    }
    assert second.unlocked == ("collect_sapling",) and second.reward > 1 and second.env_reward >= 1
    for record, decision in zip((first, second, third), played.decisions, strict=True):
        assert (record.reward, record.env_reward) == (decision.reward.total, decision.env_reward)
        assert (record.unlocked, record.executed) == (decision.unlocked, decision.actions)
        assert (record.error_kind, record.warning) == (None, None)
    assert (first.shaped_return, first.env_return) == pytest.approx((played.shaped_return, played.env_return))
    assert first.time.tzinfo is not None and played.started_at < first.time < second.time <= datetime.now(UTC)


def test_the_text_and_reasoning_of_an_answer_are_exported(store: TraceStore):
    function = {"name": "interact", "arguments": '{"actions": ["do"]}'}
    call = {"id": "a", "type": "function", "function": function}
    play_model(store, "episode-1", [says({"content": "A tree.", "reasoning_content": "Hm.", "tool_calls": [call]})])
    (record,) = exported(store)
    assert record.assistant == {
        "role": "assistant",
        "content": "A tree.",
        "reasoning_content": "Hm.",
        "tool_calls": [call],
    }


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect["name"])
def test_calls_in_every_dialect_are_exported_and_read_again(store: TraceStore, dialect: dict[str, Any]):
    response = dialect["response"]
    text = response.get("body")
    if "stream" in response:
        text = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in response["stream"])
    text = text if isinstance(text, str) else json.dumps(text)
    episode, _ = play_model(store, "episode-1", [Answer(response["status"], response["headers"], text)])
    (record,) = exported(store, include_invalid=True)
    (decision,) = episode.decisions
    stored = tuple(action for call in decision.tool_calls for action in call.actions)
    assert record.parsed().actions == record.actions == stored
    assert record.actions == tuple(dialect["expected"].get("actions", ()))
    assert record.error_kind == dialect["expected"].get("error_kind")
    assert bool(exported(store)) == bool(stored)


def test_arguments_are_text_or_objects_in_every_message(store: TraceStore):
    function = {"name": "interact", "arguments": "{'actions': ['do'],}"}  # neither quotes nor comma are JSON's
    odd = says({"content": None, "tool_calls": [{"id": "a", "type": "function", "function": function}]})
    play_model(store, "episode-1", [answer("noop"), odd])
    text, as_objects = exported(store)[-1], exported(store, arguments="object")[-1]
    assert as_objects.parsed().actions == text.parsed().actions == text.actions == ("do",)

    def arguments(record: SftRecord) -> list[Any]:
        answers = (message for message in record.messages if message["role"] == "assistant")
        return [call["function"]["arguments"] for message in answers for call in message["tool_calls"]]

    assert all(isinstance(each, str) for each in arguments(text))
    assert arguments(as_objects) == [
        {"actions": ["noop"], "reasoning": "because"},
        {"actions": ["do"], "reasoning": ""},
    ]


def test_a_call_in_the_text_is_not_repeated(store: TraceStore):
    text = 'Cow up.\n<tool_call>{"name": "interact", "arguments": {"actions": ["move_up", "do"]}}</tool_call>'
    play_model(store, "episode-1", [says({"content": text})])
    (record,) = exported(store)
    assert record.assistant["content"] is None and len(record.assistant["tool_calls"]) == 1
    assert record.assistant["tool_calls"][0]["id"] == "call_0_0"
    assert record.parsed().actions == ("move_up", "do")


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "interact", "arguments": {"actions": ["do"]}}</tool_call>'
        "<function=interact><parameter=actions>['noop', 'sle",
        '<tool_call>{"name": "interact", "arguments": {"actions": ["do"]}}</tool_call>'
        '<tool_call>{"name": "interact", "arguments": {"actions": ["noop", "sle',
        '<function=interact><parameter=actions>["do"]</parameter></function>'
        '<function=interact><parameter=actions>["sleep"]</parameter><parameter=reasoning>I',
    ],
)
def test_a_truncated_call_is_not_completed(store: TraceStore, text: str):
    episode, _ = play_model(store, "episode-1", [says({"content": text}, finish_reason="length")])
    (record,) = exported(store)
    assert record.parsed().actions == record.actions == episode.decisions[0].actions == ("do",)
    assert record.warning == "truncated"


def test_actions_beyond_the_maximum_per_call_are_left_out(store: TraceStore):
    play_model(store, "episode-1", [answer("do", "noop", "do", "noop", "do", "noop", "do")])
    (record,) = exported(store)
    assert len(record.actions) == record.max_actions_per_call == 5
    assert record.parsed().actions == record.actions == record.executed


def test_actions_beyond_a_limit_are_not_executed(store: TraceStore):
    play_model(store, "episode-1", [answer("do", "noop", "do")], max_steps=2)
    (record,) = exported(store)
    assert record.parsed().actions == record.actions == ("do", "noop", "do")
    assert record.executed == ("do", "noop")


def test_a_picture_is_exported_as_it_was_sent(store: TraceStore):
    _, client = play_model(store, "episode-1", [answer("noop"), answer("do")], observe="both")
    records = exported(store)
    for record, request in zip(records, client.requests, strict=True):
        assert list(record.prompt) == request["messages"]
        assert record.prompt[-1]["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")


def test_hostile_text_stays_on_one_line_and_is_read_again(store: TraceStore):
    hostile = json.dumps({"actions": ["do"], "reasoning": HOSTILE})
    function = {"name": "interact", "arguments": hostile}
    message = {"content": HOSTILE, "tool_calls": [{"id": HOSTILE, "function": function}]}
    episode, client = play_model(
        store, "episode-1", [says(message, model=HOSTILE), answer("noop")], system_prompt=f"Play. {HOSTILE}"
    )
    lines = list(sft_lines(store))
    assert all(line.isascii() and line.endswith(b"\n") and len(line.decode().splitlines()) == 1 for line in lines)
    first, second = read_sft(lines)
    assert list(second.prompt) == client.requests[1]["messages"]
    assert first.prompt[0]["content"].endswith(HOSTILE)
    assert first.assistant["tool_calls"][0]["function"]["arguments"] == hostile
    assert first.assistant["content"] == episode.decisions[0].model_call.content  # pyright: ignore[reportOptionalMemberAccess]
    assert first.parsed().tool_calls == episode.decisions[0].tool_calls


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "Line 2 is not of an SFT export"),
        (b"\xff", "Line 2 is not of an SFT export"),
        ("[" * 100_000, "Line 2 is not of an SFT export"),
        ("[]", "Line 2 is of the format None"),
        ('{"format": "craftscope-sft-2"}', "'craftscope-sft-2'; 'craftscope-sft-1' can be read"),
        ('{"format": "craftscope-sft-1"}', "Line 2 is not of an SFT export"),
    ],
)
def test_a_line_of_another_format_is_refused(line: bytes | str, problem: str):
    with pytest.raises(InvalidInput, match=problem):
        list(read_sft(["", line]))  # empty lines are skipped


def test_the_schema_matches_the_published_file():
    # Add new fields to the file. A field that changes or goes needs a new format and a new file.
    assert sft_schema() == json.loads((DATA / "sft_schema_1.json").read_text(encoding="utf-8"))


def test_the_lines_of_a_known_episode_match_the_published_file(store: TraceStore):
    store.runs.create(make_run("run-1", ["episode-1"]))
    record_episode(store, "episode-1", 6)
    wanted = SftFilter(all_policies=True)
    records = [replace_prompt(record) for record in sft_records(store, wanted)]
    written = list(read_sft((DATA / "sft_1.jsonl").read_bytes().splitlines(keepends=True)))
    assert records == written


def replace_prompt(record: SftRecord) -> SftRecord:
    """The record without the rules and the tool, which are Crafter's and tested elsewhere."""
    if record.model is not None:
        return record
    fields = {name: getattr(record, name) for name in record.__struct_fields__}
    return SftRecord(**{**fields, "messages": record.messages[1:], "tools": ()})


# ------------------------------------------------------------------------------------------------ what is exported


def test_invalid_calls_are_exported_only_on_request(store: TraceStore):
    play_model(store, "waits", [PROSE, answer("do")], on_bad_call="noop")
    play_model(store, "stops", [answer("do"), PROSE], minutes=-1)
    assert [(record.episode_id, record.decision) for record in exported(store)] == [("waits", 1), ("stops", 0)]
    waited, _, _, stopped = exported(store, include_invalid=True)
    for record in (waited, stopped):
        assert record.error_kind == "no_tool_call" and record.actions == ()
        assert record.assistant == {"role": "assistant", "content": "I walk."}
    assert (waited.executed, stopped.executed) == (("noop",), ())


def test_the_valid_answer_is_exported(store: TraceStore):
    _, client = play_model(store, "episode-1", [PROSE, answer("do")], decisions=1, on_bad_call="retry")
    (record,) = exported(store)
    assert record.actions == ("do",) and list(record.prompt) == client.requests[0]["messages"]


@pytest.mark.parametrize("policy", ["scripted", "random"])
def test_policies_without_model_calls_are_exported_only_on_request(store: TraceStore, policy: str):
    play_script(store, policy)
    assert exported(store) == []
    records = exported(store, all_policies=True)
    played = store.episodes.load("script").decisions
    assert len(records) == len(played) == 3
    for record, decision in zip(records, played, strict=True):
        most = record.max_actions_per_call
        assert record.prompt == (
            {"role": "system", "content": default_system_prompt(most)},
            {"role": "user", "content": decision.observation},
        )
        assert record.tools == (tool_schema(most),)
        assert (record.policy, record.model, record.provider) == (policy, None, None)
        assert record.parsed().actions == record.actions and record.executed == decision.actions
        assert record.reward == decision.reward.total


@pytest.fixture
def four(store: TraceStore) -> TraceStore:
    """Four episodes an hour apart: `poor` and `rich` of one model, `other` of another one, `script` of none."""
    play_model(store, "poor", [answer("noop"), answer("noop")], minutes=0)
    sapling = answer("do", "do", "do", "do", "do")
    play_model(store, "rich", [answer("noop"), sapling, sapling, sapling], minutes=60)
    play_model(store, "other", [answer("noop", model="other-model")], minutes=120)
    play_script(store, "random")
    return store


@pytest.mark.parametrize(
    ("wanted", "episodes"),
    [
        (SftFilter(), {"other": 1, "rich": 4, "poor": 2}),
        (SftFilter(all_policies=True), {"other": 1, "rich": 4, "poor": 2, "script": 3}),
        (SftFilter(min_reward=1.0), {"rich": 1}),
        (SftFilter(EpisodeFilter(min_reward=1.0)), {"rich": 4}),
        (SftFilter(EpisodeFilter(policies=("random",))), {}),
        (SftFilter(EpisodeFilter(policies=("random",)), all_policies=True), {"script": 3}),
        (SftFilter(models=("other-model",)), {"other": 1}),
        (SftFilter(models=("other-model",), all_policies=True), {"other": 1}),
        (SftFilter(models=("asked-model",)), {}),
    ],
)
def test_filters_select_decisions(four: TraceStore, wanted: SftFilter, episodes: dict[str, int]):
    records = list(sft_records(four, wanted))
    counts = {record.episode_id: 0 for record in records}
    for record in records:
        counts[record.episode_id] += 1
    assert counts == episodes


# ------------------------------------------------------------------------------------------------------ streaming


def test_more_episodes_than_a_page_holds_are_exported_newest_first(store: TraceStore):
    for number in range(12):
        play_model(store, f"episode-{number:02}", [answer("noop")], minutes=number)
    assert [record.episode_id for record in exported(store)] == [f"episode-{n:02}" for n in reversed(range(12))]


def test_episodes_may_be_deleted_and_added_during_an_export(store: TraceStore):
    for number in range(3):
        play_model(store, f"episode-{number}", [answer("noop"), answer("do")], minutes=number)
    records = sft_records(store)
    found = [next(records)]
    store.episodes.delete(["episode-2"])
    play_model(store, "episode-3", [answer("noop")], minutes=9)
    found += records
    assert [(record.episode_id, record.decision) for record in found] == [
        ("episode-2", 0),
        ("episode-1", 0),
        ("episode-1", 1),
        ("episode-0", 0),
        ("episode-0", 1),
    ]


def test_an_export_holds_one_decision_at_a_time(store: TraceStore):
    record_long_episode(store, 600)
    wanted = SftFilter(EpisodeFilter(run_id="long-run"))
    lines = sft_lines(store, wanted)
    size = len(next(lines))
    tracemalloc.start()
    try:
        count = 1
        for line in lines:
            count += 1
            size += len(line)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 600 and size > 2_000_000
    assert peak < 1_000_000


def record_long_episode(store: TraceStore, decisions: int) -> None:
    """A running episode, `long` of `long-run`: one real decision repeated, each time with other messages."""
    played, _ = play_model(store, "short", [answer("noop")])
    (real,) = played.decisions
    assert played.initial is not None and real.model_call is not None
    store.runs.create(make_run("long-run", ["long"], policy=PolicySpec("llm")))
    store.queue.claim_next(worker="test")
    recorder = store.recorder("long")
    recorder.start(played.started_at, played.initial)
    request = real.model_call.request
    for index in range(decisions):
        turns = [{"role": "user", "content": f"{at}: {real.observation}"} for at in range(max(0, index - 3), index + 1)]
        call = replace(real.model_call, request={**request, "messages": [request["messages"][0], *turns]})
        step = replace(real.steps[0], index=index)
        recorder.record(replace(real, index=index, steps=(step,), model_call=call))
