"""The form of the reward configuration that is tried in the Lab."""

from __future__ import annotations

from typing import Final

from pages.components.shared.form_state import FormState

LAB: Final = FormState("lab_")
"""What the form holds."""
