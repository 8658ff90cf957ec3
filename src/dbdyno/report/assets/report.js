/* Draws the time series of a report with uPlot; the data are in the page. No network, no framework. */
(function () {
  "use strict";
  var THIN = "\u202f", HARD = "\u00a0";
  var data = JSON.parse(document.getElementById("data").textContent);
  var plots = [];

  function css(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
  function color(index) { return css("--c" + index); }

  function group(text) {
    var parts = text.split(".");
    parts[0] = parts[0].replace(/\B(?=(\d{3})+(?!\d))/g, THIN);
    return parts.join(".").replace("-", "\u2212");
  }
  function digits(value, count) {
    if (value === 0) return "0";
    var places = count - 1 - Math.floor(Math.log10(Math.abs(value)));
    if (places <= 0) { var power = Math.pow(10, -places); return group(String(Math.round(value / power) * power)); }
    return group(String(Number(value.toFixed(Math.min(places, 12)))));
  }
  function scaled(value, steps, base) {
    var step = 0;
    while (Math.abs(value) >= base * 0.9995 && step < steps.length - 1) { value /= base; step += 1; }
    return digits(value, 3) + HARD + steps[step];
  }
  function words(value, unit) {
    if (value == null) return "\u2013";
    if (unit === "bytes") return scaled(value, ["B", "KiB", "MiB", "GiB", "TiB"], 1024);
    if (unit === "bytes/s") return scaled(value, ["B/s", "KiB/s", "MiB/s", "GiB/s"], 1024);
    if (unit === "%") return digits(value, 3) + HARD + "%";
    if (unit === "ms") return digits(value, 3) + HARD + "ms";
    return digits(value, 3) + (unit ? HARD + unit : "");
  }
  function axisWords(value, unit) {
    if (value == null) return "";
    if (unit === "bytes" || unit === "bytes/s") return value === 0 ? "0" : scaled(value, ["B", "KiB", "MiB", "GiB", "TiB"], 1024).replace(HARD, THIN);
    if (Math.abs(value) >= 1e6) return digits(value / 1e6, 3) + THIN + "M";
    if (Math.abs(value) >= 1e5) return digits(value / 1e3, 3) + THIN + "k";
    return digits(value, 4);
  }
  function two(value) { return (value < 10 ? "0" : "") + value; }
  function clock(t) {
    var sign = t < 0 ? "\u2212" : "", s = Math.abs(t), h = Math.floor(s / 3600), m = Math.floor(s % 3600 / 60), r = Math.round(s % 60 * 10) / 10;
    if (h) return sign + h + ":" + two(m) + ":" + two(Math.floor(r));
    return sign + m + ":" + two(r);
  }
  var BYTES = [];
  for (var power = 0; power < 45; power += 1) BYTES.push(Math.pow(2, power));

  function mean(values) {
    var total = 0, count = 0;
    values.forEach(function (v) { if (v != null) { total += v; count += 1; } });
    return count ? total / count : null;
  }
  /* A value between two gaps has no line to be part of: it is shown as a point, or it would not be seen at all. */
  function lonely(u, index, show) {
    var values = u.data[index], found = [];
    if (show) return null;
    values.forEach(function (v, i) { if (v != null && values[i - 1] == null && values[i + 1] == null) found.push(i); });
    return found.length ? found : null;
  }
  function series(chart) {
    var list = [{ label: "time", value: function (u, v) { return v == null ? "mean" : clock(v); } }], bands = [], columns = [chart.x];
    chart.lines.forEach(function (line) {
      var index = list.length, whole = mean(line.values);
      list.push({
        label: line.label, scale: "y", width: 1.6, spanGaps: false,
        stroke: function () { return color(line.color); },
        dash: line.dash ? [6, 4] : undefined,
        points: { show: chart.x.length < 3 ? true : undefined, size: 4, filter: lonely, fill: function () { return color(line.color); } },
        fill: chart.fill ? function () { return color(line.color) + "22"; } : undefined,
        value: function (u, v, si, idx) { return words(idx == null ? whole : v, chart.unit); }
      });
      columns.push(line.values);
      if (line.low && line.low.length) {
        [line.high, line.low].forEach(function (values) {
          list.push({ label: "envelope", class: "hide", scale: "y", width: 0, stroke: "transparent", points: { show: false } });
          columns.push(values);
        });
        bands.push({ series: [index + 1, index + 2], fill: function () { return color(line.color) + "33"; } });
      }
    });
    return { list: list, bands: bands, columns: columns };
  }

  function marks(chart) {
    return function (u) {
      if (!chart.marks || !chart.marks.length) return;
      var c = u.ctx, box = u.bbox, ratio = window.devicePixelRatio || 1;
      c.save();
      c.beginPath(); c.rect(box.left, box.top, box.width, box.height); c.clip();
      var free = -1e9;
      chart.marks.forEach(function (mark) {
        var x = Math.round(u.valToPos(mark.t_s, "x", true));
        c.strokeStyle = color(mark.color); c.globalAlpha = mark.kind === "phase" ? 0.85 : 0.6; c.lineWidth = ratio * (mark.kind === "phase" ? 1 : 1.4);
        c.setLineDash(mark.kind === "phase" ? [2 * ratio, 3 * ratio] : mark.kind === "forced" ? [] : [7 * ratio, 4 * ratio]);
        c.beginPath(); c.moveTo(x, box.top); c.lineTo(x, box.top + box.height); c.stroke();
        if (mark.kind === "phase" && mark.label && chart.tall && x > free) {
          c.globalAlpha = 1; c.fillStyle = css("--soft"); c.font = (11.5 * ratio) + "px " + css("--sans"); c.textAlign = "left"; c.textBaseline = "top";
          c.fillText(mark.label, x + 4 * ratio, box.top + 3 * ratio);
          free = x + 10 * ratio + c.measureText(mark.label).width;
        } else if (mark.kind !== "phase") {
          c.globalAlpha = 0.9; c.fillStyle = color(mark.color);
          c.beginPath(); c.moveTo(x - 4 * ratio, box.top); c.lineTo(x + 4 * ratio, box.top); c.lineTo(x, box.top + 6 * ratio); c.fill();
        }
      });
      c.restore();
    };
  }

  function options(chart, parts, width) {
    var phone = width < 520, bytes = chart.unit === "bytes" || chart.unit === "bytes/s";
    var axis = { stroke: function () { return css("--soft"); }, font: "12px " + css("--sans"), labelFont: "12px " + css("--sans"),
      grid: { stroke: function () { return css("--hair"); }, width: 1 }, ticks: { stroke: function () { return css("--line"); }, width: 1, size: 4 } };
    return {
      width: width, height: chart.tall ? (phone ? 250 : 290) : (phone ? 180 : 170), pxAlign: true, padding: [10, 20, 0, 0],
      cursor: { sync: { key: chart.group, scales: ["x", null] }, drag: { x: true, y: false, uni: 30 }, points: { size: 6 } },
      legend: { live: true, markers: { width: 2, stroke: function (u, i) { var line = parts.owners[i]; return line ? "var(--c" + line.color + ")" : "transparent"; },
        fill: function () { return "transparent"; }, dash: function (u, i) { var line = parts.owners[i]; return line && line.dash ? "dashed" : "solid"; } } },
      scales: { x: { time: false, range: function (u, low, high) {
        /* All charts of a group begin and end together, whatever their own first and last points are. */
        var x = u.data[0], all = spans[chart.group];
        return low == null || (low === x[0] && high === x[x.length - 1]) ? all : [low, high]; } }, y: { range: function (u, low, high) {
        if (low == null) return [0, 1];
        if (chart.floor != null) { var room = Math.max((high - low) * 0.08, Math.abs(high) * 1e-4, 1e-3); return [low - room, high + room]; }
        return [Math.min(0, low), high > 0 ? high * 1.08 : 1]; } } },
      series: parts.list, bands: parts.bands, hooks: { draw: [marks(chart)] },
      axes: [
        Object.assign({}, axis, { values: function (u, list) { return list.map(clock); }, incrs: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 36000], space: phone ? 46 : 60,
          size: chart.last ? 44 : 28, label: chart.last ? "time since start (min:s)" : undefined, labelSize: chart.last ? 18 : 0 }),
        Object.assign({}, axis, { scale: "y", size: phone ? 54 : 72, space: 30, label: phone ? undefined : chart.axis, labelSize: phone ? 0 : 20, incrs: bytes ? BYTES : undefined,
          values: function (u, list) { return list.map(function (v) { return axisWords(v, chart.unit); }); } })
      ]
    };
  }

  var spans = {};
  data.charts.forEach(function (chart) {
    if (!chart.x.length) return;
    var low = chart.x[0], high = chart.x[chart.x.length - 1], span = spans[chart.group];
    (chart.marks || []).forEach(function (mark) { low = Math.min(low, mark.t_s); });
    spans[chart.group] = span ? [Math.min(low, span[0]), Math.max(high, span[1])] : [low, high > low ? high : low + 1];
  });

  function draw(chart) {
    var place = document.getElementById(chart.id);
    if (!place || !chart.x.length) return;
    var parts = series(chart);
    parts.owners = [null];
    chart.lines.forEach(function (line) { parts.owners.push(line); if (line.low && line.low.length) parts.owners.push(null, null); });
    var plot = new uPlot(options(chart, parts, place.clientWidth), parts.columns, place);
    plots.push({ plot: plot, place: place, chart: chart });
    place.dataset.drawn = String(chart.x.length);
    place.tabIndex = 0;
    place.addEventListener("keydown", function (event) {
      var step = event.shiftKey ? 10 : 1, last = chart.x.length - 1, now = plot.cursor.idx == null ? -1 : plot.cursor.idx;
      if (event.key === "Escape") { plots.forEach(function (item) { if (item.chart.group === chart.group) item.plot.setScale("x", { min: spans[chart.group][0], max: spans[chart.group][1] }); }); return; }
      if (event.key === "ArrowRight") now = Math.min(last, now + step);
      else if (event.key === "ArrowLeft") now = Math.max(0, now - step);
      else return;
      event.preventDefault();
      plot.setCursor({ left: plot.valToPos(chart.x[now], "x"), top: 10 }, true, true);
    });
  }

  function redraw() { plots.forEach(function (item) { item.plot.redraw(true, true); }); }
  function resize() {
    plots.forEach(function (item) {
      var width = item.place.clientWidth;
      if (width && Math.abs(width - item.plot.width) > 1) item.plot.setSize({ width: width, height: item.plot.height });
    });
  }
  function tips() {
    var tip = document.getElementById("tip");
    if (!tip) return;
    function show(node) {
      var box = node.getBoundingClientRect();
      tip.textContent = node.getAttribute("data-tip"); tip.style.display = "block";
      var left = Math.min(box.left + box.width / 2 + 10, document.documentElement.clientWidth - tip.offsetWidth - 8);
      tip.style.left = (Math.max(8, left) + window.scrollX) + "px"; tip.style.top = (box.top + window.scrollY - tip.offsetHeight - 8) + "px";
    }
    function hide() { tip.style.display = "none"; }
    document.querySelectorAll("[data-tip]").forEach(function (node) {
      node.addEventListener("mouseenter", function () { show(node); }); node.addEventListener("mouseleave", hide);
      node.addEventListener("focus", function () { show(node); }); node.addEventListener("blur", hide);
    });
  }
  function copies() {
    document.querySelectorAll("button[data-copy]").forEach(function (button) {
      button.addEventListener("click", function () {
        var node = document.getElementById(button.getAttribute("data-copy")), range = document.createRange(), chosen = window.getSelection();
        range.selectNodeContents(node); chosen.removeAllRanges(); chosen.addRange(range);
        var done = false;
        try { done = document.execCommand("copy"); } catch (error) { done = false; }
        var before = button.textContent;
        button.textContent = done ? "Copied" : "Selected";
        setTimeout(function () { button.textContent = before; }, 1500);
      });
    });
  }

  data.charts.forEach(draw);
  tips(); copies();
  if (window.ResizeObserver) new ResizeObserver(resize).observe(document.body);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  window.matchMedia("print").addEventListener("change", redraw);
  document.documentElement.dataset.ready = String(plots.length);
})();
