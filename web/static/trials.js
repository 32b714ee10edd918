// trials.js - the trials of one study as far as the page has read them: one object for each trial,
// found by its number. The first rows arrive complete. The others arrive as columns, without
// configuration and error text. Changes arrive as complete rows. An answer that is older than a row
// does not change it. The file has no access to elements or requests.
//
// A row has: number, trial (its id), family, state, reason, detail, score (null if it has no place
// on the board), reported (its last score if it has no place on the board), se, test_score,
// test_se, level, max_level, fit_us, predict_ns_row, model_bytes, cut, artifact, front, config
// (undefined until it is read), isWhole (all fields were read), at (the journal's sequence number
// at which the row was true), and rank (set by order.js).

const known = (x) => (x > 0 ? x : null);

// what a user's program tells beside the score, where a study has several objectives
const TOLD = ['value_2', 'value_3', 'value_4'];

export class Trials {
  constructor() {
    this.clear();
  }

  clear() {
    this.all = [];  // by number - 1; trials that were not read yet are missing
    this.size = 0;
    this.families = new Set();
    this.parameters = new Set();
    this.isComplete = false;  // every trial was read
  }

  get(number) {
    return this.all[number - 1];
  }

  rowOf(number) {
    let row = this.all[number - 1];
    if (!row) {
      row = this.all[number - 1] = { number, rank: null, at: -1, isWhole: false };
      this.size++;
    }
    return row;
  }

  /** Takes complete rows that were true at `seq`. Returns the rows that were set. */
  take(list, seq) {
    const changed = new Set();
    for (const r of list) {
      const row = this.rowOf(r.number);
      if (row.at > seq) continue;
      const rank = row.rank;
      Object.assign(row, r, { at: seq, isWhole: true });
      row.rank = rank;  // ranks are set by order.js only
      row.score = row.score ?? null;
      row.fit_us = known(row.fit_us);
      row.predict_ns_row = known(row.predict_ns_row);
      row.model_bytes = known(row.model_bytes);
      this.families.add(row.family);
      for (const key in row.config)
        if (key !== 'family') this.parameters.add(key);
      changed.add(row);
    }
    return changed;
  }

  /**
   * Takes the columns of c.count trials, beginning with trial number c.from. Returns the rows that
   * changed.
   */
  takeColumns(c) {
    const changed = new Set();
    for (let i = 0; i < c.count; i++) {
      const row = this.rowOf(c.from + i), isOn = (c.flags[i] & 1) !== 0;
      if (c.config) {
        row.config = c.config[i];
        row.test_score ??= c.test_score[i];
        for (const key in row.config)
          if (key !== 'family') this.parameters.add(key);
      }
      if (row.at >= c.seq) continue;
      const score = c.score[i], state = c.states[c.state[i]];
      if (row.isWhole && row.state === state && row.score === (isOn ? score : null) &&
          row.level === c.level[i]) {
        row.at = c.seq;
        continue;
      }
      row.trial = c.trial[i];
      row.state = state;
      row.reason = c.reasons[c.reason[i]];
      row.family = c.families[c.family[i]];
      row.score = isOn ? score : null;
      row.reported = isOn ? null : score;
      row.test_score = c.test_score ? c.test_score[i] : null;
      row.level = c.level[i];
      row.max_level = c.max_level[i];
      row.fit_us = known(c.fit_us[i]);
      row.predict_ns_row = known(c.predict_ns_row[i]);
      row.model_bytes = known(c.model_bytes[i]);
      for (const key of TOLD)
        if (c[key]) row[key] = c[key][i];
      row.artifact = (c.flags[i] & 2) !== 0;
      row.cut = (c.flags[i] & 4) !== 0;
      row.front = (c.flags[i] & 8) !== 0;
      row.at = c.seq;
      row.isWhole = false;
      changed.add(row);
    }
    for (const f of c.families) this.families.add(f);
    return changed;
  }

  /** Returns true if every trial was read with its configuration. */
  hasConfigs() {
    return this.isComplete && this.all.every((r) => r.config !== undefined);
  }

  /** Returns all rows, ordered by number. */
  rows() {
    return this.all.filter(Boolean);
  }

  /** Returns the rows that have a place on the board, ordered by number. */
  scored() {
    return this.all.filter((r) => r && Number.isFinite(r.score));
  }
}
