"""The two searches, on maps small enough to check by eye."""

from __future__ import annotations

from core.policies.scripted.pathfinding import BLOCKED, FAR, aim, flood

WIDTH = 5
OFFSETS = [-WIDTH, WIDTH, -1, 1]  # up, down, left, right


def costs(*rows: str) -> list[int]:
    """A map in text: `#` blocked, digits are the steps to enter."""
    return [BLOCKED if cell == "#" else int(cell) for row in rows for cell in row]


def test_a_detour_is_taken_if_it_is_cheaper():
    grid = costs(
        "#####",
        "#191#",
        "#111#",
        "#####",
    )
    distances = flood(grid, start=6, offsets=OFFSETS)
    assert distances.steps[8] == 4
    assert distances.route(8) == [11, 12, 13, 8]


def test_a_costly_cell_is_taken_if_the_detour_is_longer():
    grid = costs(
        "#####",
        "#121#",
        "#1#1#",
        "#####",
    )
    assert flood(grid, start=6, offsets=OFFSETS).route(8) == [7, 8]


def test_a_blocked_cell_is_reached_but_not_passed():
    grid = costs(
        "#####",
        "#1#1#",
        "#####",
    )
    distances = flood(grid, start=6, offsets=OFFSETS)
    assert distances.steps[7] == 1
    assert distances.steps[8] == FAR


FIELD = costs(
    "#####",
    "#111#",
    "#111#",
    "#111#",
    "#####",
)


def look(target: int, start: int, facing: int, deadly: int | None = None) -> list[int] | None:
    """Moves that end with the target in front, on a field of 3x3 cells (6 7 8, 11 12 13, 16 17 18)."""
    return aim(
        start,
        facing,
        OFFSETS,
        is_free=[cost < BLOCKED and cell != deadly for cell, cost in enumerate(FIELD)],
        is_deadly=[cell == deadly for cell in range(len(FIELD))],
        accept=lambda cell, faced: faced == target,
    )


def test_a_move_towards_a_wall_only_turns():
    assert look(target=5, start=6, facing=1) == [-1]


def test_the_character_moves_towards_a_free_cell_to_face_it():
    assert look(target=8, start=6, facing=-1) == [1]


def test_the_character_walks_around_to_face_a_free_cell_beside_it():
    moves = look(target=7, start=8, facing=1)
    assert moves is not None
    assert len(moves) == 4
    assert moves[-1] == -WIDTH  # up, from the cell below


def test_no_moves_if_the_character_already_faces_the_cell():
    assert look(target=7, start=6, facing=1) == []


def test_deadly_cells_are_avoided():
    moves = look(target=3, start=6, facing=-1, deadly=7)  # the wall above 8, behind the deadly cell
    assert moves == [WIDTH, 1, 1, -WIDTH]


def test_a_cell_that_cannot_be_faced_gives_no_moves():
    assert look(target=99, start=6, facing=1) is None
