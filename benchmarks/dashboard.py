"""The dashboard as a person feels it: a stored episode opened and stepped through in a real browser.

Goals: key press to painted frame under 33 ms; at least 20 frames a second while a key is held; key press to side
panel under 400 ms; a stored episode of 1,000 steps on the screen within 2.5 s, one of 10,000 within 4 s; a gallery of
100 new worlds within 15 s.
Medians of this run.
"""

from __future__ import annotations

import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from playwright.sync_api import BrowserContext, Page

from core.env import CrafterEnv
from core.env.rules import ACTIONS
from core.rewards import RewardShaper
from core.store import TraceStore
from core.types import (
    Decision,
    EpisodeSpec,
    Outcome,
    PolicySpec,
    QueuedEpisode,
    RewardConfig,
    Run,
    StateRecord,
    Step,
    StopReason,
    Timing,
    ToolCall,
)
from tests.support.browser.chromium import find_chromium, open_chromium, settle
from tests.support.browser.dashboard import Dashboard

SPEC = EpisodeSpec(seed=42, policy=PolicySpec("random"), policy_seed=1, reward=RewardConfig())
STEPS_PER_DECISION = 2
PRESSES = 40
HELD_S = 3.0
REPEAT_S = 1 / 33  # a keyboard's usual repeat rate
OPENINGS = 5
START = 102  # where pressing begins: the last frame of a decision
GALLERY = range(500, 600)  # seeds whose worlds are described and drawn
SETTLED_MS = 150  # charts are drawn a moment after the script has ended

# A message is handled after the frame that was being drawn is painted.
_CANVAS = """
const playerCanvas = () => [...document.querySelectorAll("[data-testid=stBidiComponentIsolated]")]
  .map((host) => host.shadowRoot?.querySelector("canvas[data-step]")).find(Boolean);
"""
_WATCH = (
    "() => {"
    + _CANVAS
    + """
  const watched = (window.watched = { pressed: 0, painted: [], changed: 0 });
  document.addEventListener("keydown", (event) => { watched.pressed = event.timeStamp; }, { capture: true });
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => watched.painted.push(performance.now());
  new MutationObserver(() => port2.postMessage(0)).observe(playerCanvas(), { attributeFilter: ["data-step"] });
  new MutationObserver(() => { watched.changed = performance.now(); })
    .observe(document.querySelector("[data-testid=stMain]"), { subtree: true, childList: true, characterData: true });
}"""
)
_FIRST_FRAME = (
    "() => new Promise((resolve) => {"
    + _CANVAS
    + """
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => resolve(performance.now());
  const look = () => playerCanvas() ? port2.postMessage(0) : requestAnimationFrame(look);
  look();
})"""
)

_PICTURES = """(count) => {
  const pictures = [...document.querySelectorAll(".st-key-seed-gallery [data-testid=stImage] img")];
  return pictures.length >= count && pictures.every((picture) => picture.complete && picture.naturalWidth > 0);
}"""


def store_episodes(store: TraceStore, episodes: Mapping[int, str]) -> None:
    """Random walks of so many steps: the shortest is played, the others repeat it."""
    env = CrafterEnv(length=10_001, observe=False)
    env.reset(seed=SPEC.seed)
    initial = env.state()
    played = tuple(_decisions(env, initial, min(episodes)))
    for n_steps, episode_id in episodes.items():
        store.runs.create(Run(episode_id, datetime.now(UTC), (QueuedEpisode(episode_id, SPEC),)))
        store.queue.claim_next(worker="benchmark", run_id=episode_id)
        recorder = store.recorder(episode_id)
        recorder.start(datetime.now(UTC), initial)
        for decision in _repeated(played, n_steps // STEPS_PER_DECISION):
            recorder.record(decision)
        recorder.finish(Outcome(StopReason.MAX_STEPS, datetime.now(UTC)))


def _repeated(played: Sequence[Decision], count: int) -> Iterator[Decision]:
    for index, decision in zip(range(count), itertools.cycle(played), strict=False):
        start = index * STEPS_PER_DECISION
        steps = tuple(replace(step, index=start + offset) for offset, step in enumerate(decision.steps))
        yield replace(decision, index=index, steps=steps)


def _decisions(env: CrafterEnv, before: StateRecord, n_steps: int) -> Iterator[Decision]:
    """A random walk that goes on in the seed's next world after each death."""
    rng, shaper = np.random.default_rng(0), RewardShaper(SPEC.reward)
    for index in range(n_steps // STEPS_PER_DECISION):
        steps = tuple(_step(env, int(rng.integers(17))) for _ in range(STEPS_PER_DECISION))
        actions = tuple(step.action for step in steps)
        reward = shaper.score(before.facts, steps[-1].state.facts)
        yield Decision(
            index=index,
            observation="",
            tool_calls=(ToolCall("interact", "{}", actions=actions, reasoning="A step in a random direction."),),
            steps=steps,
            not_executed=(),
            before=before.facts,
            reward=reward,
            unlocked=reward.new_achievements,
            unique_unlocked=(),
            timing=Timing(0.0, 0.001, tuple((0.001, 0.002) for _ in steps), 0.003),
        )
        before = steps[-1].state


def _step(env: CrafterEnv, action: int) -> Step:
    _, reward, terminated, _, _ = env.step(action)
    state = env.state()
    if terminated:
        env.reset()
    return Step(0, ACTIONS[action], reward, terminated=False, truncated=False, state=state)


def opening_ms(context: BrowserContext, url: str) -> float:
    """From asking for the page until its first frame is painted, in a browser that has seen the dashboard before."""
    page = context.new_page()
    page.goto(url, wait_until="commit")
    found = float(page.evaluate(_FIRST_FRAME))
    page.close()
    return found


def key_latencies_ms(page: Page) -> tuple[list[float], list[float]]:
    """Of single presses of `]`: until the next decision is painted, and until its panels changed last."""
    to_frame: list[float] = []
    to_panels: list[float] = []
    for press in range(1, PRESSES + 1):
        page.evaluate("() => { watched.painted = []; watched.changed = 0; }")
        page.keyboard.press("]")
        # The address is written once the panels are drawn.
        page.wait_for_url(f"**step={START + press * STEPS_PER_DECISION}*", wait_until="commit")
        settle(page)
        page.wait_for_timeout(SETTLED_MS)
        to_frame.append(page.evaluate("() => watched.painted[0] - watched.pressed"))
        to_panels.append(page.evaluate("() => watched.changed - watched.pressed"))
    return to_frame, to_panels


def held_key(page: Page) -> tuple[float, int, int]:
    """An arrow held down: frames painted a second, frames painted, and presses sent."""
    presses = round(HELD_S / REPEAT_S)
    page.evaluate("() => { watched.painted = []; }")
    for _ in range(presses):
        page.keyboard.down("ArrowRight")
        page.wait_for_timeout(REPEAT_S * 1000)
    page.keyboard.up("ArrowRight")
    painted = page.evaluate("() => watched.painted")
    return 1000 * (len(painted) - 1) / (painted[-1] - painted[0]), len(painted), presses


def gallery_s(page: Page, url: str) -> float:
    """From asking for worlds that nobody has seen until the last of their pictures is on the page."""
    page.goto(f"{url}/launch")
    settle(page)
    worlds = page.get_by_role("textbox", name="Worlds to show")
    worlds.fill(f"{GALLERY[0]}-{GALLERY[-1]}")
    start = time.monotonic()
    worlds.press("Enter")
    page.wait_for_function(_PICTURES, arg=len(GALLERY), timeout=120_000)
    return time.monotonic() - start


def measure(dashboard: Dashboard, path: str, episodes: dict[int, str]) -> None:
    """Print every figure."""
    with open_chromium(path) as browser:
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        for (n_steps, episode_id), goal_s in zip(episodes.items(), (2.5, 4.0), strict=True):
            url = f"{dashboard.url}/episode?id={episode_id}"
            first, *later = [opening_ms(context, url) for _ in range(1 + OPENINGS)]
            print(
                f"open {n_steps:,} steps to first frame: {first / 1000:.2f} s the first time, then median "
                f"{statistics.median(later) / 1000:.2f} s (goal < {goal_s} s)",
                flush=True,
            )
        page = context.new_page()
        page.goto(f"{dashboard.url}/episode?id={next(iter(episodes.values()))}&step={START}")
        settle(page, player=True)
        page.wait_for_timeout(SETTLED_MS)
        page.evaluate(_WATCH)
        to_frame, to_panels = key_latencies_ms(page)
        print(f"key press to painted frame: median {statistics.median(to_frame):.1f} ms (goal < 33 ms)")
        print(f"key press to side panels: median {statistics.median(to_panels):.0f} ms (goal < 400 ms)")
        rate, painted, presses = held_key(page)
        print(f"a key held down: {rate:.1f} frames a second, {painted} of {presses} presses painted (goal >= 20)")
        seconds = gallery_s(page, dashboard.url)
        print(f"gallery of {len(GALLERY)} new worlds: {seconds:.1f} s (goal < 15 s)")


def main() -> int:
    """Store two episodes, open them, step through one."""
    path = find_chromium()
    if path is None:
        print("no browser: neither chromium nor google-chrome is on the PATH")
        return 1
    episodes = {1_000: "a" * 32, 10_000: "b" * 32}
    with tempfile.TemporaryDirectory() as folder:
        store = TraceStore(f"sqlite:///{Path(folder) / 'craftscope.db'}")
        store_episodes(store, episodes)
        store.close()
        with Dashboard(Path(folder)) as dashboard:
            measure(dashboard, path, episodes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
