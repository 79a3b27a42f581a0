"""JSON, and what models write in its place: Python literals, trailing commas, several values in a row.

Lenient about spelling, strict about wholeness: a value with an open end is `UNREADABLE`, whatever could be guessed.
Every function takes time in proportion to the text at most.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from typing import Any, Final

from core.policies.tools.untrusted import is_dict

UNREADABLE: Final = object()

_MAX_LITERAL = 100_000  # characters: longer text is not tried as a Python literal
_JSON_WORDS = {"true": True, "false": False, "null": None}
_DECODER = json.JSONDecoder(strict=False)  # models write line breaks into strings as they are
_PUNCTUATION = re.compile(r"""\\.|["'\[\]{}()]""", re.DOTALL)
_BETWEEN = re.compile(r"(?:\s|```\w{0,20}|</?\w{1,40}>|<[|｜][^<>|｜]{1,40}[|｜]>)*")
_GEMMA_QUOTES = re.compile(r'<\|"\|>|<escape>')
_BARE_KEY = re.compile(r"([{,]\s{0,20})(\w{1,80})\s{0,20}:")


def read_literal(text: str) -> Any:
    """The value of JSON text or of a Python literal; `UNREADABLE` where it is not whole."""
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


def values_in_a_row(text: str) -> list[str] | None:
    """The whole objects that `text` is made of, as text; None where anything but fences and special tokens stands
    between or after them. Proxies join parallel calls that way, `{...}{...}`: apache/maka#1976, smolagents#1958."""
    pieces: list[str] = []
    position = _after_noise(text, 0)
    while position < len(text):
        if text[position] != "{":
            return None
        value, end = value_at(text, position)
        if value is UNREADABLE:
            return None
        pieces.append(text[position:end])
        position = _after_noise(text, end)
    return pieces


def keywords(text: str) -> dict[str, Any] | None:
    """The arguments of a call in Python's style, from `(` to `)`; a lone positional one is the list of actions
    or an object with all arguments. None where any of them is not a literal."""
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
    """The index after the bracket that closes the one at `start`; None where it stays open."""
    brackets = Brackets()
    for match in _PUNCTUATION.finditer(text, start, start + _MAX_LITERAL):
        brackets.feed_mark(match.group())
        if brackets.closed:
            return match.end()
    return None


class Brackets:
    """Follows brackets and strings through text that comes in pieces, to know when a value is whole."""

    def __init__(self) -> None:
        self._depth = 0
        self._quote = ""
        self._escaped = False
        self.closed = False

    def feed(self, text: str) -> None:
        """Reads on. A piece may end anywhere, also between a backslash and what it escapes."""
        start = 1 if self._escaped and text else 0
        self._escaped = self._escaped and not text
        for match in _PUNCTUATION.finditer(text, start):
            self.feed_mark(match.group())
        if text.endswith("\\"):
            rest = text[start:]
            self._escaped = (len(rest) - len(rest.rstrip("\\"))) % 2 == 1

    def feed_mark(self, mark: str) -> None:
        """Reads one quote, bracket or escape."""
        if self._quote:
            self._quote = "" if mark == self._quote else self._quote
        elif mark in "\"'":
            self._quote = mark
        elif mark in "[{(":
            self._depth += 1
            self.closed = False
        elif mark in "]})":
            self._depth -= 1
            self.closed = self._depth <= 0


def _after_noise(text: str, position: int) -> int:
    match = _BETWEEN.match(text, position)
    return match.end() if match else position


def _gemma_as_json(text: str) -> str:
    """Gemma writes `{actions:[<|"|>do<|"|>]}` (ollama/ollama#15315), its smaller kin `<escape>do<escape>`."""
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
    """Lets true, false and null stand in what is otherwise a Python literal. Three dots are no value."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if node.value is ...:
            raise ValueError("three dots")
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(_JSON_WORDS[node.id]) if node.id in _JSON_WORDS else node
