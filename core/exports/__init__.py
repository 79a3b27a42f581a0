"""What leaves the store for other programs; `python -m core.exports` writes it to a file.

document    an episode as one JSON document
lines       formats of one JSON object a line: whole episodes, decision samples, Crafter's statistics
atif        trajectories of Harbor's format
otel        OpenTelemetry spans
folders     formats of several files
parquet     episodes, decisions and reward components as tables
minari      a dataset of our environment
sft         decisions as training examples, one JSON object a line
calls       requests and tool calls, as exports for language models have them
episodes    the episodes that an export takes
files       a file or folder that is seen whole or not at all; the first of many lines
command     the command
"""

from core.exports.command import export_command, main
from core.exports.document import VERSION, EpisodeDocument, document_schema, episode_json, read_document
from core.exports.episodes import episodes_of
from core.exports.files import Portion, first_of, write_whole
from core.exports.folders import FOLDERS, folder_writer
from core.exports.lines import LINES, decision_sample
from core.exports.sft import SFT_FORMAT, SftFilter, SftRecord, read_sft, sft_lines, sft_records, sft_schema

__all__ = [
    "EpisodeDocument",
    "FOLDERS",
    "LINES",
    "Portion",
    "SFT_FORMAT",
    "SftFilter",
    "SftRecord",
    "VERSION",
    "decision_sample",
    "document_schema",
    "episode_json",
    "episodes_of",
    "first_of",
    "folder_writer",
    "main",
    "read_document",
    "read_sft",
    "export_command",
    "sft_lines",
    "sft_records",
    "sft_schema",
    "write_whole",
]
