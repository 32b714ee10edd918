// scale.js - the scales of the charts: ticks, the axis of scores, and which scores are beyond it.
// All functions are pure. They are shared by both charts and the tests.

import {clamp} from './format.js';

export function niceStep(span, ticks) {
  const raw = span / ticks, base = 10 ** Math.floor(Math.log10(raw));
  return base * ([1, 2, 2.5, 5, 10].find((m) => m * base >= raw * (1 - 1e-12)) || 10);
}

/**
 * Returns about n round values from lo to hi, and the number of decimals that shows them exactly.
 */
export function ticksOf(lo, hi, n) {
  const step = niceStep(hi - lo || 1, n), first = Math.ceil(lo / step - 1e-9) + 0, out = [];
  for (let k = first; k * step <= hi + step * 1e-9; k++) out.push(k * step);
  const digits = Math.ceil(-Math.log10(step) - 1e-9) +
      (Math.abs(step / 10 ** Math.floor(Math.log10(step)) - 2.5) < 1e-9 ? 1 : 0);
  return { out, decimals: clamp(digits, 0, 9) };
}

/** Returns 1, 10, 100 ... between lo and hi, and values in between if the range is short. */
export function logTicks(lo, hi) {
  const out = [], within = hi / lo < 12 ? [1, 1.5, 2, 3, 5, 7] : hi / lo < 300 ? [1, 3] : [1];
  for (let e = Math.floor(Math.log10(lo)); 10 ** e <= hi; e++) {
    for (const m of within)
      if (m * 10 ** e >= lo && m * 10 ** e <= hi) out.push(m * 10 ** e);
  }
  return out;
}

/**
 * Returns the axis of scores. It reaches from the best score to the one at nine tenths of the
 * models. The baseline is not a model in this sense and may be beyond the axis at its worse end.
 * `isOut` tells whether a score is beyond that end.
 */
export function axisOf(points, isLower) {
  const models = points.filter((p) => p.family !== 'baseline');
  const by = Float64Array.from(models.length ? models : points, (p) => p.score).sort();
  if (!isLower) by.reverse();
  const best =
      points.reduce((b, p) => (isLower ? Math.min(b, p.score) : Math.max(b, p.score)), by[0]);
  let edge = by[Math.max(0, Math.ceil(by.length * 0.9) - 1)];
  if (edge === best) edge = by[by.length - 1];
  const pad = Math.abs(best - edge) * 0.12 || Math.abs(best) * 0.01 || 1;
  const [lo, hi] = isLower ? [best - pad, edge + pad] : [edge - pad, best + pad],
             ticks = ticksOf(lo, hi, 5);
  return {
    lo,
    hi,
    ticks: ticks.out,
    decimals: ticks.decimals,
    isOut: (v) => (isLower ? v > hi : v < lo)
  };
}

/**
 * Returns the function from a score to a height between `top` and `bottom`. If there are scores
 * beyond the axis, they are placed in a strip of `beyond` pixels at its worse end, so that they are
 * not mistaken for scores on the axis.
 */
export function placeOf(axis, points, isLower, {top, bottom, beyond}) {
  const room = points.some((p) => axis.isOut(p.score)) ? beyond : 0;
  const from = top + (isLower ? room : 0), to = bottom - (isLower ? 0 : room);
  return (v) =>
             (axis.isOut(v) ? (isLower ? top : bottom) :
                              from + (to - from) * (1 - (v - axis.lo) / (axis.hi - axis.lo)));
}

/**
 * Keeps only one of the points that fall into the same cell of `size` pixels. The order of the
 * points is kept.
 */
export function thin(points, px, py, size) {
  const seen = new Set();
  return points.filter((p) => {
    const key = Math.round(px(p) / size) * 65536 + Math.round(py(p) / size);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}
