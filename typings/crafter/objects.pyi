from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .engine import World

class Object:
    pos: NDArray[np.int_]
    facing: Sequence[int] | NDArray[np.int_]
    inventory: dict[str, int]
    health: int
    removed: bool
    @property
    def texture(self) -> str: ...

class Player(Object):
    achievements: dict[str, int]
    action: str
    sleeping: bool
    _last_health: int
    _hunger: float
    _thirst: float
    _fatigue: float
    _recover: float
    def __init__(self, world: World, pos: Sequence[int]) -> None: ...

class Cow(Object):
    def __init__(self, world: World, pos: Sequence[int]) -> None: ...

class Zombie(Object):
    cooldown: int
    def __init__(self, world: World, pos: Sequence[int], player: Player) -> None: ...

class Skeleton(Object):
    reload: int
    def __init__(self, world: World, pos: Sequence[int], player: Player) -> None: ...

class Arrow(Object):
    def __init__(self, world: World, pos: Sequence[int], facing: Sequence[int] | NDArray[Any]) -> None: ...

class Plant(Object):
    grown: int
    def __init__(self, world: World, pos: Sequence[int]) -> None: ...
