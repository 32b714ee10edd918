// curve.js - how one trial learned: its scores at the rungs it reached, and its validation loss by step where the fit
// recorded one. Small pictures of a few points, so SVG; the numbers stand beside them as text.

import { h, s } from './dom.js';
import { clamp, count, decimalsFor, fixed } from './format.js';

const W = 420, H = 132, L = 50, R = 12, T = 10, B = 24;

function frame(points, name, xText) {
  const xs = points.map((p) => p.x), ys = points.map((p) => p.y);
  const lo = Math.min(...ys), hi = Math.max(...ys), left = Math.min(...xs), right = Math.max(...xs);
  const x = (v) => L + (W - L - R) * (right > left ? (v - left) / (right - left) : 0.5);
  const y = (v) => T + (H - T - B) * (hi > lo ? 1 - (v - lo) / (hi - lo) : 0.5);
  const d = clamp(decimalsFor(Math.max(Math.abs(lo), Math.abs(hi)), hi - lo), 0, 5);
  const svg = s('svg', { class: 'curve', viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label': name });
  for (const v of hi > lo ? [lo, hi] : [lo]) {
    svg.append(s('line', { class: 'c-grid', x1: L, x2: W - R, y1: y(v), y2: y(v) }),
      s('text', { class: 'c-text', x: L - 7, y: y(v) + 4, 'text-anchor': 'end' }, fixed(v, d)));
  }
  for (const v of right > left ? [left, right] : [left]) {
    svg.append(s('text', { class: 'c-text', x: x(v), y: H - 6, 'text-anchor': v === left && right > left ? 'start' : right > left ? 'end' : 'middle' }, xText(v)));
  }
  return { svg, x, y };
}

function path(points, f) {
  return points.map((p, i) => `${i ? 'L' : 'M'}${f.x(p.x).toFixed(1)} ${f.y(p.y).toFixed(1)}`).join('');
}

/** Scores at rungs: a vertical line per rung, the last one where the trial stands. */
function rungs(trial) {
  const points = (trial.reports || []).map((r) => ({ x: r.level, y: r.value, se: r.se })).filter((p) => Number.isFinite(p.y));
  if (Number.isFinite(trial.score) && !points.some((p) => p.x === trial.level)) points.push({ x: trial.level, y: trial.score, se: trial.se });
  if (points.length < 2) return null;
  const words = points.map((p) => `level ${p.x}: ${fixed(p.y, decimalsFor(p.y, p.se))}`).join(', ');
  const f = frame(points, `Score at each rung. ${words}`, (v) => `level ${v}`);
  for (const p of points) f.svg.append(s('line', { class: 'c-rung', x1: f.x(p.x), x2: f.x(p.x), y1: T, y2: H - B }));
  f.svg.append(s('path', { class: 'c-line', d: path(points, f) }));
  for (const p of points) f.svg.append(s('circle', { class: 'c-dot', cx: f.x(p.x), cy: f.y(p.y), r: 3.2 }, s('title', {}, `level ${p.x}: ${fixed(p.y, decimalsFor(p.y, p.se))}`)));
  return h('figure', {}, h('figcaption', {}, 'Score at each rung'), f.svg);
}

function steps(trial) {
  const points = (trial.info?.curve || []).map(([x, y]) => ({ x, y })).filter((p) => Number.isFinite(p.y));
  if (points.length < 3) return null;
  const best = points.reduce((a, b) => (b.y < a.y ? b : a));
  const f = frame(points, `Validation loss by step, from ${fixed(points[0].y, 4)} to ${fixed(best.y, 4)} at step ${count(best.x)}`, (v) => `step ${count(v)}`);
  f.svg.append(s('line', { class: 'c-rung', x1: f.x(best.x), x2: f.x(best.x), y1: T, y2: H - B }),
    s('path', { class: 'c-line', d: path(points, f) }), s('circle', { class: 'c-dot', cx: f.x(best.x), cy: f.y(best.y), r: 3.2 }));
  return h('figure', {}, h('figcaption', {}, 'Validation loss by step'), f.svg);
}

/** What of a trial's answer is worth a picture, or null. */
export function curvesOf(trial) {
  const all = [rungs(trial), steps(trial)].filter(Boolean);
  return all.length ? h('div', { class: 'curves' }, all) : null;
}
