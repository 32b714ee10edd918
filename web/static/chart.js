// chart.js - the chart of all scores by trial number, with the best score so far as a step line. It
// is drawn on a canvas because it must show 100,000 points; points that would cover each other are
// left out. The colours come from the style sheet. The canvas has a label in words for screen
// readers. Scores that are far worse than the good ones are drawn as arrows at the edge, so that
// the scale does not have to include them.

import {h, setText} from './dom.js';
import {clamp, count, decimalsFor, fixed} from './format.js';
import {axisOf, placeOf, thin, ticksOf} from './scale.js';

const HEIGHT = 168, LEFT = 58, RIGHT = 14, TOP = 12, BOTTOM = 26;
const FAMILIES = 8, MANY = 4000;
export const BEYOND = 14;

/** Reads the colours of the style sheet for use on a canvas. */
export function chartColours() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(name).trim();
  return {
    ink: get('--ink'),
    quiet: get('--quiet'),
    line: get('--line'),
    accent: get('--accent'),
    surface: get('--surface'),
    series: Array.from({ length: FAMILIES }, (_, i) => get(`--series-${i + 1}`))
  };
}

export function sizeCanvas(canvas, box, height) {
  const width = box.clientWidth, ratio = window.devicePixelRatio || 1, g = canvas.getContext('2d');
  if (!width) return { g, width };
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  g.scale(ratio, ratio);
  return { g, width };
}

/** Prepares a canvas context for axes: thin lines, and small text to the left of them. */
export function areaPen(g, c) {
  g.font = '11.5px system-ui, sans-serif';
  g.fillStyle = c.quiet;
  g.strokeStyle = c.line;
  g.lineWidth = 1;
  g.textAlign = 'right';
  g.textBaseline = 'middle';
}

/** Draws a disc, or for a score beyond the scale a small arrow that points away from the scale. */
export function mark(g, x, y, r, isOut, isLower) {
  const sign = isLower ? -1 : 1;
  g.beginPath();
  if (!isOut) {
    g.arc(x, y, r, 0, 7);
  } else {
    g.moveTo(x - r - 1, y - sign * r);
    g.lineTo(x + r + 1, y - sign * r);
    g.lineTo(x, y + sign * r);
    g.closePath();
  }
  g.fill();
}

/** Returns the point that is nearest to the pointer, or null if none is within 30 px. */
export function nearest(canvas, event, points, px, py) {
  const r = canvas.getBoundingClientRect(), x = event.clientX - r.left, y = event.clientY - r.top;
  let near = null, least = 30 * 30;
  for (const p of points) {
    const d = (px(p) - x) ** 2 + (py(p) - y) ** 2;
    if (d < least) near = p, least = d;
  }
  return near;
}

export function makeChart() {
  const canvas = h('canvas', { role: 'img', 'aria-label': 'Best score so far' });
  const tip = h('div', { class: 'tip', hidden: true });
  const legend = h('p', { class: 'legend' });
  const box = h('div', { class: 'chart' }, canvas, tip);
  let points = [], isLower = false, hover = null, families = [], map = null;

  function layout(width) {
    const axis = axisOf(points, isLower), last = Math.max(2, points[points.length - 1].number);
    const m = {
      axis,
      last,
      width,
      x: (n) => LEFT + (width - LEFT - RIGHT) * (n - 1) / (last - 1),
      y: placeOf(axis, points, isLower, { top: TOP, bottom: HEIGHT - BOTTOM, beyond: BEYOND })
    };
    m.drawn = points.length > MANY ? thin(points, (p) => m.x(p.number), (p) => m.y(p.score), 1.5) :
                                     points;
    return m;
  }

  function axes(g, c, m) {
    const xs = ticksOf(1, m.last, clamp(Math.floor(m.width / 110), 2, 8));
    areaPen(g, c);
    for (const v of m.axis.ticks) {
      const y = Math.round(m.y(v)) + 0.5;
      g.beginPath();
      g.moveTo(LEFT, y);
      g.lineTo(m.width - RIGHT, y);
      g.stroke();
      g.fillText(fixed(v, m.axis.decimals), LEFT - 8, y);
    }
    g.textAlign = 'center';
    g.textBaseline = 'alphabetic';
    for (const n of xs.out)
      if (Number.isInteger(n) && n >= 1) g.fillText(count(n), m.x(n), HEIGHT - 7);
  }

  function bestLine(g, c, m) {
    const lower = isLower;
    let best = null;
    g.strokeStyle = c.accent;
    g.lineWidth = 2;
    g.lineJoin = 'round';
    g.beginPath();
    for (const p of points) {
      if (best !== null && (lower ? p.score >= best : p.score <= best)) continue;
      if (best === null)
        g.moveTo(m.x(p.number), m.y(p.score));
      else {
        g.lineTo(m.x(p.number), m.y(best));
        g.lineTo(m.x(p.number), m.y(p.score));
      }
      best = p.score;
    }
    g.lineTo(m.x(m.last), m.y(best));
    g.stroke();
  }

  function dots(g, c, m) {
    const r = points.length > 3000 ? 1.4 : points.length > 500 ? 2 : 2.8;
    g.globalAlpha = points.length > 500 ? 0.5 : 0.8;
    const one = (p, size) => {
      g.fillStyle = c.series[families.indexOf(p.family) % FAMILIES];
      mark(g, m.x(p.number), m.y(p.score), size, m.axis.isOut(p.score), isLower);
    };
    for (const p of m.drawn) one(p, r);
    g.globalAlpha = 1;
    if (!hover) return;
    g.strokeStyle = c.ink;
    g.lineWidth = 1.5;
    one(hover, r + 2.5);
    g.stroke();
  }

  function draw() {
    const { g, width } = sizeCanvas(canvas, box, HEIGHT);
    if (!width || !points.length) return;
    const c = chartColours();
    if (map?.of !== points || map.width !== width) map = {...layout(width), of: points };
    axes(g, c, map);
    dots(g, c, map);
    bestLine(g, c, map);
  }

  function onMove(e) {
    if (!map || !points.length) return;
    const near = nearest(canvas, e, map.drawn, (p) => map.x(p.number), (p) => map.y(p.score));
    if (near === hover) return;
    hover = near;
    tip.hidden = !near;
    if (near) {
      setText(
          tip,
          `#${near.number} ${near.family} ${fixed(near.score, decimalsFor(near.score, near.se))}`);
      tip.style.left = `${clamp(map.x(near.number), 70, map.width - 70)}px`;
      tip.style.top = `${map.y(near.score)}px`;
    }
    draw();
  }

  canvas.addEventListener('pointermove', onMove);
  canvas.addEventListener('pointerleave', () => {
    hover = null;
    tip.hidden = true;
    draw();
  });
  const resized = new ResizeObserver(draw);
  resized.observe(box);
  const dark = matchMedia('(prefers-color-scheme: dark)');
  dark.addEventListener('change', draw);

  return {
    box,
    legend,
    update(rows, lowerIsBetter) {
      isLower = lowerIsBetter;
      points = rows.filter((r) => Number.isFinite(r.score)).sort((a, b) => a.number - b.number);
      const names = [...new Set(points.map((p) => p.family))].sort();
      if (names.join() !== families.join()) {
        families = names;
        legend.replaceChildren(...families.map((f, i) => {
          const dot = h('i', { 'aria-hidden': 'true', class: `series-${i % FAMILIES + 1}` });
          return h('span', {}, dot, f);
        }));
      }
      const lower = isLower,
            best = points.reduce(
                (b, p) => (b === null || (lower ? p.score < b.score : p.score > b.score) ? p : b),
                null);
      canvas.setAttribute(
          'aria-label',
          best ? `Score by trial number for ${count(points.length)} trials; the best is ${
                     fixed(best.score, decimalsFor(best.score, best.se))} by trial ${
                     best.number}, ${best.family}` :
                 'No scores yet');
      draw();
    },
    stop() {
      resized.disconnect();
      dark.removeEventListener('change', draw);
    },
  };
}
