// order.js - the order of the rows of the leaderboard: by score with ranks, or by any column, and
// limited to the rows that pass the filter and the chosen state. Changed rows are merged into the
// present order in one pass, so that a study of 100,000 trials can be followed live. All functions
// are pure.

/** The buttons above the board: key, name, and the states of trials that each stands for. */
export const CHIPS = [
  ['completed', 'Completed', ['completed']],
  ['running', 'Running', ['running']],
  ['waiting', 'Waiting', ['queued', 'paused']],
  ['pruned', 'Pruned', ['pruned']],
  ['failed', 'Failed', ['failed']],
  ['cancelled', 'Cancelled', ['cancelled']],
];

const STATE_ORDER = {
  completed: 0,
  running: 1,
  paused: 2,
  queued: 3,
  pruned: 4,
  failed: 5,
  cancelled: 6
};
const isNone = (x) => x === null || x === undefined || Number.isNaN(x);

/**
 * Compares by score, best first; equal scores are ordered by trial number. Rows without a score
 * follow, ordered by state, then highest level first, then newest first.
 */
export function byScore(isLower) {
  const sign = isLower ? 1 : -1;
  return (a, b) => {
    const none = isNone(a.score) - isNone(b.score);
    if (none) return none;
    if (!isNone(a.score)) return sign * (a.score - b.score) || a.number - b.number;
    return STATE_ORDER[a.state] - STATE_ORDER[b.state] || (b.level || 0) - (a.level || 0) ||
        b.number - a.number;
  };
}

/**
 * Compares by a column. Rows without a value come last in both directions; equal values are ordered
 * by score.
 */
export function byColumn(key, dir, isLower) {
  const score = byScore(isLower);
  if (key === 'rank')
    return dir > 0 ? score :
                     (a, b) => (isNone(a.score) || isNone(b.score) ? score(a, b) : -score(a, b));
  return (a, b) => {
    const x = a[key], y = b[key], noX = isNone(x), noY = isNone(y);
    if (noX || noY) return noX - noY || score(a, b);
    return (x < y ? -dir : x > y ? dir : 0) || score(a, b);
  };
}

/**
 * Returns an ordered list in which the changed rows are removed from their old places and inserted
 * at their new ones.
 */
export function merged(list, changed, compare, passes) {
  const put = [...changed].filter(passes).sort(compare), out = [];
  let at = 0;
  for (const row of list) {
    if (changed.has(row)) continue;
    while (at < put.length && compare(put[at], row) < 0) out.push(put[at++]);
    out.push(row);
  }
  while (at < put.length) out.push(put[at++]);
  return out;
}

export class Order {
  constructor() {
    this.sortKey = 'rank';
    this.sortDir = 1;
    this.isLower = false;
    this.test = () => true;
    this.chip = null;
    this.ranked = [];  // all rows with a score, best first
    this.shown = [];   // the rows that pass, in the order of the table
    this.isStale = true;
  }

  passes(row) {
    return (this.chip === null || this.chip.includes(row.state)) && this.test(row);
  }

  /** Changes the sorting or the filter. The next apply() sorts all rows again. */
  ask(question) {
    Object.assign(this, question);
    this.isStale = true;
  }

  /**
   * Brings the order up to date with the changed rows. `all` returns every row, and is called only
   * if all rows must be sorted again.
   */
  apply(changed, all) {
    const score = byScore(this.isLower),
          compare = byColumn(this.sortKey, this.sortDir, this.isLower),
          passes = (r) => this.passes(r);
    const isOn = (r) => !isNone(r.score);
    if (this.isStale) {
      const rows = all();
      for (const row of rows) row.settled = row.state;
      this.ranked = rows.filter(isOn).sort(score);
      this.shown = rows.filter(passes).sort(compare);
    } else {
      this.ranked = merged(this.ranked, changed, score, isOn);
      this.shown = merged(this.shown, changed, compare, passes);
    }
    for (const row of changed)
      row.rank = null,
      row.settled = row.state;  // the state at the time of the last ordering
    this.ranked.forEach((row, i) => {
      row.rank = i + 1;
    });
    this.isStale = false;
  }
}
