"""Blob columns: typed records as JSON, often compressed. Nothing is ever unpickled."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, TypeVar

import msgspec
import zstandard

from core.errors import InvalidInput, StoreCorrupt, StoreTooNew
from core.store.failures import shortened

MAX_BLOB_BYTES: Final = 64 * 2**20
"""A blob that unpacks to more is corrupt."""

_LEVEL: Final = 3

T = TypeVar("T")


class _ThreadTools(threading.local):
    """Compressors are not thread-safe and slow to create."""

    def __init__(self) -> None:
        self.encoder = msgspec.json.Encoder()
        self.compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True, write_dict_id=False)
        self.decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_BLOB_BYTES)


_tools = _ThreadTools()


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def to_json(record: object) -> bytes:
    """A typed record as JSON. Raises InvalidInput for what JSON cannot hold."""
    try:
        try:
            return _tools.encoder.encode(record)
        except UnicodeEncodeError:
            # Models emit half a surrogate pair now and then; UTF-8 cannot hold it, an escape can.
            return json.dumps(msgspec.to_builtins(record)).encode("ascii")
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidInput(
            f"A value cannot be stored as JSON ({error}). Use plain data: strings, numbers, booleans, null, lists, and "
            "objects with string keys."
        ) from error


def from_json(text: bytes, kind: type[T], what: str) -> T:
    """The record that `to_json` wrote. Raises StoreCorrupt, which names `what`."""
    try:
        try:
            return _decoder(kind).decode(text)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            return msgspec.convert(json.loads(text), kind)
    except (TypeError, ValueError, RecursionError) as error:
        raise corrupt_row(what, error) from error


def check_version(version: int, newest: int, what: str) -> None:
    """Raises StoreTooNew, which names `what`, for a format that this version does not know."""
    if version > newest:
        raise StoreTooNew(
            f"{what} was written by a newer Craftscope (format {version}; this version reads up to {newest}). Update "
            "Craftscope to see it."
        )


def typed(fields: Mapping[str, Any], kind: type[T], what: str) -> T:
    """A record of a row's values, each of the type that its field has. Raises StoreCorrupt, which names `what`.

    SQLite stores any type in any column, so values are checked when they are read.
    """
    try:
        return msgspec.convert(fields, kind)
    except (ValueError, RecursionError) as error:
        raise corrupt_row(what, error) from error


class Dictionary:
    """Bytes that later blobs resemble. A blob compressed with a dictionary can be read only with it.

    An episode's first decision is the dictionary of the others, which share most of its text. Reading is thread-safe,
    writing is not.
    """

    def __init__(self, data: bytes) -> None:
        dictionary = zstandard.ZstdCompressionDict(data, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
        self._dictionary = dictionary
        self._decompressor = zstandard.ZstdDecompressor(dict_data=dictionary, max_window_size=MAX_BLOB_BYTES)
        self._compressor: zstandard.ZstdCompressor | None = None

    def compress(self, data: bytes) -> bytes:
        """One zstd frame with its size and a checksum."""
        if self._compressor is None:
            self._dictionary.precompute_compress(level=_LEVEL)  # pyright: ignore[reportUnknownMemberType]
            self._compressor = zstandard.ZstdCompressor(
                level=_LEVEL, dict_data=self._dictionary, write_checksum=True, write_dict_id=False
            )
        return self._compressor.compress(data)

    def decompress(self, blob: bytes) -> bytes:
        """What `compress` was given. Raises ZstdError."""
        return _bounded(self._decompressor, blob)


def compress(data: bytes, dictionary: Dictionary | None = None) -> bytes:
    """One zstd frame with its size and a checksum. Raises InvalidInput for more than `decompress` accepts."""
    if len(data) > MAX_BLOB_BYTES:
        raise InvalidInput(f"{len(data):,} bytes cannot be stored in one piece; {MAX_BLOB_BYTES:,} are the limit.")
    return dictionary.compress(data) if dictionary else _tools.compressor.compress(data)


def decompress(blob: bytes, what: str, dictionary: Dictionary | None = None) -> bytes:
    """What `compress` was given. Raises StoreCorrupt, which names `what`."""
    try:
        return dictionary.decompress(blob) if dictionary else _bounded(_tools.decompressor, blob)
    except (TypeError, zstandard.ZstdError) as error:
        raise corrupt_row(what, error) from error


def _bounded(decompressor: zstandard.ZstdDecompressor, blob: bytes) -> bytes:
    # The size that a frame states may be missing. One that is too small ends the decompression, so it cannot lie.
    if zstandard.frame_content_size(blob) > MAX_BLOB_BYTES:
        raise zstandard.ZstdError("it unpacks to more than 64 MiB")
    return decompressor.decompress(blob, max_output_size=MAX_BLOB_BYTES)


def corrupt_row(what: str, error: Exception) -> StoreCorrupt:
    return StoreCorrupt(
        f"{what} is stored but cannot be read ({shortened(str(error))}). The rest of the database can still be used. "
        "Restore a backup, or delete what is corrupt."
    )
