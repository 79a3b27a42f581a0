"""Cows, zombies, skeletons, arrows and plants. The player has its own file.

Must equal upstream's `objects` in every effect and in every draw, which includes:

- an update is one chain of conditions with draws in between; a draw is made only where the chain reaches it;
- a creature that is removed in its update still finishes it: a dead zombie hits once more, a dead skeleton may shoot.
  Its own cell counts as free from then on, though it does not move any more;
- what is created in a step is first updated in the next one;
- health that is taken never falls below 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from core.env.rules import RIPE_AGE, SEMANTIC_IDS, WALKABLE
from core.env.state import ARROW, COW, PLANT, SKELETON, ZOMBIE

if TYPE_CHECKING:
    from core.env.player import Player
    from core.env.world import World

Direction = tuple[int, int, int]  # (dx, dy, the same as a difference of padded cells)

_ID = SEMANTIC_IDS
_PATH = _ID["path"]


def free_on(*materials: str) -> bytes:
    """A table: material id -> 1 where it can be walked on."""
    return bytes([id_ in [_ID[name] for name in materials] for id_ in range(256)])


_LAND = free_on(*WALKABLE)


class Thing:
    """Anything that stands in a cell. x, y: its cell; cell: the same as the world counts."""

    __slots__ = ("cell", "health", "is_removed", "random", "world", "x", "y")

    kind: ClassVar[int]
    walkable: ClassVar[bytes] = _LAND

    def __init__(self, world: World, x: int, y: int, health: int = 0) -> None:
        self.world = world
        self.random = world.random
        self.x, self.y = x, y
        self.cell = world.cell(x, y)
        self.health = health
        self.is_removed = False

    @property
    def counter(self) -> int:
        """The counter of this kind, 0 if it has none."""
        return 0

    @property
    def facing(self) -> tuple[int, int]:
        """(dx, dy); (0, 0) if it has none."""
        return 0, 0

    def update(self) -> None:
        raise NotImplementedError

    def hurt(self, damage: int) -> None:
        """Take health, which never falls below 0."""
        self.health = max(0, self.health - damage)

    def move(self, direction: Direction) -> bool:
        """Move one cell if it is free. Returns whether it was."""
        world, target = self.world, self.cell + direction[2]
        if target in world.thing_at or not self.walkable[world.material[target]]:
            return False
        world.move(self, direction)
        return True

    def distance(self, other: Thing) -> int:
        """Cells between, along the axes."""
        dx, dy = other.x - self.x, other.y - self.y
        return (dx if dx >= 0 else -dx) + (dy if dy >= 0 else -dy)

    def toward(self, other: Thing, long_axis: bool = True) -> Direction:
        """The direction to `other` along its longer or its shorter axis; none where that one is 0."""
        dx, dy = other.x - self.x, other.y - self.y
        if (abs(dx) > abs(dy)) if long_axis else (abs(dx) <= abs(dy)):
            sign = (dx > 0) - (dx < 0)
            return sign, 0, sign * self.world.stride
        sign = (dy > 0) - (dy < 0)
        return 0, sign, sign

    def random_direction(self) -> Direction:
        """One of four, by one draw."""
        return self.world.directions[self.random.word() & 3]


class Cow(Thing):
    __slots__ = ()
    kind = COW

    def __init__(self, world: World, x: int, y: int, health: int = 3) -> None:
        super().__init__(world, x, y, health)

    def update(self) -> None:
        if self.health <= 0:
            self.world.remove(self)
        if self.random.sample() < 0.5:
            self.move(self.random_direction())


class Zombie(Thing):
    """Follows the player and hits it when next to it."""

    __slots__ = ("cooldown", "player")
    kind = ZOMBIE

    def __init__(self, world: World, x: int, y: int, player: Player, health: int = 5, cooldown: int = 0) -> None:
        super().__init__(world, x, y, health)
        self.player = player
        self.cooldown = cooldown

    @property
    def counter(self) -> int:
        """Steps until it can hit again."""
        return self.cooldown

    def update(self) -> None:
        if self.health <= 0:
            self.world.remove(self)
        player, sample = self.player, self.random.sample
        if self.distance(player) <= 8 and sample() < 0.9:
            self.move(self.toward(player, sample() < 0.8))
        else:
            self.move(self.random_direction())
        if self.distance(player) <= 1:
            if self.cooldown:
                self.cooldown -= 1
            else:
                player.hurt(7 if player.sleeping else 2)
                self.cooldown = 5


class Skeleton(Thing):
    """Keeps its distance and shoots."""

    __slots__ = ("player", "reload")
    kind = SKELETON

    def __init__(self, world: World, x: int, y: int, player: Player, health: int = 3, reload: int = 0) -> None:
        super().__init__(world, x, y, health)
        self.player = player
        self.reload = reload

    @property
    def counter(self) -> int:
        """Steps until it can shoot again."""
        return self.reload

    def update(self) -> None:
        if self.health <= 0:
            self.world.remove(self)
        self.reload = max(0, self.reload - 1)
        player, sample = self.player, self.random.sample
        distance = self.distance(player)
        if distance <= 3:
            dx, dy, change = self.toward(player, sample() < 0.6)
            if self.move((-dx, -dy, -change)):
                return
        if distance <= 5 and sample() < 0.5:
            self._shoot(self.toward(player))
        elif distance <= 8 and sample() < 0.3:
            self.move(self.toward(player, sample() < 0.6))
        elif sample() < 0.2:
            self.move(self.random_direction())

    def _shoot(self, direction: Direction) -> None:
        dx, dy, change = direction
        if self.reload > 0 or not change:
            return
        world, target = self.world, self.cell + change
        if target not in world.thing_at and Arrow.walkable[world.material[target]]:
            world.add(Arrow(world, self.x + dx, self.y + dy, (dx, dy)))
            self.reload = 4


class Arrow(Thing):
    """Flies straight until it hits something."""

    __slots__ = ("_facing",)
    kind = ARROW
    walkable = free_on(*WALKABLE, "water", "lava")

    def __init__(self, world: World, x: int, y: int, facing: tuple[int, int], health: int = 0) -> None:
        super().__init__(world, x, y, health)
        self._facing = facing

    @property
    def facing(self) -> tuple[int, int]:
        return self._facing

    def update(self) -> None:
        """As upstream: what is hit loses 2, a table or furnace becomes path."""
        world = self.world
        dx, dy = self._facing
        direction = dx, dy, dx * world.stride + dy
        target = self.cell + direction[2]
        hit = world.thing_at.get(target)
        if hit is not None:
            hit.hurt(2)
            world.remove(self)
        elif not self.walkable[world.material[target]]:
            world.remove(self)
            if world.material[target] in _BREAKABLE:
                world.set_material(target, _PATH)
        else:
            self.move(direction)


_BREAKABLE = (_ID["table"], _ID["furnace"])


class Plant(Thing):
    """Grows until it can be eaten; creatures beside it eat it first."""

    __slots__ = ("grown",)
    kind = PLANT

    def __init__(self, world: World, x: int, y: int, health: int = 1, grown: int = 0) -> None:
        super().__init__(world, x, y, health)
        self.grown = grown

    @property
    def counter(self) -> int:
        """Steps since it was planted or eaten."""
        return self.grown

    @property
    def is_ripe(self) -> bool:
        return self.grown > RIPE_AGE

    def update(self) -> None:
        """As upstream: one health is lost where any creature stands beside it."""
        self.grown += 1
        world = self.world
        beside = (world.thing_at.get(self.cell + change) for _, _, change in world.directions)
        if any(isinstance(thing, (Zombie, Skeleton, Cow)) for thing in beside):
            self.hurt(1)
        if self.health <= 0:
            world.remove(self)
