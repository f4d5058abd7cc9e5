// Lines that can be zoomed (drag; double click for all) and say their values under the pointer.
"use strict";
function farsideNumber(value) {
  if (value == null) return "";
  return Number.isInteger(value) ? value.toLocaleString("en") : Number(value.toPrecision(6)).toString();
}

function farsideShort(value) {
  const size = Math.abs(value);
  const units = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]];
  for (const [least, unit] of units) {
    if (size >= least) {
      return Number((value / (unit === "k" ? 1e3 : least)).toPrecision(4)) + unit;
    }
  }
  return Number(value.toPrecision(4)).toLocaleString("en");
}

function farsideButton(text, pressed, act) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text;
  button.setAttribute("aria-pressed", String(pressed));
  button.addEventListener("click", () => act(button));
  return button;
}

function farsideLines(place, chart) {
  const tools = document.createElement("div");
  tools.className = "tools";
  const box = document.createElement("div");
  place.append(tools, box);
  const logs = { x: chart.xLog, y: chart.yLog };
  let plot = null;

  // Of samples the nearest one; else the last value at or before the pointer, as steps hold until the next.
  const nearest = (self, series, hovered, at) => {
    if (series === 0) return hovered;
    const [xs, values] = [self.data[0], self.data[series]];
    let [low, high] = [hovered, hovered];
    while (low >= 0 && values[low] == null) low--;
    while (high < values.length && values[high] == null) high++;
    if (low < 0) return high < values.length ? high : null;
    if (high >= values.length || !chart.series[series - 1].samples) return low;
    return at - xs[low] <= xs[high] - at ? low : high;
  };

  function draw() {
    if (plot) plot.destroy();
    const shown = (series) => {
      const keep = series.x.map((x, i) => (!logs.x || x > 0) && (!logs.y || series.y[i] > 0));
      return [series.x.filter((_, i) => keep[i]), series.y.filter((_, i) => keep[i])];
    };
    const data = uPlot.join(chart.series.map(shown));
    const axis = (label, size) => ({
      label, size, stroke: "#111", grid: { stroke: "#ddd", width: 1 }, font: "12px sans-serif",
      labelFont: "12px sans-serif",
      values: (self, ticks) => ticks.map((tick) => (tick == null ? "" : farsideShort(tick))),
    });
    const options = {
      width: place.clientWidth || 900,
      height: 420,
      cursor: { dataIdx: nearest, drag: { x: true, y: true, uni: 20 } },
      scales: {
        x: { time: false, distr: logs.x ? 3 : 1 },
        y: { distr: logs.y ? 3 : 1, range: logs.y ? undefined : (self, low, high) =>
          [Math.min(0, low), high > 0 ? high * 1.03 : 1] },
      },
      axes: [axis(chart.x, 50), axis(chart.y, 70)],
      series: [{ label: chart.x, value: (self, value) => farsideNumber(value) }].concat(
        chart.series.map((series) => ({
          label: series.name, stroke: series.colour, width: 1.75, dash: series.dash, spanGaps: true,
          points: { show: series.samples, size: 6 },
          paths: chart.steps && !series.samples ? uPlot.paths.stepped({ align: 1 }) : undefined,
          value: (self, value) => farsideNumber(value),
        }))),
    };
    plot = new uPlot(options, data, box);
  }

  for (const side of ["x", "y"]) {
    tools.append(farsideButton("log " + side, logs[side], (button) => {
      logs[side] = !logs[side];
      button.setAttribute("aria-pressed", String(logs[side]));
      draw();
    }));
  }
  tools.append("drag to zoom, double click for all; click a name to hide its line");
  draw();
  window.addEventListener("resize", () => plot.setSize({ width: place.clientWidth, height: 420 }));
}
