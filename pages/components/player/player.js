// The player: one instance per mount point. Streamlit calls the default export whenever the data or the theme changes,
// and the returned function when the player is removed.

const SPEEDS = [1, 5, 10, 30, 60]; // frames a second, keys 1 to 5
const AWAITS_FIRST_FRAME = ".cs-first-frame.cs-is-awaited";
const REPORT_AFTER_MS = 60;
const REPORT_WHILE_PLAYING_MS = 250;
const TOAST_MS = 1800;
const CONTROLS_SHOWN_MS = 2500;
const MAX_FRAME_PX = 720;
const OF_STEPS = "[class*='st-key-seek-steps-']";
const OF_DECISIONS = "[class*='st-key-seek-decisions-']";
const PLOT_AREAS = `${OF_STEPS} .nsewdrag, ${OF_DECISIONS} .nsewdrag`;
const CLICK_MOVES_PX = 6; // a press that moves further is not a click

const players = new WeakMap(); // mount point -> Player
const open = []; // ordered by last use: keys go to the last one

class Player {
  constructor(root) {
    this.root = root;
    this.find = (selector) => root.querySelector(selector);
    this.canvas = this.find(".view");
    this.frames = 0;
    this.frame = 0;
    this.speed = 10;
    this.playing = false;
    this.loop = false;
    this.timeline = new Timeline(this.find(".timeline"), {
      onSeek: (frame) => (this.pause(), this.goTo(frame)),
      describe: (frame) => this.describe(frame),
    });
    this.fillSpeeds();
    this.listen();
    open.push(this);
  }

  fillSpeeds() {
    const select = this.find("[data-act=speed]");
    select.replaceChildren(...SPEEDS.map((speed) => new Option(`${speed} fps`, String(speed))));
    this.find(".speeds").textContent = `${SPEEDS.join(", ")} frames a second`;
    select.value = String(this.speed);
    select.addEventListener("change", () => this.setSpeed(Number(select.value)));
  }

  listen() {
    this.abort = new AbortController();
    const { signal } = this.abort;
    for (const button of this.root.querySelectorAll("button[data-act]"))
      button.addEventListener("click", () => this.act(button.dataset.act), { signal });
    document.addEventListener("keydown", (event) => this.onKey(event), { capture: true, signal });
    document.addEventListener("pointerdown", (event) => this.onPress(event), { capture: true, signal });
    document.addEventListener("pointerup", (event) => this.onRelease(event), { capture: true, signal });
    document.addEventListener("craftscope-decision", (event) => this.onDecisionAsked(event.detail), { signal });
    this.root.addEventListener("pointerdown", () => this.becomeActive(), { signal });
    this.root.addEventListener("pointermove", () => this.wake(), { signal });
    this.find(".help").addEventListener("click", () => this.act("help"), { signal });
    this.resizes = new ResizeObserver(() => this.resize());
    this.resizes.observe(this.root);
    window.addEventListener("resize", () => this.resize(), { signal });
  }

  close() {
    this.abort.abort();
    this.resizes.disconnect();
    clearTimeout(this.reportTimer);
    clearTimeout(this.toastTimer);
    clearTimeout(this.wakeTimer);
    this.closed = true;
    open.splice(open.indexOf(this), 1);
  }

  // Presenting, the controls show for a moment when the mouse moves.
  wake() {
    this.root.classList.add("awake");
    clearTimeout(this.wakeTimer);
    this.wakeTimer = setTimeout(() => this.root.classList.remove("awake"), CONTROLS_SHOWN_MS);
  }

  becomeActive() {
    open.push(...open.splice(open.indexOf(this), 1));
  }

  // ---------------------------------------------------------------------------------------------- what is shown

  async update(data, setState) {
    this.setState = setState;
    this.seek = data.seek;
    this.root.classList.toggle("present", data.present);
    this.setExit(data.exitUrl);
    if (data.digest === this.digest) {
      this.applySeek(data.seek);
      this.resize();
      return;
    }
    const isFirst = this.digest === undefined;
    this.digest = data.digest;
    try {
      await this.load(data, isFirst);
    } catch (error) {
      this.showNotice(`Cannot draw the episode: ${error.message}. Reload the page to try again.`);
    }
    // After the browser has put the frame on the screen.
    if (isFirst) requestAnimationFrame(() => setTimeout(() => this.reportFirstFrame(), 0));
  }

  reportFirstFrame() {
    if (this.closed || !document.querySelector(AWAITS_FIRST_FRAME)) return;
    if (this.frames) this.reportNow(); // a seek may have moved it; the next run then shows that frame
    this.setState("painted", true);
  }

  async load(data, isFirst) {
    const [atlas, packed, text] = await Promise.all([loadAtlas(data.atlas), gunzip(data.scenes), gunzip(data.hud)]);
    if (this.closed || this.digest !== data.digest) return;
    const wasAtEnd = this.frames > 0 && this.frame === this.frames - 1;
    this.scenes = readScenes(packed, data.textures, data.items);
    this.hud = JSON.parse(new TextDecoder().decode(text));
    this.frames = this.scenes.count;
    if (!this.frames) return this.showNotice("No frame of this episode is recorded yet.");
    this.decisionOf = decisionOfFrames(this.hud, this.frames);
    this.unlocksAt = Map.groupBy
      ? Map.groupBy(this.hud.unlocks, ([frame]) => frame)
      : new Map(this.hud.unlocks.map(([frame]) => [frame, this.hud.unlocks.filter(([f]) => f === frame)]));
    this.painter = new Painter(this.canvas, atlas, this.scenes, data.materials);
    this.timeline.setEpisode({ frames: this.frames, hud: this.hud, scenes: this.scenes });
    this.find(".counter-total").textContent = ` / ${this.frames - 1}`;
    this.makeVitals(data.vitals);
    this.makeUnlocks();
    this.find(".notice").hidden = true;
    this.scale = this.timelineDrawnFrom = undefined;
    this.paintedFrame = undefined;
    if (isFirst) {
      this.seekNonce = data.done;
      this.reported = data.start;
      this.frame = data.start;
    } else if (wasAtEnd) this.frame = this.frames - 1; // a running episode is followed
    this.frame = this.clamp(this.frame);
    this.resize();
    this.paint();
    this.applySeek(this.seek); // it may have come while the episode was loading
    if (!isFirst) this.report();
    this.root.dataset.ready = "true";
  }

  showNotice(sentence) {
    const notice = this.find(".notice");
    notice.textContent = sentence;
    notice.hidden = false;
  }

  setExit(url) {
    const exit = this.find(".exit");
    // Only a URL in this dashboard: never another site's, never a script.
    const target = url ? new URL(url, document.baseURI) : null;
    this.exit = target && target.origin === window.location.origin ? target : null;
    exit.hidden = !this.exit;
    this.find(".leave-hint").hidden = !this.exit;
    this.pointExit();
  }

  pointExit() {
    if (!this.exit) return;
    this.exit.searchParams.set("step", String(this.frame));
    this.find(".exit").href = this.exit.href;
  }

  applySeek(seek) {
    // Before the episode is loaded it cannot be obeyed, and must not be marked as done.
    if (!this.frames || !seek || seek.nonce === this.seekNonce) return;
    this.seekNonce = seek.nonce;
    this.pause();
    this.goTo(seek.step);
    this.restoreKeyFocus();
  }

  // The list or field that caused the seek still has the focus: give the keyboard back to the player.
  restoreKeyFocus() {
    const focused = document.activeElement;
    if (focused?.matches(TYPED_INTO) && !this.root.contains(focused)) this.root.focus({ preventScroll: true });
  }

  // ------------------------------------------------------------------------------------------------------- charts

  // A click on a chart whose horizontal axis counts all steps or all decisions (`charts.show` marks it) seeks. Other
  // parts of the page send an event. Plotly covers the page while a button is down, so the place of the press counts,
  // not that of the release.
  onPress(event) {
    this.byKeyboard = false;
    const area = event.target.closest?.(PLOT_AREAS);
    this.pressed = area && event.button === 0 ? { area, x: event.clientX, y: event.clientY } : undefined;
  }

  onRelease(event) {
    const pressed = this.pressed;
    this.pressed = undefined;
    if (!pressed || !this.frames || open.at(-1) !== this) return;
    if (Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) > CLICK_MOVES_PX) return;
    const { left, top, width, height } = pressed.area.getBoundingClientRect();
    const [across, down] = [(pressed.x - left) / Math.max(width, 1), (pressed.y - top) / Math.max(height, 1)];
    this.pause();
    this.goTo(this.frameInChart(pressed.area, across, down));
  }

  frameInChart(area, across, down) {
    if (area.closest(OF_STEPS)) return across * (this.frames - 1);
    const { length } = this.hud.end;
    return this.resultOf(decisionInChart(area, across, down) ?? Math.round(across * length - 0.5));
  }

  onDecisionAsked(decision) {
    if (!this.frames || open.at(-1) !== this) return;
    this.pause();
    this.goTo(this.resultOf(decision));
  }

  resultOf(decision) {
    const { end } = this.hud;
    return end[Math.max(0, Math.min(end.length - 1, decision))] ?? 0;
  }

  // ------------------------------------------------------------------------------------------------------- layout

  // On a page: the largest whole number of device pixels per texture pixel that fits, for a crisp picture. When
  // presenting, the picture fills the window: drawn at the next whole number and scaled down smoothly.
  resize() {
    if (!this.painter) return;
    this.refreshTimeline();
    const ratio = window.devicePixelRatio || 1;
    const { width, height } = this.room();
    const fits = Math.min((width * ratio) / this.painter.width, (height * ratio) / this.painter.height);
    const presents = this.root.classList.contains("present");
    const scale = Math.max(1, presents ? Math.ceil(fits - 1e-6) : Math.floor(fits + 1e-6));
    const shown = (presents ? Math.max(fits, 1) : scale) / ratio;
    if (scale === this.scale && shown === this.shown) return;
    [this.scale, this.shown] = [scale, shown];
    this.painter.setScale(scale);
    this.canvas.style.width = `${this.painter.width * shown}px`;
    this.canvas.style.height = `${this.painter.height * shown}px`;
    this.find(".frame").style.height = this.canvas.style.height;
    this.root.style.setProperty("--frame-width", this.canvas.style.width);
    this.painter.paint(this.frame);
  }

  // Drawn again only if its width or the theme's colours changed.
  refreshTimeline() {
    this.timeline.measure();
    const drawnFrom = `${this.timeline.width} ${this.timeline.colours().join()}`;
    if (drawnFrom === this.timelineDrawnFrom) return;
    this.timelineDrawnFrom = drawnFrom;
    this.timeline.draw();
    this.timeline.moveTo(this.frame);
  }

  room() {
    if (!this.root.classList.contains("present")) {
      const side = Math.min(this.find(".frame").clientWidth, MAX_FRAME_PX);
      return { width: side, height: side }; // keeps what is below a narrow view's frame in the window
    }
    const { paddingTop, paddingBottom } = getComputedStyle(this.find(".stage"));
    const taken = this.find(".side").offsetHeight + parseFloat(paddingTop) + parseFloat(paddingBottom);
    return { width: this.root.clientWidth, height: this.root.clientHeight - taken };
  }

  // ----------------------------------------------------------------------------------------------------- movement

  clamp(frame) {
    return Math.max(0, Math.min(this.frames - 1, Math.round(frame)));
  }

  goTo(frame) {
    if (!this.frames) return;
    const target = this.clamp(frame);
    if (target === this.frame) return;
    this.frame = target;
    this.schedulePaint();
    this.report();
  }

  schedulePaint() {
    this.paintRequest ??= requestAnimationFrame(() => {
      this.paintRequest = undefined;
      if (!this.closed) this.paint();
    });
  }

  act(name) {
    if (name === "help") return this.toggleHelp();
    if (!this.frames) return;
    if (name === "play") return this.playing ? this.pause() : this.play();
    if (name === "loop") return this.setLoop(!this.loop);
    this.pause();
    this.goTo(this.targetOf(name));
  }

  targetOf(name) {
    const { start } = this.hud;
    const here = this.decisionOf[this.frame];
    const moves = {
      back: () => this.frame - 1,
      forward: () => this.frame + 1,
      "back-ten": () => this.frame - 10,
      "forward-ten": () => this.frame + 10,
      first: () => 0,
      last: () => this.frames - 1,
      "decision-back": () => this.frameOfDecision(here - 1, -1),
      "decision-forward": () => this.frameOfDecision(here + 1, +1),
      unlock: () => this.hud.unlocks.find(([frame]) => frame > this.frame)?.[0] ?? this.frame,
      "unlock-back": () => this.hud.unlocks.findLast(([frame]) => frame < this.frame)?.[0] ?? this.frame,
    };
    return start && moves[name] ? moves[name]() : this.frame;
  }

  // The last frame of a decision, its result; decisions without a step have none and are skipped.
  frameOfDecision(decision, direction) {
    const { start, end } = this.hud;
    let at = decision;
    while (at >= 0 && at < start.length && end[at] <= start[at]) at += direction;
    if (at < 0) return 0;
    return at < start.length ? end[at] : this.frames - 1;
  }

  play() {
    if (this.frame === this.frames - 1) this.frame = 0;
    this.playing = true;
    this.root.classList.add("playing");
    this.playedAt = performance.now();
    this.toReport = this.playedAt;
    requestAnimationFrame((now) => this.tick(now));
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    this.root.classList.remove("playing");
    this.report();
  }

  tick(now) {
    if (!this.playing || this.closed) return;
    const due = Math.floor(((now - this.playedAt) * this.speed) / 1000);
    if (due > 0) {
      this.playedAt += (due * 1000) / this.speed;
      this.advance(Math.min(due, this.speed)); // a hidden window must not jump far
    }
    if (now - this.toReport >= REPORT_WHILE_PLAYING_MS && pageIsIdle()) {
      this.toReport = now;
      this.reportNow();
    }
    requestAnimationFrame((next) => this.tick(next));
  }

  advance(count) {
    const last = this.frames - 1;
    const target = this.frame + count;
    this.frame = target <= last ? target : this.loop ? (target - last - 1) % this.frames : last;
    this.paint();
    if (this.frame === last && !this.loop) this.pause();
  }

  setSpeed(speed) {
    this.speed = speed;
    this.playedAt = performance.now();
    this.find("[data-act=speed]").value = String(speed);
  }

  setLoop(loop) {
    this.loop = loop;
    this.find("[data-act=loop]").setAttribute("aria-pressed", String(loop));
  }

  toggleHelp() {
    const help = this.find(".help");
    help.hidden = !help.hidden;
  }

  // -------------------------------------------------------------------------------------------------------- report

  report() {
    clearTimeout(this.reportTimer);
    this.reportTimer = setTimeout(() => this.reportNow(), REPORT_AFTER_MS);
  }

  reportNow() {
    if (this.closed || this.frame === this.reported) return;
    this.reported = this.frame;
    this.setState("step", this.frame);
  }

  // ---------------------------------------------------------------------------------------------------------- keys

  onKey(event) {
    if (event.key === "Tab") this.byKeyboard = true;
    if (open.at(-1) !== this || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const target = event.composedPath()[0];
    if (belongsElsewhere(target, this)) return;
    if (event.key === "Escape" && !this.find(".help").hidden) this.toggleHelp();
    else if (!this.onNamedKey(event)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  onNamedKey(event) {
    const moves = { ArrowLeft: "back", ArrowRight: "forward", Home: "first", End: "last" };
    const acts = { " ": "play", "[": "decision-back", "]": "decision-forward", l: "loop", "?": "help" };
    const move = moves[event.key];
    const unlock = event.key.toLowerCase() === "u" && (event.shiftKey ? "unlock-back" : "unlock");
    const act = move ? (event.shiftKey && event.key.startsWith("Arrow") ? `${move}-ten` : move) : unlock || acts[event.key];
    const speed = SPEEDS[Number(event.key) - 1];
    if (act === "play" && event.repeat) return true;
    if (act) this.act(act);
    else if (speed && event.key.length === 1) this.setSpeed(speed);
    return Boolean(act || speed);
  }

  // ---------------------------------------------------------------------------------------------------------- paint

  paint() {
    if (!this.painter) return;
    if (this.paintedFrame !== this.frame) this.painter.paint(this.frame);
    this.paintedFrame = this.frame;
    this.paintHud();
    this.paintVitals();
    this.timeline.moveTo(this.frame);
    this.pointExit();
    this.canvas.dataset.step = String(this.frame);
  }

  paintHud() {
    const step = this.frame - 1; // the step that led here
    const decision = this.decisionOf[this.frame];
    const action = this.actionOf(this.frame);
    const unlocked = (this.unlocksAt.get(this.frame) ?? []).map(([, name]) => words(name));
    this.write(".counter-step", String(this.frame));
    const place = `step ${this.frame} / ${this.frames - 1}`;
    this.write(".hud-step", place);
    this.write(".hud-action", action);
    this.write(".caption-step", place);
    this.write(".caption-action", action);
    // The environment pays per step, the shaping per decision, so each number has its label.
    for (const side of ["hud", "caption"]) {
      this.writeSigned(`.${side}-env`, "this step: env ", step >= 0 ? this.hud.envReward[step] : undefined);
      const shaped = decision >= 0 ? this.hud.reward[decision] : undefined;
      this.writeSigned(`.${side}-reward`, `decision ${decision}: shaped `, shaped);
    }
    this.write(".caption-unlock", unlocked.join(", "));
    this.write(".caption-reasoning", decision >= 0 ? this.hud.error[decision] || this.hud.reasoning[decision] : "");
    this.showToast(unlocked);
    this.unlockMarks?.forEach(([frame, mark]) => mark.classList.toggle("reached", frame <= this.frame));
  }

  // Shown with its frame, and a moment longer while playing.
  showToast(unlocked) {
    const toast = this.find(".toast");
    if (unlocked.length) {
      this.write(".toast", unlocked.join(", "));
      toast.classList.add("shown");
      clearTimeout(this.toastTimer);
      this.toastTimer = undefined;
    } else if (!this.playing) {
      toast.classList.remove("shown");
    } else if (toast.classList.contains("shown")) {
      this.toastTimer ??= setTimeout(() => {
        this.toastTimer = undefined;
        if (!this.unlocksAt.has(this.frame)) toast.classList.remove("shown");
      }, TOAST_MS);
    }
  }

  paintVitals() {
    const { items, inventory } = this.scenes;
    for (const { index, bar, value, row } of this.vitals) {
      const amount = inventory[this.frame * items.length + index];
      const known = amount === ABSENT ? 0 : amount;
      bar.style.transform = `scaleX(${Math.min(known / 9, 1)})`;
      if (value.textContent !== String(known)) value.textContent = String(known);
      row.classList.toggle("low", known <= 3);
    }
  }

  makeVitals(names) {
    this.vitals = names.map((name) => {
      const row = element("div", `vital vital-${name}`);
      const bar = element("span", "vital-bar");
      const track = element("span", "vital-track");
      const value = element("span", "vital-value");
      track.append(bar);
      row.append(element("span", "vital-name", name), track, value);
      return { index: this.scenes.items.indexOf(name), bar, value, row };
    });
    this.find(".vitals").replaceChildren(...this.vitals.map(({ row }) => row));
  }

  makeUnlocks() {
    this.unlockMarks = this.hud.unlocks.map(([frame, name]) => {
      const mark = element("button", "unlock-mark");
      mark.type = "button";
      mark.append(element("span", "unlock-name", words(name)), element("span", "unlock-step", String(frame)));
      mark.addEventListener("click", () => (this.pause(), this.goTo(frame)));
      return [frame, mark];
    });
    this.find(".unlocks").replaceChildren(...this.unlockMarks.map(([, mark]) => mark));
  }

  actionOf(frame) {
    const code = this.hud.action[frame - 1];
    return frame === 0 ? "start" : code === undefined ? "–" : words(this.hud.actions[code]);
  }

  describe(frame) {
    const decision = this.decisionOf?.[frame] ?? -1;
    const unlocked = (this.unlocksAt?.get(frame) ?? []).map(([, name]) => words(name));
    const parts = [`step ${frame}`, this.actionOf(frame)];
    if (decision >= 0) parts.push(`decision ${decision}: shaped ${signed(this.hud.reward[decision])}`);
    return [...parts, ...unlocked].join("  ·  ");
  }

  write(selector, text) {
    const node = this.find(selector);
    if (node.textContent !== text) node.textContent = text;
  }

  writeSigned(selector, label, value) {
    this.write(selector, value === undefined ? "" : label + signed(value));
    const node = this.find(selector);
    node.classList.toggle("good", value > 0);
    node.classList.toggle("bad", value < 0);
  }
}

function element(tag, className, text = "") {
  const node = document.createElement(tag);
  node.className = className;
  node.textContent = text;
  return node;
}

const words = (name) => name.replaceAll("_", " ");

const twoDecimals = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

// As `signed` in pages/components/text/format.py.
function signed(value) {
  if (value === null || value === undefined) return "–";
  const text = twoDecimals.format(Math.abs(value));
  return text === "0.00" ? text : (value > 0 ? "+" : "\u2212") + text;
}

// The decision that a chart names for a place on it (`figure.with_click_targets`).
function decisionInChart(area, across, down) {
  const rows = area.closest(".js-plotly-plot")?.layout?.meta?.decisions?.[area.dataset.subplot];
  const at = (share, list) => list[Math.max(0, Math.min(list.length - 1, Math.floor(share * list.length)))];
  return rows?.length ? at(across, at(down, rows)) : undefined;
}

const TICKED = "[type=checkbox], [type=radio], [type=button], [type=submit]"; // inputs without text
const TYPED_INTO = `input:not(${TICKED}), textarea, select, [contenteditable]:not([contenteditable=false])`;
const WALKED_TO = `${TICKED}, button, a, summary, [role=tab], [role=slider], [role=radio], [role=button]`;

// Text is typed there, a list is open, or the user moves through the page's controls with the tab key.
function belongsElsewhere(target, player) {
  if (!(target instanceof Element)) return false;
  if (target.closest(`${TYPED_INTO}, [role=dialog]:not(.help), [role=listbox], [role=grid]`)) return true;
  if (!player.byKeyboard) return false;
  return Boolean(player.root.contains(target) ? target.closest("button, a") : target.closest(WALKED_TO));
}

// Streamlit marks the page while a script runs. A report during that time would restart the script, and panels slower
// than the player would never finish.
function pageIsIdle() {
  const app = document.querySelector("[data-testid=stApp]");
  return !app || app.dataset.testScriptState !== "running";
}

export default function mount({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".player");
  if (!root) return;
  let player = players.get(parentElement);
  if (player?.root !== root) {
    player?.close();
    player = new Player(root);
    players.set(parentElement, player);
  }
  player.update(data, setStateValue);
  player.mounts = (player.mounts ?? 0) + 1;
  const mounted = player.mounts;
  // The cleanup of an earlier call can come after a later call: only the latest may close the player.
  return () => {
    if (player.mounts !== mounted || player.closed) return;
    player.close();
    players.delete(parentElement);
  };
}
