"""The world's random generator: numpy's legacy Mersenne twister, as upstream draws from it.

Every draw must come in upstream's order and take as many words as upstream's takes. Two calls stand for slower ones of
upstream that take the same words and give the same numbers: `sample()` for `uniform()`, and `words() & 3` for
`randint(0, 4)`.

`RandomState.get_state` copies the twister's 624 words one by one, which alone would be a third of a state digest. Here
they are read at once from the address that numpy gives out for its foreign function interface. Whether the installed
numpy has this memory layout is checked against `get_state`, once in a process.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from core.env.state import GeneratorState

KEY_WORDS = 624
_KEY_BYTES = 4 * KEY_WORDS


class WorldRandom:
    """The generator of one world. Reading its state does not change it.

    sample: a float64 in [0, 1), as `RandomState.uniform()`.
    word: the next 32 random bits as an int.
    below: `below(low, high)`, an int from low to high - 1, as `RandomState.randint`.
    """

    def __init__(self, seed: int) -> None:
        self._bits = np.random.MT19937(0)
        self._legacy = np.random.RandomState(self._bits)
        self._legacy.seed(seed)
        # The draws are the hottest calls of a step: bound once, called without a layer of our own.
        self.sample = cast(Callable[[], float], self._legacy.random_sample)
        self.word = cast(Callable[[], int], self._bits.random_raw)
        self.below = cast(Callable[[int, int], int], self._legacy.randint)

    def samples(self, shape: int | tuple[int, ...]) -> NDArray[np.float64]:
        """Samples of this shape, drawn in C order."""
        return self._legacy.random_sample(shape)

    def skip_samples(self, count: int) -> None:
        """Discard `count` samples. Drawing them is faster than skipping them with `random_raw`."""
        self._legacy.random_sample(count)

    def read(self) -> GeneratorState:
        return _read_at_once(self._bits) if _can_read_at_once() else _read_by_word(self._legacy)

    def set(self, state: GeneratorState) -> None:
        key = np.frombuffer(state.key, "<u4").astype(np.uint32)
        self._legacy.set_state(("MT19937", key, state.position, 0, 0.0))


def _read_at_once(bits: np.random.MT19937) -> GeneratorState:
    interface = cast(Any, bits).ctypes
    memory = np.frombuffer(ctypes.string_at(interface.state_address, _KEY_BYTES + 4), "=u4")
    return GeneratorState(memory[:KEY_WORDS].astype("<u4", copy=False).tobytes(), int(memory[KEY_WORDS]))


def _read_by_word(random: np.random.RandomState) -> GeneratorState:
    state = cast(tuple[str, NDArray[np.uint32], int, int, float], random.get_state(legacy=True))
    return GeneratorState(state[1].astype("<u4").tobytes(), int(state[2]))


@functools.cache
def _can_read_at_once() -> bool:
    bits = np.random.MT19937(1)
    random = np.random.RandomState(bits)
    random.random_sample(1000)
    return _read_at_once(bits) == _read_by_word(random)
