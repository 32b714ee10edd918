// filter.js - the filter box of the leaderboard: `family = boost and score > 0.9 and leaves < 64`, or plain
// words, each of which must appear somewhere in the row. Pure: text in, a test of a row out, or an Error.

const names = { trial: 'number', test: 'test_score', fit: 'fit_us', size: 'model_bytes', predict: 'predict_ns_row', resource: 'level' };
const units = { us: 1, ms: 1e3, s: 1e6, m: 60e6, kb: 1e3, mb: 1e6, gb: 1e9 };

const tests = {
  '=': (a, b) => a === b,
  '!=': (a, b) => a !== b,
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
};

function operand(text) {
  const m = /^(-?[\d.]+(?:e[-+]?\d+)?)\s*([a-z]*)$/i.exec(text);
  if (!m || Number.isNaN(Number(m[1]))) return text.toLowerCase();
  return Number(m[1]) * (m[2] ? units[m[2].toLowerCase()] ?? NaN : 1);
}

function field(row, name) {
  const key = names[name] || name;
  const v = key in row ? row[key] : row.config?.[key];
  return typeof v === 'string' ? v.toLowerCase() : v;
}

function comparison(text) {
  const m = /^([a-z_]\w*)\s*(!=|<=|>=|=|<|>)\s*(.+)$/i.exec(text);
  if (!m) return null;
  const name = m[1].toLowerCase(), want = operand(m[3].trim().replace(/^["']|["']$/g, ''));
  if (typeof want === 'number' && Number.isNaN(want)) throw new Error(`unknown unit in “${text}”`);
  if (typeof want === 'string' && !['=', '!='].includes(m[2])) throw new Error(`“${m[3]}” is no number`);
  return (row) => {
    const have = field(row, name);
    if (have === null || have === undefined) return false;
    return tests[m[2]](typeof want === 'string' ? String(have) : have, want);
  };
}

function words(text) {
  const all = text.toLowerCase().split(/\s+/).filter(Boolean);
  return (row) => {
    const hay = `#${row.number} ${row.family} ${row.state} ${JSON.stringify(row.config || {})}`.toLowerCase();
    return all.every((w) => hay.includes(w));
  };
}

export function compile(text) {
  const parts = text.split(/\s+and\s+/i).map((p) => p.trim()).filter(Boolean).map((p) => comparison(p) || words(p));
  return (row) => parts.every((f) => f(row));
}
