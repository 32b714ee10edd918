// format.js - numbers, sizes and times as text for people. All functions are pure. A missing value
// is shown as an en dash.

export const NONE = '–';

const grouped = new Map();

/** Formats a number with a fixed number of decimals and with grouped thousands. */
export function fixed(x, decimals) {
  if (x === null || x === undefined || !Number.isFinite(x)) return NONE;
  if (!grouped.has(decimals)) {
    grouped.set(
        decimals,
        new Intl.NumberFormat(
            'en-US', { minimumFractionDigits: decimals, maximumFractionDigits: decimals }));
  }
  return grouped.get(decimals).format(x);
}

/**
 * Formats a share, such as "7 %", "0.4 %" or "99.6 %". The result is 0 % only if the part is zero,
 * and 100 % only if it is the whole.
 */
export function percent(part, whole) {
  if (!(whole > 0) || !Number.isFinite(part)) return NONE;
  const p = 100 * part / whole;
  if (part > 0 && p < 0.1) return 'under 0.1 %';
  const d = p > 0 && p < 100 && (p < 1 || p > 99) ? 1 : 0;
  return `${fixed(d === 1 && p > 99.9 ? 99.9 : p, d)} %`;
}

export function count(n) {
  return fixed(n, 0);
}

const DECIMALS = 9;

/**
 * Returns the number of decimals that shows the standard error with two digits. Without a standard
 * error it is the number that shows the value with five significant digits.
 */
export function decimalsFor(value, se) {
  if (Number.isFinite(se) && se > 0) return clamp(1 - exponentOf(se, 2), 0, DECIMALS);
  if (!Number.isFinite(value) || value === 0) return 4;
  return clamp(4 - exponentOf(value, 5), 0, DECIMALS);
}

/**
 * Returns the exponent of x after rounding to so many digits: 9.96 with two digits is 1.0e1, so 1.
 */
function exponentOf(x, digits) {
  return Number(x.toExponential(digits - 1).split('e')[1]);
}

/** Returns one number of decimals for a whole column, so that the decimal points are aligned. */
export function columnDecimals(rows, key, seKey) {
  const all = rows.slice(0, 50)
                  .filter((r) => Number.isFinite(r[key]))
                  .map((r) => decimalsFor(r[key], r[seKey]))
                  .sort((a, b) => a - b);
  return all.length ? all[Math.floor(all.length / 2)] : 4;
}

export function clamp(x, lo, hi) {
  return Math.min(hi, Math.max(lo, x));
}

/**
 * 1234567 us -> "1.2 s". The unit changes where rounding would otherwise show 1000 of it (or 60 s).
 */
export function micros(us) {
  if (us === null || us === undefined || !Number.isFinite(us)) return NONE;
  if (us < 999.5) return `${short(us)} µs`;
  if (us < 999.5e3) return `${short(us / 1e3)} ms`;
  if (us < 59.5e6) return `${short(us / 1e6)} s`;
  return duration(us / 1e3);
}

export function nanos(ns) {
  if (ns === null || ns === undefined || !Number.isFinite(ns)) return NONE;
  return ns < 999.5 ? `${Math.round(ns)} ns` : micros(ns / 1000);
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
  if (n === null || n === undefined || !Number.isFinite(n)) return NONE;
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
  return new Intl
      .DateTimeFormat(undefined, {
        year: 'numeric',
        month: 'short',
        day: 'numeric',
        hour: '2-digit',
        minute: '2-digit',
        timeZoneName: 'short'
      })
      .format(wallMs);
}

/** Formats a value of a configuration. Fractions are rounded to five significant digits. */
export function value(v) {
  if (typeof v === 'number' && !Number.isInteger(v)) return String(Number(v.toPrecision(5)));
  return typeof v === 'object' && v !== null ? JSON.stringify(v) : String(v);
}
