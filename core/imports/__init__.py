"""What other programs wrote, into the store; `python -m core.imports FILE...` does it.

documents       our own exported episodes: JSON, JSONL, and zip files of them
synth           databases of synth-ai's tracing
crafter_files   what Crafter's own recorder writes
minari          datasets of our environment
steps           decisions of recordings that hold steps alone
reports         how many came in, and what could not be read
command         the command
"""

from core.imports.command import main
from core.imports.reports import UNNAMED_POLICY, Report, import_file

__all__ = ["UNNAMED_POLICY", "Report", "import_file", "main"]
