"""`python -m core.exports`: an episode as a document, or decisions as training examples."""

from __future__ import annotations

import argparse
import math
import os
import re
import shlex
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any

from tqdm import tqdm

from core.env.rules import ACHIEVEMENTS
from core.errors import CraftscopeError, InvalidInput, UnknownEpisode
from core.exports.document import document_schema, episode_json
from core.exports.episodes import episodes_of
from core.exports.files import write_whole
from core.exports.folders import FOLDERS, folder_writer
from core.exports.lines import LINES
from core.exports.sft import SftFilter, sft_lines, sft_schema
from core.settings import load_settings
from core.store import EpisodeFilter, EpisodeSummary, TraceStore
from core.store.blobs import to_json
from core.store.database import FILE_NAME, parsed_url
from core.text import plural, visible
from core.types import EpisodeStatus, RunSource

# DEL, the control characters from U+0080 on, and marks of writing direction, in UTF-8. JSON has them in strings only.
_ACTED_ON_BY_TERMINALS = re.compile(rb"\x7f|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]")
_NO_MATCH = (
    "Nothing was exported: no stored decision passes the filters. Decisions without a model call need --all-policies, "
    "invalid calls --include-invalid.\n"
)
_NO_EPISODE = "Nothing was exported: no stored episode passes the filters.\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code."""
    parser = _parser()
    given = parser.parse_args(arguments)
    _check(parser, given)
    try:
        if given.schema:
            _write_document(given.out, to_json(sft_schema() if given.sft else document_schema()))
        elif given.sft:
            return _export_sft(given)
        elif given.format in FOLDERS:
            return _export_folder(given)
        elif given.format:
            return _export_lines(given)
        else:
            _export_document(given)
    except CraftscopeError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def export_command(wanted: SftFilter, out: str, format_: str | None = None) -> str:
    """The command that writes the same to a file, as a shell takes it. format_: None for training examples."""
    episodes = wanted.episodes
    options: list[tuple[str, object]] = [
        *(("--episode", id_) for id_ in wanted.episode_ids),
        ("--min-reward", wanted.min_reward),
        ("--min-return", episodes.min_reward),
        ("--max-return", episodes.max_reward),
        *(("--achievement", name) for name in episodes.achievements),
        *(("--policy", name) for name in episodes.policies),
        *(("--seed", seed) for seed in episodes.seeds),
        *(("--status", status.value) for status in episodes.statuses),
        *(("--source", source.value) for source in episodes.sources),
        ("--mode", episodes.mode),
        ("--trainer-id", episodes.trainer_id),
        *(("--model", name) for name in wanted.models),
        ("--run", episodes.run_id),
        ("--created-after", episodes.created_after and episodes.created_after.isoformat()),
        ("--created-before", episodes.created_before and episodes.created_before.isoformat()),
        ("--out", out),
    ]
    flags = [
        "--sft" if format_ is None else f"--format={format_}",
        *(["--include-invalid"] if wanted.include_invalid else []),
        *(["--all-policies"] if wanted.all_policies else []),
        *(["--arguments=object"] if wanted.arguments == "object" else []),
    ]
    given = [f"{name}={value}" for name, value in options if value is not None]
    return shlex.join(["python", "-m", "core.exports", *flags, *given])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m core.exports",
        description="Write an episode as one JSON document, or decisions as training examples, one JSON object a line.",
    )
    parser.add_argument("episode_id", nargs="?", help="its id, or at least its first six characters")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where to write; without it, to standard output")
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema of what is written instead")
    parser.add_argument("--sft", action="store_true", help="write decisions as training examples")
    parser.add_argument(
        "--format",
        choices=(*LINES, *FOLDERS),
        help="write many episodes: jsonl (whole), samples (decisions for trainers), stats (as Crafter's recorder), "
        "atif (trajectories), otel (OpenTelemetry spans), or into a new folder --out: parquet (three tables), minari "
        "(a dataset, such as ~/.minari/datasets/crafter/farmer-v0)",
    )
    sft = parser.add_argument_group(
        "filters of --sft and --format", "Without any: every episode; of --sft every decision with a valid model call."
    )
    sft.add_argument("--min-reward", type=_number, metavar="X", help="decisions with at least this shaped reward")
    sft.add_argument("--min-return", type=_number, metavar="X", help="of episodes with at least this shaped return")
    sft.add_argument("--max-return", type=_number, metavar="X", help="of episodes with at most this shaped return")
    achievement_help = "of episodes that unlocked it; repeatable, all must match"
    _add_list(sft, "--achievement", _name, "NAME", achievement_help, ACHIEVEMENTS)
    _add_list(sft, "--policy", str, "NAME", "of this policy; repeatable")
    _add_list(sft, "--seed", int, "N", "of this seed; repeatable")
    statuses = [status.value for status in EpisodeStatus]
    _add_list(sft, "--status", _name, "NAME", "of this status; repeatable", statuses)
    sources = [source.value for source in RunSource]
    _add_list(sft, "--source", _name, "NAME", f"of runs from there: {', '.join(sources)}; repeatable", sources)
    sft.add_argument("--mode", metavar="NAME", help="of runs that a trainer asked for in this mode, such as rl or eval")
    sft.add_argument("--trainer-id", metavar="ID", help="of runs with this correlation, training session or batch id")
    _add_list(sft, "--episode", str, "ID", "of this episode; repeatable")
    _add_list(sft, "--model", str, "NAME", "answered by this model; repeatable")
    sft.add_argument("--run", metavar="RUN_ID", help="of this run")
    sft.add_argument("--created-after", type=_time, metavar="TIME", help="of episodes created then or later (UTC)")
    sft.add_argument("--created-before", type=_time, metavar="TIME", help="of episodes created before (UTC)")
    more = parser.add_argument_group("left out of --sft by default")
    more.add_argument("--include-invalid", action="store_true", help="invalid calls")
    more.add_argument("--all-policies", action="store_true", help="policies that call no model, such as scripted")
    parser.add_argument(
        "--arguments",
        choices=("text", "object"),
        default="text",
        help="of the calls in --sft: JSON text, for the fine-tuning APIs of OpenAI and others with its format, or an "
        "object, for trainers that apply the model's own chat template, such as TRL",
    )
    return parser


def _add_list(group: Any, name: str, kind: Any, metavar: str, text: str, choices: Sequence[str] | None = None) -> None:
    group.add_argument(name, type=kind, action="append", default=[], metavar=metavar, help=text, choices=choices)


def _check(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    if given.sft and given.format:
        parser.error("give --sft or --format, not both")
    if (given.sft or given.format) and given.episode_id is not None:
        parser.error("--sft and --format take no episode id; use the filters, such as --episode or --run")
    if given.format in FOLDERS and given.out is None:
        parser.error(f"--format {given.format} needs --out, a new folder")
    if given.format and (given.schema or _of_decisions(_sft_filter(given)) != SftFilter()):
        parser.error("--format takes whole episodes: --schema and the filters of decisions belong to --sft")
    if given.sft or given.format:
        return
    if given.schema == (given.episode_id is not None):
        parser.error("give an episode id, or --schema, --sft or --format")
    if _sft_filter(given) != SftFilter():
        parser.error("filters belong to --sft and --format; an episode's document is always whole")


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number. Example: 0.5")
    return number


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time. Examples: 2026-03-01, 2026-03-01T12:00:00Z"
        ) from error
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _name(text: str) -> str:
    return text.strip().casefold()


def _sft_filter(given: argparse.Namespace) -> SftFilter:
    return SftFilter(
        episodes=EpisodeFilter(
            policies=tuple(given.policy),
            seeds=tuple(given.seed),
            statuses=tuple(map(EpisodeStatus, given.status)),
            achievements=tuple(given.achievement),
            min_reward=given.min_return,
            max_reward=given.max_return,
            created_after=given.created_after,
            created_before=given.created_before,
            run_id=given.run,
            sources=tuple(map(RunSource, given.source)),
            mode=given.mode,
            trainer_id=given.trainer_id,
        ),
        episode_ids=tuple(given.episode),
        min_reward=given.min_reward,
        models=tuple(given.model),
        include_invalid=given.include_invalid,
        all_policies=given.all_policies,
        arguments=given.arguments,
    )


def _export_document(given: argparse.Namespace) -> None:
    with _open_store() as store:
        document = episode_json(store, given.episode_id)
    _write_document(given.out, document)


def _of_decisions(wanted: SftFilter) -> SftFilter:
    """Without what it says of episodes."""
    return replace(wanted, episodes=EpisodeFilter(), episode_ids=())


def _export_sft(given: argparse.Namespace) -> int:
    with _open_store() as store:
        return _export(given.out, sft_lines(store, _sft_filter(given)), _NO_MATCH)


def _export_lines(given: argparse.Namespace) -> int:
    with _open_store() as store:
        return _export(given.out, LINES[given.format](store, _episodes(store, given)), _NO_EPISODE)


def _export_folder(given: argparse.Namespace) -> int:
    with _open_store() as store:
        count = folder_writer(given.format)(store, _episodes(store, given), given.out.absolute())
    sys.stderr.write(f"{plural(count, 'episode')} in {visible(str(given.out))}.\n" if count else _NO_EPISODE)
    return 0 if count else 1


def _episodes(store: TraceStore, given: argparse.Namespace) -> Iterator[EpisodeSummary]:
    """The episodes that were asked for, counted on a terminal while they are written."""
    wanted = _sft_filter(given)
    found = episodes_of(store, wanted.episodes, wanted.episode_ids)
    if given.out is None:  # the terminal shows the lines themselves
        return found
    return iter(tqdm(found, unit=" episodes", disable=None))  # None: not where nobody looks


def _export(out: Path | None, lines: Iterator[bytes], no_match: str) -> int:
    """Without a line nothing is written."""
    first = list(islice(lines, 1))
    if not first:
        sys.stderr.write(no_match)
        return 1
    _write(out, chain(first, lines))
    return 0


@contextmanager
def _open_store() -> Generator[TraceStore]:
    """Open the store. Raises InvalidInput if there is no database: an export creates none."""
    settings = load_settings()
    file = settings.data_dir / FILE_NAME
    if settings.db_url is not None:
        url = parsed_url(settings.db_url)
        file = Path(str(url.database)) if url.get_backend_name() == "sqlite" else None
    if file is not None and not os.path.exists(file):
        raise InvalidInput(
            f"There is no database {visible(str(file))} to export from. Play an episode first, or name another with "
            "CRAFTSCOPE_DATA_DIR or CRAFTSCOPE_DB_URL."
        )
    with TraceStore.from_settings(settings) as store:
        try:
            yield store
        except UnknownEpisode as error:
            raise UnknownEpisode(f"{error} Database: {store.url}.") from error


def _escaped(piece: bytes) -> bytes:
    """The same JSON with the characters escaped that a terminal acts on and JSON allows unescaped."""
    return _ACTED_ON_BY_TERMINALS.sub(lambda found: b"\\u%04x" % ord(found[0].decode()), piece)


def _write_document(path: Path | None, document: bytes) -> None:
    _write(path, [document] if path else [document, b"\n"])


def _write(path: Path | None, pieces: Iterable[bytes]) -> None:
    if path is not None:
        write_whole(path, pieces)
        return
    try:
        sys.stdout.buffer.writelines(map(_escaped, pieces))
        sys.stdout.buffer.flush()
    except OSError as error:
        # Python would fail again on the rest of the buffer when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # the reader has stopped, as `head` does
            return
        raise InvalidInput(
            f"The standard output cannot be written ({error.strerror}). Free some space, or name a file with --out."
        ) from error
