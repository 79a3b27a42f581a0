"""The rules equal those of the installed Crafter."""

from __future__ import annotations

from crafter import constants

from core.env import rules


def test_names_are_in_crafters_order():
    assert rules.ACTIONS == tuple(constants.actions) and len(rules.ACTIONS) == 17
    assert rules.ACHIEVEMENTS == tuple(constants.achievements) and len(rules.ACHIEVEMENTS) == 22
    assert rules.ITEMS == tuple(constants.items) and len(rules.ITEMS) == 16
    assert rules.ITEMS[:4] == rules.VITALS


def test_semantic_ids_run_from_none_to_plant():
    assert rules.SEMANTIC_NAMES[0] == "none"
    assert rules.SEMANTIC_NAMES[1:13] == rules.MATERIALS
    assert rules.SEMANTIC_IDS["player"] == 13
    assert rules.SEMANTIC_IDS["plant"] == 18 == len(rules.SEMANTIC_NAMES) - 1


def test_recipes_equal_the_data_file():
    assert rules.PLACE["table"].uses == {"wood": 2}
    assert rules.PLACE["plant"] == rules.PlaceRule({"sapling": 1}, ("grass",), "object")
    assert rules.MAKE["iron_pickaxe"] == rules.MakeRule({"wood": 1, "coal": 1, "iron": 1}, ("table", "furnace"), 1)
    assert rules.COLLECT["grass"].probability == 0.1
    assert rules.COLLECT["tree"] == rules.CollectRule({}, {"wood": 1}, "grass", 1.0)


def test_every_action_is_a_recipe_a_move_or_one_of_three_others():
    made = {f"make_{name}" for name in rules.MAKE}
    placed = {f"place_{name}" for name in rules.PLACE}
    moved = {f"move_{name}" for name in rules.DIRECTIONS}
    assert set(rules.ACTIONS) == made | placed | moved | {"noop", "do", "sleep"}


def test_the_engine_version_names_the_installed_crafter():
    assert rules.ENGINE_VERSION == "crafter-1.8.3/ordered-1"
