from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .objects import Object

Chunk = tuple[int, int, int, int]

class World:
    area: tuple[int, int]
    random: np.random.RandomState
    daylight: float
    _chunks: Any
    _objects: list[Object | None]
    _mat_map: NDArray[np.uint8]
    _obj_map: NDArray[np.uint32]
    def __init__(self, area: tuple[int, int], materials: Sequence[str], chunk_size: tuple[int, int]) -> None: ...
    def reset(self, seed: int | None = None) -> None: ...
    @property
    def objects(self) -> list[Object]: ...
    def chunk_key(self, pos: Sequence[int] | NDArray[Any]) -> Chunk: ...

class Textures:
    def __init__(self, directory: Path) -> None: ...
    def get(self, name: str | None, size: Sequence[float]) -> NDArray[np.uint8]: ...

class LocalView:
    # `world` and `player` are read only: anything with the same attributes will do
    def __init__(self, world: Any, textures: Textures, grid: Sequence[int]) -> None: ...
    def __call__(self, player: Any, unit: NDArray[np.int_]) -> NDArray[Any]: ...

class ItemView:
    def __init__(self, textures: Textures, grid: Sequence[int]) -> None: ...
    def __call__(self, inventory: dict[str, int], unit: NDArray[np.int_]) -> NDArray[np.uint8]: ...

class SemanticView:
    def __init__(self, world: World, obj_types: Sequence[type[Object]]) -> None: ...
    def __call__(self) -> NDArray[np.uint8]: ...
