"""The character: its actions, and how hunger, thirst, fatigue and health change.

Must equal upstream's `objects.Player`. Two things are easy to get wrong:

- the inventory is clamped to its limits only at the end of an update; in between, food may be 15 or -1;
- whether it was hurt is checked at the end of its own update, so a creature that hits it later in the same step wakes
  it up only in the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from core.env.objects import Cow, Direction, Plant, Skeleton, Thing, Zombie, free_on
from core.env.rules import ACHIEVEMENTS, ACTIONS, COLLECT, INITIAL_ITEM, MAKE, MAX_ITEM, PLACE, SEMANTIC_IDS, WALKABLE
from core.env.state import COW, PLAYER, SKELETON, ZOMBIE

if TYPE_CHECKING:
    from core.env.world import World

_ID = SEMANTIC_IDS
_WATER, _LAVA = _ID["water"], _ID["lava"]
_LOWEST_LIMIT = min(MAX_ITEM.values())
_SLEEP = ACTIONS.index("sleep")
_FIRST_MOVE = ACTIONS.index("move_left")  # the four moves follow in the order of World.directions
_VERBS = [name.split("_")[0] for name in ACTIONS]
_DEFEATS = {ZOMBIE: "defeat_zombie", SKELETON: "defeat_skeleton", COW: "eat_cow"}
_COLLECT = {_ID[material]: rule for material, rule in COLLECT.items()}
_PLACE = {
    ACTIONS.index(f"place_{name}"): (name, rule, frozenset(_ID[material] for material in rule.where))
    for name, rule in PLACE.items()
}
_MAKE = {
    ACTIONS.index(f"make_{name}"): (name, rule, frozenset(_ID[material] for material in rule.nearby))
    for name, rule in MAKE.items()
}


class Player(Thing):
    """The character.

    inventory, achievements: item or achievement -> count. `inventory["health"]` is stale; `inventory_now` updates it.
    achieved: achievements of this step, in order. last_health: at the end of its last update.
    """

    __slots__ = (
        "_facing",
        "achieved",
        "achievements",
        "action",
        "fatigue",
        "hunger",
        "inventory",
        "last_health",
        "recover",
        "sleeping",
        "thirst",
    )
    kind = PLAYER
    walkable = free_on(*WALKABLE, "lava")

    def __init__(self, world: World, x: int, y: int) -> None:
        self.inventory = dict(INITIAL_ITEM)
        self.achievements = dict.fromkeys(ACHIEVEMENTS, 0)
        super().__init__(world, x, y, self.inventory["health"])
        self._facing: Direction = world.directions[3]
        self.action = 0
        self.sleeping = False
        self.last_health = self.health
        self.hunger = self.thirst = self.fatigue = self.recover = 0.0
        self.achieved: list[str] = []

    def inventory_now(self) -> dict[str, int]:
        """The inventory with the current health. Shared: do not change it."""
        self.inventory["health"] = self.health
        return self.inventory

    @property
    def facing(self) -> tuple[int, int]:
        return self._facing[0], self._facing[1]

    def face(self, dx: int, dy: int) -> None:
        self._facing = dx, dy, dx * self.world.stride + dy

    def update(self) -> None:
        action = self.action
        if self.sleeping:
            if self.inventory["energy"] < MAX_ITEM["energy"]:
                action = _SLEEP
            else:
                self.sleeping = False
                self._achieve("wake_up")
        self._acts[_VERBS[action]](self, action)
        self._update_needs()
        self._update_health()
        self._clamp_inventory()
        if self.health < self.last_health:
            self.sleeping = False
        self.last_health = self.health

    def _achieve(self, name: str) -> None:
        self.achievements[name] += 1
        self.achieved.append(name)

    def _update_needs(self) -> None:
        inventory, pace = self.inventory, 0.5 if self.sleeping else 1
        self.hunger += pace
        if self.hunger > 25:
            self.hunger = 0
            inventory["food"] -= 1
        self.thirst += pace
        if self.thirst > 20:
            self.thirst = 0
            inventory["drink"] -= 1
        if self.sleeping:
            self.fatigue = min(self.fatigue - 1, 0)
        else:
            self.fatigue += 1
        if self.fatigue < -10:
            self.fatigue = 0
            inventory["energy"] += 1
        if self.fatigue > 30:
            self.fatigue = 0
            inventory["energy"] -= 1

    def _update_health(self) -> None:
        inventory, sleeping = self.inventory, self.sleeping
        if inventory["food"] > 0 and inventory["drink"] > 0 and (inventory["energy"] > 0 or sleeping):
            self.recover += 2 if sleeping else 1
        else:
            self.recover -= 0.5 if sleeping else 1
        if self.recover > 25:
            self.recover = 0
            self.health = min(self.health + 1, MAX_ITEM["health"])
        if self.recover < -15:
            self.recover = 0
            self.hurt(1)

    def _clamp_inventory(self) -> None:
        inventory = self.inventory
        amounts = inventory.values()
        if max(amounts) <= _LOWEST_LIMIT and min(amounts) >= 0:  # as in nearly every step
            return
        for name, amount in inventory.items():
            inventory[name] = max(0, min(amount, MAX_ITEM[name]))

    def _do_nothing(self, action: int) -> None:
        pass

    def _go(self, action: int) -> None:
        self._facing = self.world.directions[action - _FIRST_MOVE]
        self.move(self._facing)
        if self.world.material[self.cell] == _LAVA:
            self.health = 0

    def _interact(self, action: int) -> None:
        target = self.cell + self._facing[2]
        thing = self.world.thing_at.get(target)
        if thing is None:
            self._collect(target)
        else:
            self._touch(thing)

    def _touch(self, thing: Thing) -> None:
        inventory = self.inventory
        if isinstance(thing, Plant):
            if thing.is_ripe:
                thing.grown = 0
                inventory["food"] += 4
                self._achieve("eat_plant")
        elif isinstance(thing, (Zombie, Skeleton, Cow)):
            thing.hurt(self._damage())
            if thing.health > 0:
                return
            if isinstance(thing, Cow):
                inventory["food"] += 6
                self.hunger = 0
            self._achieve(_DEFEATS[thing.kind])

    def _damage(self) -> int:
        inventory = self.inventory
        if inventory["iron_sword"]:
            return 5
        if inventory["stone_sword"]:
            return 3
        return 2 if inventory["wood_sword"] else 1

    def _collect(self, target: int) -> None:
        material = self.world.material[target]
        if material == _WATER:
            self.thirst = 0
        rule = _COLLECT.get(material)
        if rule is None or not self._has(rule.requires):
            return
        leaves = _ID[rule.leaves]
        if leaves != material:
            self.world.set_material(target, leaves)
        if self.random.sample() <= rule.probability:
            for name, amount in rule.receives.items():
                self.inventory[name] += amount
                self._achieve(f"collect_{name}")

    def _sleep(self, action: int) -> None:
        if self.inventory["energy"] < MAX_ITEM["energy"]:
            self.sleeping = True

    def _place(self, action: int) -> None:
        name, rule, where = _PLACE[action]
        target = self.cell + self._facing[2]
        world = self.world
        if target in world.thing_at or world.material[target] not in where or not self._has(rule.uses):
            return
        self._spend(rule.uses)
        if rule.kind == "material":
            world.set_material(target, _ID[name])
        else:
            world.add(Plant(world, self.x + self._facing[0], self.y + self._facing[1]))
        self._achieve(f"place_{name}")

    def _make(self, action: int) -> None:
        name, rule, nearby = _MAKE[action]
        if not self._has(rule.uses) or not nearby <= self.world.nearby(self.x, self.y):
            return
        self._spend(rule.uses)
        self.inventory[name] += rule.gives
        self._achieve(f"make_{name}")

    def _has(self, items: dict[str, int]) -> bool:
        inventory = self.inventory
        for item, amount in items.items():
            if inventory[item] < amount:
                return False
        return True

    def _spend(self, items: dict[str, int]) -> None:
        for item, amount in items.items():
            self.inventory[item] -= amount

    _acts: ClassVar = {
        "noop": _do_nothing,
        "move": _go,
        "do": _interact,
        "sleep": _sleep,
        "place": _place,
        "make": _make,
    }
