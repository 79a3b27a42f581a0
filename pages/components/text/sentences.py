"""Sentences about what a decision did and earned. Plain text: show it with `st.text`, never as Markdown."""

from __future__ import annotations

from core.env.rules import VITALS
from core.rewards import STRATEGIES
from core.store import DecisionSummary
from core.types import Decision, RewardComponent, RewardConfig
from pages.components.text.format import exact, ms, name_text, number, signed

_LABEL_ENDINGS = {"achievement": "unlock", "inventory": "in inventory", "achievement_count": "count"}


def component_label(kind: str, name: str) -> str:
    """A short name, such as `wood in inventory`."""
    match kind:
        case "indicator":
            return "any unlock"
        case "environment":
            return "environment"
        case "potential":
            return f"potential: {name_text(name)}"
        case "inventory" if name in VITALS:
            return name
        case _:
            return f"{name_text(name)} {_LABEL_ENDINGS.get(kind, f'({kind})')}"


def component_phrase(component: RewardComponent) -> str:
    """Amount and source, such as `wood +1 in inventory × 0.10`, `health +1 × 0.05`."""
    name, rise, weight = name_text(component.name), _whole(component.delta), _weight(component.weight)
    match component.kind:
        case "indicator":
            return f"at least one unlock {weight}"
        case "achievement":
            return f"{name} unlock {weight}"
        case "inventory":
            return f"{name} {rise}{'' if _is_vital(component) else ' in inventory'} × {weight}"
        case "achievement_count":
            return f"{name} count {rise} × {weight}"
        case "environment":
            return f"environment {signed(component.delta)} × {weight}"
        case "potential":
            return f"potential ({name}) {signed(component.delta)} × {exact(component.weight)}"
        case _:
            return f"{name} ({component.kind}) {rise} × {weight}"


def paid_sentence(index: int, component: RewardComponent, effective_lambda: float) -> str:
    """What one component paid in a decision: `decision 12: wood +1 in inventory × 0.10 = +0.10`."""
    scaled = "" if effective_lambda == 1.0 else f"λ {_lambda(effective_lambda)} × "
    paid = signed(effective_lambda * component.value, 3).removesuffix("0")
    return f"decision {index:,}: {scaled}{component_phrase(component)} = {paid}"


def reward_sentence(decision: Decision, config: RewardConfig) -> str:
    """The decision's reward as lambda times the sum of its components, each with its weight."""
    earned = f"Decision {decision.index} earned {signed(decision.reward.total)}"
    parts = decision.reward.components
    if not config.enabled:
        return f"{earned}: reward shaping is off in this run."
    if not config.is_active:
        return f'{earned}: the mode "{config.mode}" does not shape rewards.'
    if not parts:
        return f"{earned}: {_nothing_paid(decision, config)}"
    inside = " + ".join(component_phrase(part) for part in parts)
    return f"{earned} = λ {_lambda(decision.reward.effective_lambda)} × ({inside})"


def reward_notes(decision: Decision, config: RewardConfig) -> tuple[str, ...]:
    """Notes on what may surprise a reader: lambda 0, unlocks that reached their limit."""
    notes: list[str] = []
    if config.is_active and not config.indicator_lambda:
        notes.append("λ is 0 or absent in this configuration and counts as 1.0.")
    credited = {part.name for part in decision.reward.components if part.kind == "achievement"}
    if config.is_active and any(part.kind == "achievement" for part in decision.reward.components):
        unpaid = [name for name in decision.unlocked if name not in credited]
        notes += [f"{name_text(name)} was unlocked but not paid: its limit was reached." for name in unpaid]
    return tuple(notes)


def env_reward_sentence(decision: Decision) -> str:
    """Crafter's own reward and its rule (danijar/crafter, `env.py`)."""
    if not decision.steps:
        return "No environment reward: no step was executed."
    unlocking = _steps_with_unlocks(decision)
    health = decision.after.inventory.get("health", 0) - decision.before.inventory.get("health", 0)
    parts = []
    if unlocking:
        parts.append(
            "1 for a step with an unlock" if unlocking == 1 else f"1 for each of {unlocking} steps with unlocks"
        )
    if health:
        parts.append(f"a tenth of the health change of {_whole(health)}")
    reason = f" ({', '.join(parts)})" if parts else ""
    return f"Environment reward: {signed(decision.env_reward)}{reason}"


def timing_sentence(decision: DecisionSummary, of_model: bool | None = None) -> str:
    """The decision's time in parts, as a sentence."""
    parts = ", ".join(f"{label} {ms(value)}" for label, value in timing_parts(decision, of_model))
    return f"Decision {decision.index} took {ms(total_ms(decision))}: {parts}"


def timing_parts(decision: DecisionSummary, of_model: bool | None = None) -> tuple[tuple[str, float | None], ...]:
    """The parts of a decision in order, in milliseconds; None for unknown parts.

    of_model: include waiting and parsing, which only model calls have (None: if the decision called a model). They are
    subtracted from the inference.
    """
    with_model = bool(decision.model_calls) if of_model is None else of_model
    apart_ms = (decision.waited_ms or 0.0) + (decision.parse_ms or 0.0)
    return (
        ("inference", max(0.0, decision.inference_ms - apart_ms)),
        *((("waiting", decision.waited_ms), ("parsing", decision.parse_ms)) if with_model else ()),
        ("environment", decision.env_step_ms),
        ("overhead", decision.overhead_ms),
        ("storing", decision.store_ms),
    )


def total_ms(decision: DecisionSummary) -> float:
    """Sum of the known parts, ms."""
    return decision.inference_ms + decision.env_step_ms + decision.overhead_ms + (decision.store_ms or 0.0)


def steps_phrase(decision: DecisionSummary) -> str:
    """`step 12`, `steps 12–16` or `no step`, counted from 1 as the player does."""
    first, last = decision.step_start + 1, decision.step_end
    if last < first:
        return "no step"
    return f"step {first:,}" if first == last else f"steps {first:,}–{last:,}"


def _steps_with_unlocks(decision: Decision) -> int:
    known = {name for name, unlocked in decision.before.achievements.items() if unlocked}
    count = 0
    for step in decision.steps:
        now = {name for name, unlocked in step.state.facts.achievements.items() if unlocked}
        count += bool(now - known)
        known |= now
    return count


def _nothing_paid(decision: Decision, config: RewardConfig) -> str:
    if not decision.steps:
        return "no step was executed, so nothing changed."
    if config.strategy == "consistent":
        return "no achievement was unlocked, and this strategy pays for nothing else."
    strategy = STRATEGIES.get(config.strategy)
    if strategy is not None and not strategy.uses_tables:
        return f"the strategy “{strategy.label}” paid 0."
    falls = "; losses cost nothing" if _something_fell(decision) else ""
    if decision.unlocked:
        return f"the limit of its unlocks was reached, and nothing else that pays rose{falls}."
    return f"nothing was unlocked, and no inventory entry or achievement count rose{falls}."


def _something_fell(decision: Decision) -> bool:
    now = decision.after.inventory
    return any(now.get(name, 0) < amount for name, amount in decision.before.inventory.items())


def _is_vital(component: RewardComponent) -> bool:
    return component.kind == "inventory" and component.name in VITALS


def lambda_text(config: RewardConfig) -> str:
    """`λ 0.5`; `λ 1 (0 counts as 1)`, because a configuration with lambda 0 pays in full."""
    note = "" if config.indicator_lambda else f" ({'empty' if config.indicator_lambda is None else 0} counts as 1)"
    return f"λ {exact(config.effective_lambda)}{note}"


def _lambda(value: float) -> str:
    return exact(value) if value % 1 or abs(value) >= 1e6 else number(value, 1)


def _weight(value: float) -> str:
    """At least two decimals, more where needed: 0.10, 0.125, −1.00."""
    short = f"{value:.2f}"
    return short.replace("-", "−") if abs(float(short) - value) < 1e-9 else exact(value)


def _whole(delta: float) -> str:
    return f"{delta:+g}".replace("-", "−")
