"""What numbers need wherever many are compared: which count as equal, and which can be computed with."""

from __future__ import annotations

from core.analysis.numbers.equality import is_equal, levels
from core.analysis.numbers.finite import exponents, refuse_not_finite

__all__ = ["exponents", "is_equal", "levels", "refuse_not_finite"]
