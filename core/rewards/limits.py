"""How large and how many the numbers of reward shaping may be."""

from __future__ import annotations

from typing import Final

LARGEST: Final = 1e9
"""Weights, lambda and step_beta, by their size. A million times what anybody gives, and products stay exact enough."""

MOST_PAID: Final = 1e50
"""What a decision earns before lambda, its parts added up by their size. What `LARGEST` allows stays below 1e23; times
lambda it is below `core.analysis.ledger.LARGEST`."""

MOST_ENTRIES: Final = 2_000
"""Entries of one table. Crafter has 22 achievements and 16 items."""

MOST_OF_A_NAME: Final = 100
"""Characters of a name."""

MOST_OF_ALL_WORDS: Final = 100_000
"""Characters of all text parameters of one strategy together."""

MOST_COMPONENTS: Final = 20_000
"""Components of one decision: more than the tables have entries, and an end to a strategy that has none."""

MOST_CREDITS: Final = 1_000_000_000
"""More unlocks than any episode has; it keeps limits within what a database column holds."""

MOST_HELD: Final = 2**31 - 1
"""The columns of stored reward facts hold no more."""

MOST_CHARACTERS: Final = 6_000_000
"""A configuration as JSON: four full tables, each character of a name escaped. The default takes two thousand."""
