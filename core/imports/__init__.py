"""What other programs wrote, into the store; `python -m core.imports FILE...` does it.

documents   our own exported episodes: JSON, JSONL, and zip files of them
synth       databases of synth-ai's tracing
reports     how many came in, and what could not be read
command     the command
"""

from core.imports.command import main
from core.imports.reports import Report, import_file

__all__ = ["Report", "import_file", "main"]
