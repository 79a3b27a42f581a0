// The whole episode in one strip: night, decisions, their rewards, unlocks. Click and drag seek.

const INSET = 9; // room for half a playhead at both ends, in CSS pixels

class Timeline {
  constructor(root, { onSeek, describe }) {
    this.root = root;
    this.strip = root.querySelector(".strip");
    this.done = root.querySelector(".track-done");
    this.playhead = root.querySelector(".playhead");
    this.hoverLine = root.querySelector(".hover-line");
    this.tip = root.querySelector(".tip");
    this.onSeek = onSeek;
    this.describe = describe;
    this.frames = 0;
    this.measure();
    root.addEventListener("pointerdown", (event) => this.grab(event));
    root.addEventListener("pointermove", (event) => this.hover(event));
    root.addEventListener("pointerleave", () => this.root.classList.remove("hovered"));
    for (const end of ["pointerup", "pointercancel"]) root.addEventListener(end, () => (this.dragged = false));
  }

  setEpisode({ frames, hud, scenes }) {
    [this.frames, this.hud, this.scenes] = [frames, hud, scenes];
    this.root.setAttribute("aria-valuemax", String(Math.max(frames - 1, 0)));
  }

  // Stored, because reading it between two frames would force the browser to lay out the page each time.
  measure() {
    this.width = this.root.clientWidth;
  }

  get span() {
    return Math.max(this.width - 2 * INSET, 1);
  }

  xOf(frame) {
    return INSET + (this.span * frame) / Math.max(this.frames - 1, 1);
  }

  frameAt(event) {
    const share = (event.clientX - this.root.getBoundingClientRect().left - INSET) / this.span;
    return Math.round(Math.max(0, Math.min(1, share)) * Math.max(this.frames - 1, 0));
  }

  grab(event) {
    if (event.button !== 0 || !this.frames) return;
    this.dragged = true;
    this.root.setPointerCapture(event.pointerId);
    this.onSeek(this.frameAt(event));
  }

  hover(event) {
    if (!this.frames) return;
    const frame = this.frameAt(event);
    if (this.dragged) this.onSeek(frame);
    this.root.classList.add("hovered");
    const x = this.xOf(frame);
    this.hoverLine.style.transform = `translateX(${x}px)`;
    this.tip.textContent = this.describe(frame);
    const half = this.tip.offsetWidth / 2;
    const left = Math.max(half, Math.min(this.width - half, x));
    this.tip.style.transform = `translateX(${left - half}px)`;
  }

  moveTo(frame) {
    const x = this.xOf(frame);
    this.playhead.style.transform = `translateX(${x}px)`;
    this.done.style.transform = `scaleX(${frame / Math.max(this.frames - 1, 1)})`;
    this.root.setAttribute("aria-valuenow", String(frame));
    this.root.setAttribute("aria-valuetext", this.describe(frame));
  }

  colours() {
    const style = getComputedStyle(this.root);
    return ["--night", "--tick", "--good", "--bad", "--unlock", "--panel"].map((name) => style.getPropertyValue(name));
  }

  draw() {
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [this.strip.clientWidth, this.strip.clientHeight];
    if (!this.frames || !width) return;
    [this.strip.width, this.strip.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    const context = this.strip.getContext("2d");
    context.scale(ratio, ratio);
    const [night, tick, good, bad, unlock, panel] = this.colours();
    this.drawNight(context, height, night);
    this.drawDecisions(context, height, tick, bad);
    this.drawRewards(context, good, bad, tick);
    this.drawUnlocks(context, unlock, panel);
  }

  drawNight(context, height, colour) {
    context.fillStyle = colour;
    const slice = Math.max(1, Math.floor(this.frames / this.span));
    for (let frame = 0; frame < this.frames; frame += slice) {
      const dark = 1 - daylightOf(this.scenes.steps[frame]);
      if (dark < 0.1) continue;
      context.globalAlpha = dark;
      const [from, to] = [frame - 0.5, frame + slice - 0.5].map((f) => Math.round(this.xOf(f)));
      context.fillRect(from, 0, to - from, height);
    }
    context.globalAlpha = 1;
  }

  // A tick at the start of each decision, unless they are too close together; failed ones always.
  drawDecisions(context, height, colour, bad) {
    const { start, error } = this.hud;
    const apart = this.span / Math.max(start.length, 1);
    for (let i = 0; i < start.length; i++) {
      const failed = error[i] !== "";
      if (!failed && apart < 3.5) continue;
      context.fillStyle = failed ? bad : colour;
      const x = Math.round(this.xOf(start[i] + (failed ? 0 : 0.5)));
      context.fillRect(x, height - (failed ? 11 : 6), failed ? 2 : 1, failed ? 11 : 6);
    }
  }

  // One bar per decision, over its frames. Its height is the square root of the reward's share, so that unlocks do not
  // hide small rewards.
  drawRewards(context, good, bad, line) {
    const { start, end, reward } = this.hud;
    const size = (value) => Math.sqrt(Math.abs(value ?? 0));
    const up = Math.max(...reward.map((r) => (r > 0 ? size(r) : 0)), 0);
    const down = Math.max(...reward.map((r) => (r < 0 ? size(r) : 0)), 0);
    const unit = 30 / Math.max(up + down, 1e-9);
    const zero = up + down ? 16 + up * unit : 46;
    context.fillStyle = line;
    context.fillRect(INSET, Math.round(zero), this.span, 1);
    for (let i = 0; i < start.length; i++) {
      const tall = Math.max(size(reward[i]) * unit, 1.5);
      if (!reward[i] || end[i] <= start[i]) continue;
      const from = this.xOf(start[i] + 0.5);
      const wide = Math.max(this.xOf(end[i] + 0.5) - from - 0.75, 1.25);
      context.fillStyle = reward[i] > 0 ? good : bad;
      context.fillRect(from, reward[i] > 0 ? zero - tall : zero + 1, wide, tall);
    }
  }

  drawUnlocks(context, colour, edge) {
    for (const [frame] of this.hud.unlocks) {
      const [x, y, r] = [this.xOf(frame), 9, 5];
      context.beginPath();
      context.moveTo(x, y - r);
      context.lineTo(x + r, y);
      context.lineTo(x, y + r);
      context.lineTo(x - r, y);
      context.closePath();
      context.fillStyle = colour;
      context.fill();
      context.lineWidth = 1.5;
      context.strokeStyle = edge;
      context.stroke();
    }
  }
}
