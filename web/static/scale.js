// scale.js - scales of the pictures: ticks, the axis of scores, and which scores lie beyond it.
// Pure functions, shared by the chart, the trade-off and the tests.

import {clamp} from './format.js';

export function niceStep(span, ticks) {
  const raw = span / ticks, base = 10 ** Math.floor(Math.log10(raw));
  return base * ([1, 2, 2.5, 5, 10].find((m) => m * base >= raw * (1 - 1e-12)) || 10);
}

/** Round values from lo to hi, about n of them, with the decimals that tell them apart. */
export function ticksOf(lo, hi, n) {
  const step = niceStep(hi - lo || 1, n), first = Math.ceil(lo / step - 1e-9) + 0, out = [];
  for (let k = first; k * step <= hi + step * 1e-9; k++) out.push(k * step);
  const digits = Math.ceil(-Math.log10(step) - 1e-9) +
      (Math.abs(step / 10 ** Math.floor(Math.log10(step)) - 2.5) < 1e-9 ? 1 : 0);
  return { out, decimals: clamp(digits, 0, 9) };
}

/** 1, 10, 100 ... between lo and hi, and more in between when there is room. */
export function logTicks(lo, hi) {
  const out = [], within = hi / lo < 12 ? [1, 1.5, 2, 3, 5, 7] : hi / lo < 300 ? [1, 3] : [1];
  for (let e = Math.floor(Math.log10(lo)); 10 ** e <= hi; e++) {
    for (const m of within)
      if (m * 10 ** e >= lo && m * 10 ** e <= hi) out.push(m * 10 ** e);
  }
  return out;
}

/**
 * The axis of scores spans the best one and the better nine tenths. The baseline is there to be
 * beaten: it does not stretch the axis. `isOut` says of a score that it lies beyond the worse end.
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
 * From a score to a place between `top` and `bottom`. Scores beyond the axis stand in a strip of
 * their own at its worse end (`beyond` pixels, only when there are any), so that none is drawn
 * where it is not.
 */
export function placeOf(axis, points, isLower, {top, bottom, beyond}) {
  const room = points.some((p) => axis.isOut(p.score)) ? beyond : 0;
  const from = top + (isLower ? room : 0), to = bottom - (isLower ? 0 : room);
  return (v) =>
             (axis.isOut(v) ? (isLower ? top : bottom) :
                              from + (to - from) * (1 - (v - axis.lo) / (axis.hi - axis.lo)));
}

/**
 * Keeps one point of those that would cover the same cell of `size` pixels; the order of the rest
 * stays.
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
