"""Reading and setting the world's random generator, a Mersenne twister.

`RandomState.get_state` copies its 624 words one by one, which alone would be a third of a state digest. The same
words are read at once from the address that numpy gives out for its foreign function interface; a comparison with
`get_state`, once in a process, says whether this numpy still lays them out so.
"""

from __future__ import annotations

import ctypes
import functools
from typing import cast

import numpy as np
from numpy.typing import NDArray

from core.env.world import GeneratorState

KEY_WORDS = 624
_KEY_BYTES = 4 * KEY_WORDS


def read_generator(random: np.random.RandomState) -> GeneratorState:
    """The state of `random`."""
    return _read_at_once(random) if _can_read_at_once() else _read_by_word(random)


def set_generator(random: np.random.RandomState, state: GeneratorState) -> None:
    """Make `random` go on from `state`."""
    random.set_state(("MT19937", np.frombuffer(state.key, "<u4").astype(np.uint32), state.position, 0, 0.0))


def _read_at_once(random: np.random.RandomState) -> GeneratorState:
    interface = random._bit_generator.ctypes  # pyright: ignore[reportPrivateUsage]  # RandomState has no public name
    memory = np.frombuffer(ctypes.string_at(interface.state_address, _KEY_BYTES + 4), "=u4")
    return GeneratorState(memory[:KEY_WORDS].astype("<u4", copy=False).tobytes(), int(memory[KEY_WORDS]))


def _read_by_word(random: np.random.RandomState) -> GeneratorState:
    state = cast(tuple[str, NDArray[np.uint32], int, int, float], random.get_state(legacy=True))
    return GeneratorState(state[1].astype("<u4").tobytes(), int(state[2]))


@functools.cache
def _can_read_at_once() -> bool:
    random = np.random.RandomState(1)
    random.random_sample(1000)
    return _read_at_once(random) == _read_by_word(random)
