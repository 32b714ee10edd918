// test_filter.mjs - the filter box of the leaderboard: what is asked is answered, and what cannot
// be answered is refused with a way out. Run by tests/run.sh.

import {compile, nearestName} from '../../../web/static/filter.js';

import {end, equal, ok, refuses, test} from './cases.mjs';

const rows = [
  {
    number: 1,
    family: 'baseline',
    score: 0.5,
    state: 'completed',
    fit_us: 40,
    predict_ns_row: 3,
    model_bytes: 300,
    reason: 'none',
    config: { family: 'baseline' }
  },
  {
    number: 2,
    family: 'boost',
    score: 0.91,
    state: 'completed',
    fit_us: 90e3,
    predict_ns_row: 12e3,
    model_bytes: 2.5e6,
    artifact: true,
    config: { family: 'boost', leaves: 64, bins: '255', grow: 'by loss' }
  },
  {
    number: 3,
    family: 'boost',
    score: 0.88,
    state: 'completed',
    fit_us: 2.5e6,
    predict_ns_row: 45e3,
    model_bytes: 9e6,
    cut: true,
    config: { family: 'boost', leaves: 16, bins: 63 }
  },
  {
    number: 4,
    family: 'forest',
    score: null,
    state: 'failed',
    reason: 'crashed_alone',
    fit_us: null,
    predict_ns_row: null,
    model_bytes: null,
    config: { family: 'forest', depth: 12 }
  },
  {
    number: 5,
    family: 'linear',
    score: null,
    state: 'cancelled',
    reason: 'budget',
    fit_us: null,
    predict_ns_row: null,
    model_bytes: null,
    config: { family: 'linear', l1: 0.01 }
  },
];
const known = {
  families: ['baseline', 'boost', 'forest', 'linear'],
  parameters: ['leaves', 'bins', 'grow', 'depth', 'l1'],
  isWhole: true
};
const chosen = (text) => rows.filter(compile(text, known).test).map((r) => r.number);

await test('an empty box chooses everything', () => equal(chosen('  '), [1, 2, 3, 4, 5]));
await test('times are compared in their unit', () => {
  equal(chosen('predict < 20us'), [1, 2]);
  equal(chosen('predict < 20µs'), [1, 2]);
  equal(chosen('predict < 0.02 ms'), [1, 2]);
  equal(chosen('predict >= 45us'), [3]);
  equal(chosen('fit < 100ms'), [1, 2]);
  equal(chosen('fit > 2.4s'), [3]);
  equal(chosen('fit > 0'), [1, 2, 3]);
});
await test(
    'sizes are compared in their unit', () => equal(chosen('size < 3MB and size > 1kB'), [2]));
await test(
    'a time without a unit is asked for one',
    () => refuses(() => chosen('predict < 20'), 'needs a unit', '20us'));
await test(
    'a unit of another kind is refused',
    () => refuses(() => chosen('predict < 20MB'), 'no unit of time', 'ms'));
await test('a score has no unit', () => refuses(() => chosen('score > 0.9s'), 'no unit'));
await test('numbers are equal to numbers that are written as text', () => {
  equal(chosen('bins = 255'), [2]);
  equal(chosen('bins < 100'), [3]);
  equal(chosen('bins != 255'), [3]);
});
await test('names that nobody knows are refused with the nearest one', () => {
  refuses(() => chosen('scoer > 0.9'), 'scoer', 'score');
  refuses(() => chosen('leafs = 3'), 'leaves');
  refuses(() => chosen('zzzzzz = 3'), 'family, score');
});
await test('values that a family or a state never has are refused', () => {
  refuses(() => chosen('family = bost'), 'boost');
  refuses(() => chosen('state = done'), 'completed');
});
await test('or, not and brackets mean what they say', () => {
  equal(chosen('family = linear or family = forest'), [4, 5]);
  equal(chosen('not family = boost'), [1, 4, 5]);
  equal(chosen('family = boost and (leaves < 20 or score > 0.9)'), [2, 3]);
  equal(chosen('family = boost and leaves < 20 or score < 0.6'), [1, 3]);
  equal(chosen('not (state = failed or state = cancelled) and not cut = yes'), [1, 2]);
  equal(chosen('NOT family = boost AND state = completed'), [1]);
});
await test(
    'lists choose any of their members', () => equal(chosen('family in (linear, forest)'), [4, 5]));
await test('what is missing is in no comparison, and can be asked for', () => {
  equal(chosen('score < 1'), [1, 2, 3]);
  equal(chosen('score = none'), [4, 5]);
  equal(chosen('score != none and family != baseline'), [2, 3]);
  equal(chosen('leaves != 64'), [3]);
});
await test('words must all appear, also those of reasons and configurations', () => {
  equal(chosen('boost 255'), [2]);
  equal(chosen('crashed alone'), [4]);
  equal(chosen('"by loss"'), [2]);
  equal(chosen('boost score > 0.9'), [2]);
  equal(chosen('#4'), [4]);
});
await test('texts hold what ~ names', () => equal(chosen('grow ~ loss'), [2]));
await test('yes and no are asked by those words', () => {
  equal(chosen('model = yes'), [2]);
  equal(chosen('cut = true'), [3]);
  refuses(() => chosen('cut = 3'), 'yes or no');
});
await test('percents are shares', () => equal(chosen('score > 90%'), [2]));
await test(
    'the letter case of names and values does not matter',
    () => equal(chosen('Family = BOOST and LEAVES = 64'), [2]));
await test('half sentences say what is missing', () => {
  refuses(() => chosen('score >'), 'missing');
  refuses(() => chosen('score'), 'score needs a comparison');
  refuses(() => chosen('leaves'), 'leaves needs a comparison');
  refuses(() => chosen('> 3'), 'before it');
  refuses(() => chosen('(score > 3'), 'not closed');
  refuses(() => chosen('score > 3)'), 'not expected');
  refuses(() => chosen('family = boost and'), 'missing at the end');
  refuses(() => chosen('or family = boost'), 'between two');
  refuses(() => chosen('family = "boost'), 'not closed');
  refuses(() => chosen('family in boost'), 'needs a list');
  refuses(() => chosen('family < boost'), 'not a number');
  refuses(() => chosen('score = high'), 'score is a number');
  refuses(() => chosen('not'), 'missing at the end');
});
await test('configurations are asked for only where they are needed', () => {
  ok(!compile('family = boost and score > 0.9', known).needsConfig);
  ok(!compile('boost failed', known).needsConfig, 'families and states');
  ok(compile('leaves < 64', known).needsConfig, 'a parameter');
  ok(compile('255', known).needsConfig, 'a word');
  ok(compile('unheard = 1', {...known, isWhole: false }).needsConfig,
     'a name that other configurations may have');
});
await test('any text is answered or refused, never more', () => {
  const parts = [
    'score', '>', '(',      ')', 'and',  'or', 'not',  'in', ',', '"', "'",
    '0.9',   'µ', '\u0000', '=', 'bins', ' ',  '20us', '%',  '#', '\n'
  ];
  let seed = 7;
  const next = (n) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % n;
  };
  for (let k = 0; k < 4000; k++) {
    const text =
        Array.from({ length: next(9) }, () => parts[next(parts.length)]).join(next(2) ? ' ' : '');
    let f = null;
    try {
      f = compile(text, known).test;
    } catch (err) {
      ok(err.constructor === Error && err.message.length > 5,
         `${JSON.stringify(text)}: ${err.stack}`);
    }
    if (f)
      for (const r of rows) equal(typeof f(r), 'boolean', text);
  }
});
await test('the nearest name is near', () => {
  equal(nearestName('leafs', ['leaves', 'l1']), 'leaves');
  equal(nearestName('zz', ['leaves']), null);
});
end();
