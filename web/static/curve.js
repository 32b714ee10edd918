// curve.js - two small charts of how one trial learned: its scores at the rungs it reached, and its
// validation score by step if the fit recorded one. The second chart uses the metric by which the
// engine chose the step. Each chart has few points and is therefore an SVG. The numbers are also
// given as text.

import {h, s} from './dom.js';
import {clamp, count, decimalsFor, fixed} from './format.js';
import {curveMetric, metricName} from './metrics.js';

const W = 420, H = 132, L = 56, R = 12, T = 10, B = 24;

/** Where a vertical line of a chart begins and ends. */
export const span = {
  y1: T,
  y2: H - B
};

/**
 * Draws the frame of a chart. `yText` formats its values; without it all have the same decimals.
 */
export function frame(points, name, xText, yText = null) {
  const xs = points.map((p) => p.x), ys = points.map((p) => p.y);
  const lo = Math.min(...ys), hi = Math.max(...ys), left = Math.min(...xs), right = Math.max(...xs);
  const x = (v) => L + (W - L - R) * (right > left ? (v - left) / (right - left) : 0.5);
  const y = (v) => T + (H - T - B) * (hi > lo ? 1 - (v - lo) / (hi - lo) : 0.5);
  const d = clamp(decimalsFor(Math.max(Math.abs(lo), Math.abs(hi)), hi - lo), 0, 5);
  const svg =
      s('svg', { class: 'curve', viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label': name });
  for (const v of hi > lo ? [lo, hi] : [lo]) {
    svg.append(
        s('line', { class: 'c-grid', x1: L, x2: W - R, y1: y(v), y2: y(v) }),
        s('text', { class: 'c-text', x: L - 7, y: y(v) + 4, 'text-anchor': 'end' },
          yText ? yText(v) : fixed(v, d)));
  }
  for (const v of right > left ? [left, right] : [left]) {
    svg.append(
        s('text', {
          class: 'c-text',
          x: x(v),
          y: H - 6,
          'text-anchor': v === left && right > left ? 'start' :
              right > left                          ? 'end' :
                                                      'middle'
        },
          xText(v)));
  }
  return { svg, x, y };
}

export function path(points, f) {
  return points.map((p, i) => `${i ? 'L' : 'M'}${f.x(p.x).toFixed(1)} ${f.y(p.y).toFixed(1)}`)
      .join('');
}

/** Returns the scores of a trial by level: those it reported at rungs, and its present score. */
export function rungPoints(trial) {
  const points = (trial.reports || [])
                     .map((r) => ({ x: r.level, y: r.value, se: r.se }))
                     .filter((p) => Number.isFinite(p.y));
  if (Number.isFinite(trial.score) && !points.some((p) => p.x === trial.level))
    points.push({ x: trial.level, y: trial.score, se: trial.se });
  return points.sort((a, b) => a.x - b.x);
}

/**
 * Returns the points of a fit by step, the name and direction of their metric, and the point at
 * which the model was taken. That is the step that the engine reports (info.steps). If this step is
 * not among the points, the best point is returned.
 */
export function stepPoints(trial, study) {
  const points =
      (trial.info?.curve || []).map(([x, y]) => ({ x, y })).filter((p) => Number.isFinite(p.y));
  const { name, isLower } =
      curveMetric(study.metric, study.larger_is_better === false, points, trial.select);
  const best =
      points.reduce((a, b) => (a === null || (isLower ? b.y < a.y : b.y > a.y) ? b : a), null);
  return { points, name, isLower, best: points.find((p) => p.x === trial.info?.steps) || best };
}

/** Draws the scores at rungs with a vertical line for each rung. */
function rungs(trial, study) {
  const points = rungPoints(trial), name = metricName(study.metric);
  if (points.length < 2) return null;
  const words = points.map((p) => `level ${p.x}: ${fixed(p.y, decimalsFor(p.y, p.se))}`).join(', ');
  const f = frame(points, `${name} at each rung. ${words}`, (v) => `level ${v}`);
  for (const p of points)
    f.svg.append(s('line', { class: 'c-rung', x1: f.x(p.x), x2: f.x(p.x), y1: T, y2: H - B }));
  f.svg.append(s('path', { class: 'c-line', d: path(points, f) }));
  for (const p of points)
    f.svg.append(
        s('circle', { class: 'c-dot', cx: f.x(p.x), cy: f.y(p.y), r: 3.2 },
          s('title', {}, `level ${p.x}: ${fixed(p.y, decimalsFor(p.y, p.se))}`)));
  return h('figure', {}, h('figcaption', {}, `${name} at each rung`), f.svg);
}

function steps(trial, study) {
  const { points, name, best } = stepPoints(trial, study);
  if (points.length < 3) return null;
  const f = frame(
      points,
      `${name} on validation rows by step, from ${fixed(points[0].y, 4)} to ${
          fixed(best.y, 4)} at step ${count(best.x)}, where the model was taken`,
      (v) => `step ${count(v)}`);
  f.svg.append(
      s('line', { class: 'c-rung', x1: f.x(best.x), x2: f.x(best.x), y1: T, y2: H - B }),
      s('path', { class: 'c-line', d: path(points, f) }),
      s('circle', { class: 'c-dot', cx: f.x(best.x), cy: f.y(best.y), r: 3.2 }));
  return h('figure', {}, h('figcaption', {}, `${name} on validation rows by step`), f.svg);
}

/**
 * Returns the charts for a trial as the API gives it, or null if there is nothing to draw. The
 * epochs of a network have charts of their own (epochs.js).
 */
export function curvesOf(trial, study) {
  const all = [rungs(trial, study), trial.epochs ? null : steps(trial, study)].filter(Boolean);
  return all.length ? h('div', { class: 'curves' }, all) : null;
}
