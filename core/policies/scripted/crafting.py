"""From bare hands to a diamond, derived from the recipes."""

from __future__ import annotations

from collections import Counter

import numpy as np

from core.env.rules import COLLECT, MAKE, PLACE, WALKABLE
from core.policies.scripted.situation import Mask, Memory, Plan, Situation, around
from core.text import join

TOOLS = ("wood_pickaxe", "wood_sword", "stone_pickaxe", "stone_sword", "iron_pickaxe", "iron_sword")
_SOURCE = {item: material for material, rule in COLLECT.items() for item in rule.receives}
_GATHER_COST = 6  # estimated steps per missing piece of wood or stone
_WOOD_STOCK = 8  # enough for four tools and two more tables


def make_tools(situation: Situation, memory: Memory) -> Plan | None:
    """Makes the next tool, or gathers its materials, or builds its bench."""
    for tool in TOOLS:
        if situation.done[f"make_{tool}"]:
            continue
        plan = None
        if tool == "stone_pickaxe":
            plan = _stock_wood(situation) or place_first(situation, "stone")
        elif tool == "iron_pickaxe":
            plan = place_first(situation, "furnace")
        plan = plan or _make(situation, tool)
        if plan:
            return plan
    return None


def make_here(situation: Situation, memory: Memory) -> Plan | None:
    """Makes a missing tool if everything is here."""
    for tool in TOOLS:
        rule = MAKE[tool]
        missing = Counter(rule.uses) - Counter(situation.inventory)
        if not situation.done[f"make_{tool}"] and not missing and _bench(situation, rule.nearby)[situation.position]:
            return Plan((f"make_{tool}",), f"Everything for the {_words(tool)} is here: making it.")
    return None


def mine_diamond(situation: Situation, memory: Memory) -> Plan | None:
    if situation.done["collect_diamond"] or not situation.has("iron_pickaxe"):
        return None
    return gather(situation, "diamond", 1, "the last achievement")


def gather(situation: Situation, item: str, amount: int, purpose: str) -> Plan | None:
    """Goes to the nearest source of an item that the available tools can collect."""
    material = _SOURCE[item]
    if not situation.can_dig(material):
        return None
    target = situation.nearest(situation.where(material) & situation.diggable)
    if target is None:
        return None
    reason = (
        f"{_words(item).capitalize()}: {situation.inventory[item]} of {amount} held, for {purpose};"
        f" nearest {material} is {situation.way_to(target.cell)}."
    )
    return Plan(situation.use(target.cell, "do"), reason)


def _stock_wood(situation: Situation) -> Plan | None:
    """Gathers more wood while trees are near: the mountains have none."""
    tree = situation.nearest(situation.where("tree"))
    if situation.has("wood", _WOOD_STOCK) or situation.has("stone") or tree is None or tree.steps > 8:
        return None
    return gather(situation, "wood", _WOOD_STOCK, "the tools to come and another table")


def place_first(situation: Situation, thing: str) -> Plan | None:
    """Places a stone or a furnace for the first time."""
    if situation.done[f"place_{thing}"]:
        return None
    for item, amount in PLACE[thing].uses.items():
        if not situation.has(item, amount):
            return gather(
                situation, item, amount, f"placing {_with_article(thing)}" if thing != item else "placing one"
            )
    if thing == "furnace":
        return _place_beside(situation, "furnace", ("table",)) or _place(situation, "furnace", None)
    return _place(situation, thing, None)


def _make(situation: Situation, tool: str) -> Plan | None:
    """One step towards a tool: gather, build or go to the benches, make. None if a source cannot be reached."""
    rule = MAKE[tool]
    bench = situation.nearest(_bench(situation, rule.nearby) & standable(situation))
    build = _benches_to_build(situation, tool, bench.steps if bench else None)
    uses = Counter(rule.uses)
    for thing in build:
        uses.update(PLACE[thing].uses)
    if tool == "wood_pickaxe" and build:
        uses["wood"] += MAKE["wood_sword"].uses["wood"]  # both are made in one visit
    purpose = join([_with_article(thing) for thing in (*build, tool)])
    plans = [
        (situation.nearest(situation.where(_SOURCE[item]) & situation.diggable), item)
        for item, amount in uses.items()
        if not situation.has(item, amount)
    ]
    if plans:
        near_first = sorted(plans, key=lambda plan: plan[0].steps if plan[0] else 0)
        found = [gather(situation, item, uses[item], purpose) for _, item in near_first]
        return None if None in found else found[0]
    if build:
        present = tuple(thing for thing in rule.nearby if thing not in build)
        return _place_beside(situation, build[0], present)
    if bench is None:
        return None
    if bench.steps == 0:
        return Plan((f"make_{tool}",), f"Making {_with_article(tool)}.")
    stations = join([f"the {thing}" for thing in rule.nearby])
    reason = f"All for {_with_article(tool)} is in the inventory; going back to {stations}, {bench.steps} steps away."
    return Plan(situation.go_to(bench.cell), reason)


def _benches_to_build(situation: Situation, tool: str, steps_to_old: int | None) -> tuple[str, ...]:
    """The benches (table, furnace) that are cheaper to build here than to walk to."""
    nearby = MAKE[tool].nearby
    options: list[tuple[float, tuple[str, ...]]] = []
    if steps_to_old is not None:
        options.append((1.3 * steps_to_old, ()))
    spare_wood = situation.inventory["wood"] - sum(not situation.done[f"make_{name}"] for name in TOOLS)
    for thing in nearby:
        others = tuple(other for other in nearby if other != thing)
        beside = situation.nearest(_bench(situation, others) & standable(situation)) if others else None
        price = _price(situation, thing, spare_wood)
        if not others:
            options.append((price, (thing,)))
        elif beside:
            options.append((price + 1.3 * beside.steps, (thing,)))
    if len(nearby) > 1:
        options.append((sum(_price(situation, thing, spare_wood) for thing in nearby), nearby))
    return min(options)[1]


def _price(situation: Situation, thing: str, spare_wood: int) -> float:
    price = 3.0
    for item, amount in PLACE[thing].uses.items():
        in_hand = spare_wood if item == "wood" else situation.inventory[item]
        source = situation.nearest(situation.where(_SOURCE[item]))
        missing = max(0, amount - max(0, in_hand))
        price += missing * _GATHER_COST + (source.steps if source and missing else 0) + (amount - missing)
    return price


def _place_beside(situation: Situation, thing: str, present: tuple[str, ...]) -> Plan | None:
    """Places a bench so that it and the `present` ones are in the 3x3 cells around one position."""
    if not present:
        return _place(situation, thing, None)
    beside = _bench(situation, present) & standable(situation)
    if not beside[situation.position]:
        target = situation.nearest(beside)
        if target is None:
            return None
        stations = join([f"the {name}" for name in present])
        return Plan(situation.go_to(target.cell), f"The {thing} has to stand by {stations}: going there.")
    return _place(situation, thing, beside)


def _place(situation: Situation, thing: str, from_cells: Mask | None) -> Plan | None:
    wanted = situation.where(*(name for name in PLACE[thing].where if name in WALKABLE))
    from_cells = (standable(situation) if from_cells is None else from_cells) & _off_the_edge(situation)
    moves = situation.aim_at(wanted, from_cells=from_cells)
    if moves is not None and len(moves) <= 6:
        return Plan((*moves, f"place_{thing}"), f"Placing {_with_article(thing)} on free ground.")
    moves = situation.aim_at(situation.diggable, from_cells=from_cells)
    if moves is not None:
        return Plan((*moves, "do", f"place_{thing}"), f"Making room for {_with_article(thing)}.")
    return None


def _bench(situation: Situation, things: tuple[str, ...]) -> Mask:
    """Cells from which all of these benches can be used."""
    reach = _off_the_edge(situation)
    for thing in things:
        reach &= around(situation.where(thing))
    return reach


def standable(situation: Situation) -> Mask:
    """Cells the character can stand on, perhaps after digging."""
    return situation.where("player", *WALKABLE) | situation.diggable


def _off_the_edge(situation: Situation) -> Mask:
    """Crafter finds nothing nearby for a character at x = 0 or y = 0, so nothing can be made there."""
    mask = np.ones(situation.map.shape, bool)
    mask[0, :] = mask[:, 0] = False
    return mask


def _words(name: str) -> str:
    """ "stone_pickaxe" -> "stone pickaxe"."""
    return name.replace("_", " ")


def _with_article(name: str) -> str:
    """ "iron_pickaxe" -> "an iron pickaxe"."""
    return f"{'an' if name[0] in 'aeiou' else 'a'} {_words(name)}"
