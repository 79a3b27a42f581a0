"""Values that a server or a model wrote: JSON objects of unknown shape, and JSON or Python literals in text.

Nothing here raises for what it reads, and every function takes time in proportion to its text.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from typing import Any, Final, TypeGuard

from core.text import storable

UNREADABLE: Final = object()

_MAX_LITERAL = 100_000  # characters: longer text is not tried as a Python literal
_JSON_WORDS = {"true": True, "false": False, "null": None}
_DECODER = json.JSONDecoder(strict=False)  # models write line breaks into strings as they are
_PUNCTUATION = re.compile(r"""\\.|["'\[\]{}()]""", re.DOTALL)
_NOISE_BETWEEN = re.compile(r"(?:\s|```\w{0,20}|</?\w{1,40}>|<[|｜][^<>|｜]{1,40}[|｜]>)*")
_GEMMA_QUOTES = re.compile(r'<\|"\|>|<escape>')
_BARE_KEY = re.compile(r"([{,]\s{0,20})(\w{1,80})\s{0,20}:")


def is_dict(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether it is an object. Its keys are text if it came from JSON."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def as_dict(value: object) -> dict[str, Any]:
    """The object, or an empty one."""
    return value if is_dict(value) else {}


def as_list(value: object) -> list[Any]:
    """The list, or an empty one."""
    return value if is_list(value) else []


def as_text(value: object) -> str:
    """Text as it is, None as empty text, and anything else as JSON."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else as_json(value)


def as_json(value: object) -> str:
    """A value as JSON text; values without a JSON form (Python sets) as their str."""
    try:
        return storable(json.dumps(value, default=str))
    except (TypeError, ValueError, RecursionError, OverflowError):  # keys that are not text, numbers of 5000 digits
        return f"<{type(value).__name__}>"


def key_of(name: str) -> str:
    """A name without regard to case, spaces, hyphens and underscores."""
    return re.sub(r"[\s_\-]+", "", name.casefold())


def read_literal(text: str) -> Any:
    """The value of JSON text or a Python literal; `UNREADABLE` if it is incomplete."""
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        pass
    tree = _expression(text.strip())
    return UNREADABLE if tree is None else _literal(tree)


def value_at(text: str, start: int) -> tuple[Any, int]:
    """The object or list that opens at `start`, and the index after it. `UNREADABLE` takes the rest of the text."""
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        pass
    end = closing(text, start)
    if end is None:
        return UNREADABLE, len(text)
    value = read_literal(text[start:end])
    if value is UNREADABLE and _GEMMA_QUOTES.search(text, start, end):
        value = read_literal(_gemma_as_json(text[start:end]))
    return (value, end) if value is not UNREADABLE else (UNREADABLE, len(text))


def objects_in_a_row(text: str) -> list[str]:
    """Splits `{...}{...}` into the text of each object that is not empty; none if anything but fences and special
    tokens stands between or after them. Proxies join parallel calls that way: apache/maka#1976, smolagents#1958."""
    pieces: list[str] = []
    position = end_of(_NOISE_BETWEEN, text, 0)
    while position < len(text):
        value, end = value_at(text, position) if text[position] == "{" else (UNREADABLE, position)
        if value is UNREADABLE:
            return []
        if value:
            pieces.append(text[position:end])
        position = end_of(_NOISE_BETWEEN, text, end)
    return pieces


def keywords(text: str) -> dict[str, Any] | None:
    """The arguments of a call in Python's style, from `(` to `)`; a single positional one is the list of actions
    or an object with all arguments. None if any of them is not a literal."""
    tree = _expression("call" + text)
    if not isinstance(tree, ast.Call) or len(tree.args) > 1 or any(word.arg is None for word in tree.keywords):
        return None
    nodes = {"actions": tree.args[0]} if tree.args else {}
    nodes.update({str(word.arg): word.value for word in tree.keywords})
    read = {name: _literal(node) for name, node in nodes.items()}
    if any(value is UNREADABLE for value in read.values()):
        return None
    only = read.get("actions") if tree.args and len(read) == 1 else None
    return only if is_dict(only) else read


def closing(text: str, start: int) -> int | None:
    """The index after the bracket that closes the one at `start`; None if it stays open. Brackets in quotes do not
    count."""
    depth, quote = 0, ""
    for match in _PUNCTUATION.finditer(text, start, start + _MAX_LITERAL):
        mark = match.group()
        if quote:
            quote = "" if mark == quote else quote
        elif mark in "\"'":
            quote = mark
        elif mark in "[{(":
            depth += 1
        elif mark in "]})":
            depth -= 1
            if depth <= 0:
                return match.end()
    return None


def end_of(pattern: re.Pattern[str], text: str, start: int) -> int:
    """The index after what the pattern matches at `start`."""
    match = pattern.match(text, start)
    return match.end() if match else start


def _gemma_as_json(text: str) -> str:
    """Gemma writes `{actions:[<|"|>do<|"|>]}` (ollama/ollama#15315), FunctionGemma `<escape>do<escape>`."""
    pieces = _GEMMA_QUOTES.split(text)  # every second one stands in quotes
    return "".join(json.dumps(piece) if n % 2 else _BARE_KEY.sub(r'\1"\2":', piece) for n, piece in enumerate(pieces))


def _expression(text: str) -> ast.expr | None:
    if len(text) > _MAX_LITERAL:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns about escapes that only JSON knows
            return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _literal(tree: ast.expr) -> Any:
    try:
        return ast.literal_eval(_JsonWords().visit(tree))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return UNREADABLE


class _JsonWords(ast.NodeTransformer):
    """Accepts true, false and null in a Python literal, and rejects `...`."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if node.value is ...:
            raise ValueError("three dots")
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(_JSON_WORDS[node.id]) if node.id in _JSON_WORDS else node
