// A heat map that can be zoomed (drag a box or turn the wheel; double click for all) and says what is
// under the pointer.
"use strict";
function farsideHeat(place, map) {
  const tools = document.createElement("div");
  tools.className = "tools";
  const told = document.createElement("output");
  const canvas = document.createElement("canvas");
  canvas.className = "heat";
  const all = { x0: 0, x1: map.columns, y0: 0, y1: map.rows };
  let view = { ...all };
  let drag = null;
  const room = { left: 78, right: 200, top: 10, bottom: 46 };
  tools.append(farsideButton("all", false, () => { view = { ...all }; draw(); }),
    "drag a box or turn the wheel to zoom;", told);
  place.append(tools, canvas);

  let most = 0;
  for (const cell of map.cells) if (cell > most) most = cell;
  function colour(cell) {
    if (!(cell > 0)) return map.stops[0];
    const last = map.stops.length - 1;
    const at = (0.12 + 0.88 * Math.log1p(cell) / Math.log1p(most)) * last;
    const low = Math.min(Math.floor(at), last - 1);
    return map.stops[low].map((from, i) => from + (map.stops[low + 1][i] - from) * (at - low));
  }
  const picture = document.createElement("canvas");
  picture.width = map.columns;
  picture.height = map.rows;
  const pixels = picture.getContext("2d").createImageData(map.columns, map.rows);
  map.cells.forEach((cell, i) => {
    const row = map.rows - 1 - Math.floor(i / map.columns);
    const to = (row * map.columns + i % map.columns) * 4;
    const [red, green, blue] = colour(cell);
    pixels.data.set([red, green, blue, 255], to);
  });
  picture.getContext("2d").putImageData(pixels, 0, 0);

  const inner = () => ({
    width: canvas.clientWidth - room.left - room.right,
    height: canvas.clientHeight - room.top - room.bottom,
  });
  const unit = (range, at, parts) => range[0] + (range[1] - range[0]) * at / parts;
  const toX = (column) => room.left + (column - view.x0) / (view.x1 - view.x0) * inner().width;
  const toY = (row) =>
    room.top + (1 - (row - view.y0) / (view.y1 - view.y0)) * inner().height;
  const column = (x) => view.x0 + (x - room.left) / inner().width * (view.x1 - view.x0);
  const row = (y) => view.y0 + (1 - (y - room.top) / inner().height) * (view.y1 - view.y0);

  function ticks(from, to, count) {
    const rough = Math.max((to - from) / count, 1e-9);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((s) => s * power).find((s) => s >= rough);
    const found = [];
    for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) found.push(tick);
    return found;
  }

  function axes(pen, size) {
    pen.fillStyle = pen.strokeStyle = "#111";
    pen.font = "12px sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "top";
    const bottom = room.top + size.height;
    pen.strokeRect(room.left - 0.5, room.top - 0.5, size.width + 1, size.height + 1);
    const ends = (range, from, to, parts) => [unit(range, from, parts), unit(range, to, parts)];
    const [x0, x1] = ends(map.xRange, view.x0, view.x1, map.columns);
    for (const tick of ticks(x0, x1, 8)) {
      const x = room.left + (tick - x0) / (x1 - x0) * size.width;
      pen.fillRect(x, bottom, 1, 5);
      pen.fillText(farsideShort(tick), x, bottom + 8);
    }
    pen.fillText(map.x, room.left + size.width / 2, bottom + 28);
    const [y0, y1] = ends(map.yRange, view.y0, view.y1, map.rows);
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (const tick of ticks(y0, y1, 8)) {
      const y = bottom - (tick - y0) / (y1 - y0) * size.height;
      pen.fillRect(room.left - 6, y, 5, 1);
      pen.fillText(farsideShort(tick), room.left - 10, y);
    }
    pen.save();
    pen.translate(14, room.top + size.height / 2);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = "center";
    pen.fillText(map.y, 0, 0);
    pen.restore();
  }

  function fitted(pen, name, width) {
    if (pen.measureText(name).width <= width) return name;
    let from = 1;
    while (from < name.length && pen.measureText("…" + name.slice(from)).width > width) from++;
    return "…" + name.slice(from);
  }

  function names(pen, size) {
    const right = room.left + size.width;
    const taken = [];
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    const bands = map.labels.map(([first, rows, name]) => {
      const low = Math.max(first, view.y0);
      const high = Math.min(first + rows, view.y1);
      return { low, high, name };
    }).filter((band) => band.high > band.low);
    bands.sort((a, b) => (b.high - b.low) - (a.high - a.low));
    for (const { low, high, name } of bands) {
      pen.fillStyle = "rgba(0,0,0,0.3)";
      for (const edge of [low, high]) pen.fillRect(room.left, toY(edge), size.width + 6, 0.5);
      const y = (toY(low) + toY(high)) / 2;
      if (taken.some((other) => Math.abs(other - y) < 13)) continue;
      taken.push(y);
      pen.fillStyle = "#111";
      pen.fillText(fitted(pen, name, room.right - 14), right + 10, y);
    }
  }

  function draw() {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = canvas.clientWidth * ratio;
    canvas.height = canvas.clientHeight * ratio;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.fillStyle = "#fff";
    pen.fillRect(0, 0, canvas.clientWidth, canvas.clientHeight);
    const size = inner();
    pen.imageSmoothingEnabled = false;
    pen.drawImage(picture, view.x0, map.rows - view.y1, view.x1 - view.x0, view.y1 - view.y0,
      room.left, room.top, size.width, size.height);
    axes(pen, size);
    names(pen, size);
    if (drag) {
      pen.strokeStyle = "#0072b2";
      pen.setLineDash([4, 3]);
      pen.strokeRect(drag.x0, drag.y0, drag.x1 - drag.x0, drag.y1 - drag.y0);
    }
  }

  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
  function look(x0, x1, y0, y1) {
    const width = clamp(x1 - x0, 2, map.columns);
    const height = clamp(y1 - y0, 2, map.rows);
    view.x0 = clamp(x0, 0, map.columns - width);
    view.y0 = clamp(y0, 0, map.rows - height);
    view.x1 = view.x0 + width;
    view.y1 = view.y0 + height;
    draw();
  }

  function tell(x, y) {
    const at = [Math.floor(column(x)), Math.floor(row(y))];
    const [i, j] = at;
    if (i < view.x0 - 1 || i >= view.x1 || j < view.y0 - 1 || j >= view.y1 || i < 0 || j < 0) {
      told.textContent = "";
      return;
    }
    const range = (ends, part, parts) =>
      [part, part + 1].map((p) => farsideNumber(Math.ceil(unit(ends, p, parts)))).join(" to ");
    const found = map.labels.filter(([first, rows]) => j >= first && j < first + rows);
    const name = found.length ? " (" + found.map((label) => label[2]).join(", ") + ")" : "";
    told.textContent = `${map.x} ${range(map.xRange, i, map.columns)}, ` +
      `${map.y} ${range(map.yRange, j, map.rows)}${name}: ` +
      `${farsideNumber(map.cells[j * map.columns + i])} ${map.unit}`;
  }

  canvas.addEventListener("pointerdown", (event) => {
    const { offsetX: x, offsetY: y } = event;
    drag = { x0: x, y0: y, x1: x, y1: y };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    tell(event.offsetX, event.offsetY);
    if (drag) {
      drag.x1 = event.offsetX;
      drag.y1 = event.offsetY;
      draw();
    }
  });
  canvas.addEventListener("pointerup", () => {
    const box = drag;
    drag = null;
    if (box && Math.abs(box.x1 - box.x0) > 5 && Math.abs(box.y1 - box.y0) > 5) {
      const xs = [column(box.x0), column(box.x1)].sort((a, b) => a - b);
      const ys = [row(box.y0), row(box.y1)].sort((a, b) => a - b);
      look(xs[0], xs[1], ys[0], ys[1]);
    } else {
      draw();
    }
  });
  canvas.addEventListener("dblclick", () => { view = { ...all }; draw(); });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const factor = event.deltaY < 0 ? 0.8 : 1.25;
    const [x, y] = [column(event.offsetX), row(event.offsetY)];
    look(x - (x - view.x0) * factor, x + (view.x1 - x) * factor,
      y - (y - view.y0) * factor, y + (view.y1 - y) * factor);
  }, { passive: false });
  window.addEventListener("resize", draw);
  draw();
}
