// test_order.mjs - orders that take changes in by one merge are those that sorting everything
// gives; answers that come late change nothing newer. Run by tests/run.sh.

import {byColumn, Order} from '../../../web/static/order.js';
import {Trials} from '../../../web/static/trials.js';

import {end, equal, ok, test} from './cases.mjs';

let seed = 11;
const next = (n) => {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return seed % n;
};
const states = ['queued', 'running', 'paused', 'completed', 'pruned', 'failed', 'cancelled'];
const some = (number) => {
  const state = states[next(7)], score = state === 'completed' ? next(30) / 10 : null;
  return {
    number,
    trial: number + 100,
    family: ['boost', 'linear'][next(2)],
    state,
    reason: 'none',
    score,
    reported: score,
    rank: 1,
    level: next(4),
    max_level: 3,
    fit_us: next(5) * 1000,
    predict_ns_row: 0,
    model_bytes: 0,
    config: {}
  };
};

await test(
    'a merged order is the sorted one, whatever changed, for every column and both directions',
    () => {
      for (const [sortKey, sortDir, isLower] of [
               ['rank', 1, false], ['rank', -1, false], ['score', 1, true], ['family', -1, false],
               ['fit_us', 1, true], ['state', 1, false]]) {
        const trials = new Trials(), order = new Order();
        order.ask({ sortKey, sortDir, isLower, test: (r) => r.family === 'boost' });
        for (let k = 1; k <= 40; k++) {
          const list =
              Array.from({ length: next(6) + (k === 1 ? 60 : 0) }, () => some(1 + next(80)));
          order.apply(trials.take(list, k), () => trials.rows());
          const want = trials.rows()
                           .filter((r) => r.family === 'boost')
                           .sort(byColumn(sortKey, sortDir, isLower));
          equal(
              order.shown.map((r) => r.number), want.map((r) => r.number),
              `${sortKey} ${sortDir} after ${k} changes`);
          equal(
              trials.rows().filter((r) => r.rank === null).every((r) => r.score === null), true,
              'ranks');
          order.ranked.forEach((r, i) => equal(r.rank, i + 1, 'a rank'));
        }
      }
    });
await test('an answer that is older than what is known changes nothing', () => {
  const trials = new Trials();
  trials.take([{...some(1), state: 'completed', score: 0.5 }], 10);
  equal(trials.take([{...some(1), state: 'running', score: null }], 9).size, 0);
  trials.takeColumns({
    seq: 8,
    from: 1,
    count: 2,
    families: ['boost'],
    states: ['queued'],
    reasons: ['none'],
    trial: [101, 102],
    state: [0, 0],
    reason: [0, 0],
    family: [0, 0],
    score: [null, null],
    level: [0, 0],
    max_level: [3, 3],
    fit_us: [0, 0],
    predict_ns_row: [0, 0],
    model_bytes: [0, 0],
    flags: [0, 0]
  });
  equal(
      [trials.get(1).state, trials.get(1).score, trials.get(2).state],
      ['completed', 0.5, 'queued']);
});
await test('columns make rows of those that are not known whole, with what the board shows', () => {
  const trials = new Trials();
  trials.takeColumns({
    seq: 8,
    from: 3,
    count: 2,
    families: ['boost'],
    states: ['none', 'completed', 'pruned'],
    reasons: ['none', 'stopped'],
    trial: [103, 104],
    state: [1, 2],
    reason: [0, 1],
    family: [0, 0],
    score: [0.7, 0.6],
    level: [3, 1],
    max_level: [3, 3],
    fit_us: [5, 0],
    predict_ns_row: [0, 0],
    model_bytes: [9, 0],
    flags: [3, 4],
    config: [{ family: 'boost', leaves: 3 }, { family: 'boost' }],
    test_score: [0.65, null]
  });
  const [a, b] = trials.rows();
  equal(
      [
        a.number, a.score, a.reported, a.artifact, a.fit_us, a.predict_ns_row, a.isWhole,
        a.test_score
      ],
      [3, 0.7, null, true, 5, null, false, 0.65]);
  equal(
      [b.number, b.score, b.reported, b.artifact, b.cut, b.reason],
      [4, null, 0.6, false, true, 'stopped']);
  ok(trials.parameters.has('leaves') && trials.scored().length === 1, 'parameters');
});
end();
