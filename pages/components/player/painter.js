// Draws a scene as Crafter does, from its own 16x16 textures: view, sprites, light, sleep, and the strip of items.

const GRAY_OUTSIDE = 127;

// The textures as pixels (for composing) and as a picture (for scaled drawing).
async function loadAtlas({ url, names, tile, columns }) {
  const image = new Image();
  image.src = url;
  await image.decode();
  const sheet = document.createElement("canvas");
  [sheet.width, sheet.height] = [image.width, image.height];
  const context = sheet.getContext("2d", { willReadFrequently: true });
  context.drawImage(image, 0, 0);
  const places = new Map();
  names.forEach((name, index) => {
    const [x, y] = [(index % columns) * tile, Math.floor(index / columns) * tile];
    places.set(name, { x, y, pixels: context.getImageData(x, y, tile, tile).data });
  });
  return { sheet, places, tile };
}

class Painter {
  constructor(canvas, atlas, scenes, materials) {
    this.canvas = canvas;
    this.atlas = atlas;
    this.scenes = scenes;
    this.materials = materials;
    this.rows = scenes.height + Math.ceil(scenes.items.length / Math.max(scenes.width, 1));
    this.picture = document.createElement("canvas");
    [this.picture.width, this.picture.height] = [scenes.width * atlas.tile, scenes.height * atlas.tile];
    this.pictureContext = this.picture.getContext("2d");
    this.image = this.pictureContext.createImageData(this.picture.width, this.picture.height);
    this.setScale(1);
  }

  get width() {
    return this.scenes.width * this.atlas.tile;
  }

  get height() {
    return this.rows * this.atlas.tile;
  }

  // scale: device pixels per texture pixel, a whole number.
  setScale(scale) {
    this.scale = scale;
    [this.canvas.width, this.canvas.height] = [this.width * scale, this.height * scale];
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.context.imageSmoothingEnabled = false;
  }

  paint(frame) {
    this.compose(frame);
    this.light(daylightOf(this.scenes.steps[frame]));
    if (this.scenes.flags[frame] & SLEEPING) this.sleep();
    this.pictureContext.putImageData(this.image, 0, 0);
    const [width, height] = [this.picture.width * this.scale, this.picture.height * this.scale];
    this.context.drawImage(this.picture, 0, 0, width, height);
    this.context.fillStyle = "#000";
    this.context.fillRect(0, height, this.canvas.width, this.canvas.height - height);
    this.drawItems(frame, height);
  }

  compose(frame) {
    const { width, height, materials, textures, spriteEnd, spriteTexture, spriteX, spriteY } = this.scenes;
    const cells = width * height;
    for (let cell = 0; cell < cells; cell++) {
      const material = materials[frame * cells + cell];
      const pixels = material ? this.texture(this.materials[material]).pixels : null;
      this.copyTile(pixels, Math.floor(cell / height), cell % height);
    }
    for (let i = frame ? spriteEnd[frame - 1] : 0; i < spriteEnd[frame]; i++) {
      if (spriteX[i] < width && spriteY[i] < height)
        this.blendTile(this.texture(textures[spriteTexture[i]]).pixels, spriteX[i], spriteY[i]);
    }
  }

  texture(name) {
    return this.atlas.places.get(name) ?? this.atlas.places.get("unknown");
  }

  copyTile(pixels, x, y) {
    const { data, width } = this.image;
    const tile = this.atlas.tile;
    for (let row = 0; row < tile; row++) {
      const to = ((y * tile + row) * width + x * tile) * 4;
      if (pixels) data.set(pixels.subarray(row * tile * 4, (row + 1) * tile * 4), to);
      else data.fill(GRAY_OUTSIDE, to, to + tile * 4);
      for (let column = 0; column < tile; column++) data[to + column * 4 + 3] = 255;
    }
  }

  blendTile(pixels, x, y) {
    const { data, width } = this.image;
    const tile = this.atlas.tile;
    for (let i = 0; i < tile * tile; i++) {
      const alpha = pixels[i * 4 + 3] / 255;
      const to = ((y * tile + Math.floor(i / tile)) * width + x * tile + (i % tile)) * 4;
      for (let c = 0; c < 3; c++) data[to + c] = Math.trunc(alpha * pixels[i * 4 + c] + (1 - alpha) * data[to + c]);
    }
  }

  // Crafter's night without its noise: colours fade to 40%, halfway to dark blue.
  light(daylight) {
    const { data } = this.image;
    const dark = 1 - daylight;
    for (let i = 0; i < data.length; i += 4) {
      const gray = grayOf(data, i);
      data[i] = Math.trunc(daylight * data[i] + dark * 0.5 * Math.trunc(gray + 0.4 * (data[i] - gray)));
      data[i + 1] = Math.trunc(
        daylight * data[i + 1] + dark * (0.5 * Math.trunc(gray + 0.4 * (data[i + 1] - gray)) + 8),
      );
      data[i + 2] = Math.trunc(
        daylight * data[i + 2] + dark * (0.5 * Math.trunc(gray + 0.4 * (data[i + 2] - gray)) + 32),
      );
    }
  }

  sleep() {
    const { data } = this.image;
    for (let i = 0; i < data.length; i += 4) {
      const half = 0.5 * grayOf(data, i);
      data[i] = data[i + 1] = Math.trunc(half);
      data[i + 2] = Math.trunc(half + 8);
    }
  }

  // Items and digits at whole multiples of their textures, so that all pixels have the same size.
  drawItems(frame, top) {
    const { items, inventory, width } = this.scenes;
    const tile = this.atlas.tile;
    const unit = tile * this.scale;
    const itemSize = tile * Math.max(1, Math.floor(0.8 * this.scale));
    const digitSize = tile * Math.max(1, Math.floor(0.55 * this.scale));
    let place = 0;
    items.forEach((item, index) => {
      const amount = inventory[frame * items.length + index];
      if (amount === ABSENT) return;
      const x = (place % width) * unit;
      const y = top + Math.floor(place / width) * unit;
      place += 1;
      if (amount < 1) return;
      const margin = Math.floor(0.06 * unit);
      this.drawTexture(item, x + margin, y + margin, itemSize);
      this.drawAmount(amount, x + unit - margin, y + unit - margin, digitSize);
    });
  }

  drawAmount(amount, right, bottom, size) {
    const digits = [...String(amount)];
    digits.forEach((digit, index) => {
      const x = right - size * (digits.length - index);
      this.context.fillStyle = "rgba(0, 0, 0, 0.55)";
      this.context.fillRect(x, bottom - size, size, size);
      if (digit === "0") this.drawZero(x, bottom - size, size);
      else this.drawTexture(digit, x, bottom - size, size);
    });
  }

  // Crafter has no texture for 0, because it never shows one.
  drawZero(x, y, size) {
    this.context.strokeStyle = "#fff";
    this.context.lineWidth = size / 5;
    this.context.strokeRect(x + size * 0.3, y + size * 0.15, size * 0.4, size * 0.7);
  }

  drawTexture(name, x, y, size) {
    const place = this.texture(name);
    const tile = this.atlas.tile;
    this.context.drawImage(this.atlas.sheet, place.x, place.y, tile, tile, x, y, size, size);
  }
}

// Pillow's conversion to gray.
function grayOf(data, i) {
  return (19595 * data[i] + 38470 * data[i + 1] + 7471 * data[i + 2] + 0x8000) >> 16;
}
