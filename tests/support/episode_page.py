"""The Episode page in Streamlit's AppTest."""

from __future__ import annotations

from datetime import UTC, datetime

from streamlit.testing.v1 import AppTest

from core.env.rules import ENGINE_VERSION
from core.store import TraceStore
from core.types import (
    EpisodeSpec,
    Limits,
    PolicySpec,
    QueuedEpisode,
    Run,
)
from tests.support import pages

SCRIPTED = "1" * 32


def opened(**query: str) -> AppTest:
    return pages.opened("episode", state=None, **query)


def markdown(at: AppTest) -> str:
    """Everything on the page that is read as Markdown or HTML."""
    plain = [element.value for kind in (at.markdown, at.caption, at.subheader, at.title) for element in kind]
    return "\n".join([*plain, *(str(element.proto) for kind in ("html", "badge") for element in at.get(kind))])


def selector(at: AppTest):
    return next(box for box in at.number_input if (box.key or "").startswith("decision-"))


def go_to(at: AppTest, decision: int | None) -> None:
    selector(at).set_value(decision)
    next(b for b in at.button if (b.key or "").startswith("go-")).click().run()


def only_queued(store: TraceStore, spec: EpisodeSpec, episode_id: str = "a" * 32) -> QueuedEpisode:
    queued = QueuedEpisode(episode_id, spec)
    store.runs.create(Run("e" * 32, datetime.now(UTC), (queued,)))
    return queued


def spec_of(**changes: object) -> EpisodeSpec:
    limits = Limits(max_steps=20, max_decisions=20)
    values: dict[str, object] = {"policy": PolicySpec("random"), "limits": limits, "engine_version": ENGINE_VERSION}
    return EpisodeSpec(seed=3, policy_seed=1, **values | changes)  # pyright: ignore
