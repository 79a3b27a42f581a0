from typing import Any

import numpy as np
from numpy.typing import NDArray

from .engine import ItemView, LocalView, SemanticView, Textures
from .objects import Player

class Env:
    _area: tuple[int, int]
    _view: NDArray[np.int_]
    _size: NDArray[np.int_]
    _length: int
    _seed: int
    _episode: int
    _step: int
    _world: Any  # a World; whoever derives from Env may put one of its own here
    _textures: Textures
    _local_view: LocalView
    _item_view: ItemView
    _sem_view: SemanticView
    _player: Player
    _last_health: int
    _unlocked: set[str]
    def __init__(
        self,
        area: tuple[int, int] = (64, 64),
        view: tuple[int, int] = (9, 9),
        size: tuple[int, int] = (64, 64),
        reward: bool = True,
        length: int = 10000,
        seed: int | None = None,
    ) -> None: ...
    def reset(self) -> NDArray[np.uint8]: ...
    def step(self, action: int) -> tuple[NDArray[np.uint8], float, bool, dict[str, Any]]: ...
    def render(self, size: NDArray[np.int_] | None = None) -> NDArray[np.uint8]: ...
    def _obs(self) -> NDArray[np.uint8]: ...
    def _update_time(self) -> None: ...
