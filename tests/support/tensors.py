"""A stand-in for `torch.Tensor`, as strict as the real one (2.13) where an environment could go wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Dtype:
    """Like torch's: a text and nothing else, no `name` or `kind` as numpy's have."""

    text: str

    def __repr__(self) -> str:
        return self.text


class Tensor:
    """`values`: one number, or a list of them. It has no `__array__`, as a tensor on a GPU has none that works."""

    def __init__(self, values: Any, dtype: str = "torch.int64") -> None:
        self._values = values
        self.dtype = Dtype(dtype)

    def tolist(self) -> Any:
        return self._values

    def __index__(self) -> int:
        # A bool tensor has an index too, although a bool is no action.
        if isinstance(self._values, list) or isinstance(self._values, float):
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self._values)

    def __len__(self) -> int:
        if not isinstance(self._values, list):
            raise TypeError("len() of a 0-d tensor")
        return len(self._values)

    def __repr__(self) -> str:
        return f"tensor({self._values}, dtype={self.dtype})"
