// feed.js - loads the trials of a study. One request brings the study and the first 300 rows. The
// other trials follow as columns, 10,000 trials at a time. After that only changes are requested.
// Complete rows are requested for trials in sight, and all configurations only when a filter or an
// export needs them. Nothing is requested twice, and an answer that arrives late never replaces
// newer data.

import * as api from './api.js';

const FIRST = 300, COLUMNS = 10000, WITH_CONFIG = 2000, ROWS = 300, PACE_MS = 1000, SIGHT_MS = 60;

/** Calls f soon, at most once per `ms`, and so rarely that it takes at most a fifth of the time. */
export function paced(ms, f) {
  let timer = null, from = -Infinity;
  function run() {
    timer = null;
    const start = performance.now();
    f();
    from = performance.now() + 4 * (performance.now() - start);
  }
  function ask() {
    if (timer === null) timer = setTimeout(run, Math.max(0, from + ms - performance.now()));
  }
  ask.stop = () => clearTimeout(timer);
  return ask;
}

export function makeFeed(path, trials, {onStudy, onRows, onProgress, onError}) {
  let seq = null, isStopped = false, isBusy = false, configs = null, isFirst = true;
  const stop = new AbortController(), get = (rest) => api.get(`${path}/${rest}`, stop.signal);

  function take(answer, isLive) {
    const changed = trials.take(answer.rows, answer.seq);
    if (changed.size || !isLive) onRows(changed, isLive);
  }

  /** Loads the trials page by page, and shows each page when it arrives. */
  async function columns(total, withConfig) {
    const limit = withConfig ? WITH_CONFIG : COLUMNS;
    for (let after = 0; after !== null;) {
      const c =
          await get(`columns?after=${after}&limit=${limit}${withConfig ? '&config=true' : ''}`);
      if (isStopped) return;
      onRows(trials.takeColumns(c), false);
      after = c.next;
      onProgress(
          after === null ? '' :
                           `${withConfig ? 'Reading configurations' : 'Reading trials'}: ${
                               Math.round(100 * after / Math.max(c.total, 1))} %`);
    }
  }

  async function first() {
    const page = await get(`page?limit=${FIRST}`);
    if (isStopped) return;
    trials.clear();
    configs = null;
    seq = page.seq;
    onStudy(page.study);
    take(page, !isFirst);
    isFirst = false;
    if (trials.size < page.study.trials.total) await columns(page.study.trials.total, false);
    trials.isComplete = true;
  }

  async function changes() {
    for (let more = true; more && !isStopped;) {
      const answer = await get(`changes?after=${seq}&limit=${FIRST}`);
      if (isStopped) return;
      if (answer.reset) {
        await first();
        return;
      }
      seq = answer.seq;
      more = answer.more;
      onStudy(answer.study);
      take(answer, true);
    }
  }

  async function load() {
    if (isBusy) return;
    isBusy = true;
    try {
      await (seq === null || !trials.isComplete ? first() : changes());
    } catch (err) {
      if (err.name !== 'AbortError' && !isStopped) onError(err);
    } finally {
      isBusy = false;
    }
  }

  let sight = [], sightTimer = null;
  async function rowsOf(numbers) {
    for (let i = 0; i < numbers.length && !isStopped; i += ROWS) {
      take(await get(`rows?numbers=${numbers.slice(i, i + ROWS).join()}`), false);
    }
  }

  async function lookUp() {
    sightTimer = null;
    const wanted = sight.filter((n) => !trials.get(n).isWhole);
    try {
      if (wanted.length) await rowsOf(wanted);
    } catch (err) {
      if (err.name !== 'AbortError' && !isStopped) onError(err);
    }
  }

  load();
  return {
    refresh: api.throttled(PACE_MS, load),
    isLoaded: () => seq !== null,
    seq: () => seq,
    /** Asks for the complete rows of the trials that came into sight. */
    need(numbers) {
      sight = numbers;
      if (sightTimer === null) sightTimer = setTimeout(lookUp, SIGHT_MS);
    },
    /** Asks for all configurations, once. A filter that names a parameter needs them. */
    configs() {
      configs ??= columns(trials.size, true).catch((err) => {
        configs = null;
        throw err;
      });
      return configs;
    },
    /** Completes these rows before they are saved to a file. */
    async whole(rows) {
      const lacking = rows.filter((r) => !r.isWhole).map((r) => r.number);
      for (let i = 0; i < lacking.length; i += ROWS) {
        onProgress(`Reading rows: ${Math.round(100 * i / lacking.length)} %`);
        await rowsOf(lacking.slice(i, i + ROWS));
      }
      onProgress('');
    },
    stop() {
      isStopped = true;
      stop.abort();
      clearTimeout(sightTimer);
    },
  };
}
