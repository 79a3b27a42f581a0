// Reads what pages/components/player/__init__.py sends. The layout of the packed scenes is core/scenes.py's.

async function gunzip(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const HEADER_BYTES = 20;
const SLEEPING = 1;
const ABSENT = 255;

// The columns of the packed scenes; scene k's sprites are spriteEnd[k - 1] up to, not including, spriteEnd[k].
function readScenes(bytes, knownTextures, knownItems) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const [width, height] = [view.getUint8(6), view.getUint8(7)];
  const [count, spriteCount, nameBytes] = [8, 12, 16].map((at) => view.getUint32(at, true));
  let at = HEADER_BYTES;
  const take = (length) => bytes.subarray(at, (at += length));
  const extra = nameBytes ? JSON.parse(new TextDecoder().decode(take(nameBytes))) : { textures: [], items: [] };
  const textures = [...knownTextures, ...extra.textures];
  const items = [...knownItems, ...extra.items];
  const steps = new Uint32Array(count);
  for (let k = 0; k < count; k++) steps[k] = view.getUint32(at + 4 * k, true);
  at += 4 * count;
  const flags = take(count);
  const spriteEnd = new Uint32Array(count);
  for (let k = 0, end = 0; k < count; k++) spriteEnd[k] = end += view.getUint16(at + 2 * k, true);
  at += 2 * count;
  return {
    ...{ count, width, height, textures, items, steps, flags, spriteEnd },
    materials: take(count * width * height),
    inventory: take(count * items.length),
    spriteTexture: take(spriteCount),
    spriteX: take(spriteCount),
    spriteY: take(spriteCount),
  };
}

// 0 (darkest) to 1 (brightest), as Crafter computes it from the step.
function daylightOf(step) {
  return 1 - Math.abs(Math.cos(Math.PI * (((step / 300) % 1) + 0.3))) ** 3;
}

// For every frame, the decision whose step led to it; -1 for the frame after reset.
function decisionOfFrames(hud, frames) {
  const decisions = new Int32Array(frames).fill(-1);
  hud.start.forEach((start, index) => decisions.fill(index, start + 1, hud.end[index] + 1));
  return decisions;
}
