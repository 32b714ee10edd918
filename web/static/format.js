// format.js - numbers, sizes and times as people read them. Pure functions; everything missing is an en dash.

export const NONE = '–';

const grouped = new Map();

/** A number with a fixed count of decimals and thousands grouped. */
export function fixed(x, decimals) {
  if (x === null || x === undefined || !Number.isFinite(x)) return NONE;
  if (!grouped.has(decimals)) {
    grouped.set(decimals, new Intl.NumberFormat('en-US',
      { minimumFractionDigits: decimals, maximumFractionDigits: decimals }));
  }
  return grouped.get(decimals).format(x);
}

export function count(n) {
  return fixed(n, 0);
}

/** Decimals that show a standard error with two digits; without one, five significant digits of the value. */
export function decimalsFor(value, se) {
  if (Number.isFinite(se) && se > 0) return clamp(1 - Math.floor(Math.log10(se)), 0, 6);
  if (!Number.isFinite(value) || value === 0) return 4;
  return clamp(4 - Math.floor(Math.log10(Math.abs(value))), 0, 6);
}

/** One count of decimals for a whole column, so that its points align. */
export function columnDecimals(rows, key, seKey) {
  const all = rows.slice(0, 50).filter((r) => Number.isFinite(r[key]))
    .map((r) => decimalsFor(r[key], r[seKey])).sort((a, b) => a - b);
  return all.length ? all[Math.floor(all.length / 2)] : 4;
}

export function clamp(x, lo, hi) {
  return Math.min(hi, Math.max(lo, x));
}

/** 1234567 us -> "1.2 s" */
export function micros(us) {
  if (us === null || us === undefined) return NONE;
  if (us < 999.5) return `${short(us)} µs`;
  if (us < 1e6) return `${short(us / 1e3)} ms`;
  if (us < 60e6) return `${short(us / 1e6)} s`;
  return duration(us / 1e3);
}

export function nanos(ns) {
  if (ns === null || ns === undefined) return NONE;
  return ns < 1000 ? `${Math.round(ns)} ns` : micros(ns / 1000);
}

function short(x) {
  return x < 9.95 ? x.toFixed(1) : String(Math.round(x));
}

/** 75000 ms -> "1m 15s" */
export function duration(ms) {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return NONE;
  let s = Math.max(0, Math.round(ms / 1000));
  const d = Math.floor(s / 86400), h = Math.floor(s / 3600) % 24, m = Math.floor(s / 60) % 60;
  s %= 60;
  if (d) return `${d}d ${h}h`;
  if (h) return `${h}h ${String(m).padStart(2, '0')}m`;
  if (m) return `${m}m ${String(s).padStart(2, '0')}s`;
  return `${s}s`;
}

export function bytes(n) {
  if (n === null || n === undefined) return NONE;
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let i = 0;
  while (n >= 999.5 && i < units.length - 1) n /= 1000, i++;
  return `${i === 0 ? n : short(n)} ${units[i]}`;
}

export function ago(wallMs) {
  if (!wallMs) return NONE;
  const ms = Date.now() - wallMs;
  return ms < 5000 ? 'just now' : `${duration(ms)} ago`;
}

export function when(wallMs) {
  if (!wallMs) return NONE;
  return new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' }).format(wallMs);
}

/** A configuration's value: short, exact where it is short anyway. */
export function value(v) {
  if (typeof v === 'number' && !Number.isInteger(v)) return String(Number(v.toPrecision(5)));
  return typeof v === 'object' && v !== null ? JSON.stringify(v) : String(v);
}
