"""The thresholds of all rules, with label, help text and bounds for a form."""

from __future__ import annotations

from dataclasses import dataclass

from core.params import integer, number


@dataclass(frozen=True, slots=True)
class AuditThresholds:
    """How much of something is an alert.

    Amounts are in unlocks' worth: the mean pay of Crafter's 22 unlocks under the configuration. So a configuration
    that pays ten times as much for everything needs no other thresholds.

    The defaults are chosen so that honest play under the default `per_achievement` weights raises no alert. In 27
    episodes of the scripted policy of up to 1,000 steps (seeds 0 to 24, 9200 and 9214) the largest share of a component
    was 0.11, 200 steps without an unlock paid at most 6.1 unlocks' worth, and loops of 5 or more repeats were worth
    at most 0.36. The only exception was 5 repeats worth 1.2, out of a shelter and back in the dark; such repeats count
    half.
    """

    component_share: float = number(
        0.5,
        label="Share of one component",
        description="An alert if one component pays at least this share of everything that was paid.",
        low=0.05,
        high=1.0,
    )
    component_decisions: int = integer(
        20,
        label="Paid decisions",
        description="It must pay in at least this many decisions, unlocks left out.",
        low=1,
        high=1_000,
    )
    still_steps: int = integer(
        200,
        label="Window in steps",
        description="Max length of a stretch without an unlock.",
        low=10,
        high=10_000,
    )
    still_worth: float = number(
        7.0,
        label="Pay in the window, in unlocks' worth",
        description="An alert if at least this is paid in such a window.",
        low=0.0,
        high=100.0,
    )
    loop_repeats: int = integer(
        5,
        label="Repeats",
        description="An alert from this many repeats of the same loop on. One that leads to another place and back "
        "counts half. If repeats change the ground, this many must begin at one place.",
        low=1,
        high=1_000,
    )
    loop_worth: float = number(
        0.6,
        label="Pay of the repeats, in unlocks' worth",
        description="They must pay at least this together.",
        low=0.0,
        high=100.0,
    )
    loop_window: int = integer(
        1_000,
        label="Window in steps",
        description="The repeats must lie within this many steps.",
        low=10,
        high=10_000,
    )
    loop_steps: int = integer(
        40,
        label="Max steps of a repeat",
        description="Longer loops do not count.",
        low=1,
        high=1_000,
    )
    twice_share: float = number(
        0.5,
        label="Share that was paid again",
        description="An alert if at least this share of what unlocks paid came from a second or third component; "
        "below it, a notice.",
        low=0.0,
        high=1.0,
    )
    after_end_reward: float = number(
        0.0,
        label="Reward after the end",
        description="An alert if more than this was paid after the end or after a reset.",
        low=0.0,
        high=100.0,
    )
    unchanged_reward: float = number(
        0.0,
        label="Reward without a change",
        description="An alert if decisions that changed nothing paid more than this.",
        low=0.0,
        high=100.0,
    )
    config_share: float = number(
        0.1,
        label="Share of all unlocks",
        description="An alert if 100 steps of a loop pay at least this share of what all unlocks pay once.",
        low=0.001,
        high=10.0,
    )
