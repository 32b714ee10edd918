// test_format.mjs - numbers, sizes and times of the page, at the edges of their units. Run by
// tests/run.sh.

import {
  bytes,
  columnDecimals,
  count,
  decimalsFor,
  duration,
  fixed,
  micros,
  nanos,
  NONE,
  percent,
  value,
  when
} from '../../../web/static/format.js';

import {end, equal, ok, test} from './cases.mjs';

await test('what is missing is a dash, never NaN', () => {
  for (const f of [micros, nanos, bytes, duration])
    for (const x of [null, undefined, NaN]) equal(f(x), NONE, `${f.name}(${x})`);
  equal(fixed(NaN, 2), NONE);
  equal(fixed(null, 2), NONE);
  equal(when(0), NONE);
  equal(percent(1, 0), NONE);
});
await test('times change their unit where their number would be the next unit’s one', () => {
  equal([0, 1, 9.94, 9.96, 999.4, 999.6, 9960, 999499, 999501, 59.4e6, 59.6e6, 75e6].map(micros), [
    '0.0 µs', '1.0 µs', '9.9 µs', '10 µs', '999 µs', '1.0 ms', '10 ms', '999 ms', '1.0 s', '59 s',
    '1m 00s', '1m 15s'
  ]);
  equal([0, 999.4, 999.6, 45000].map(nanos), ['0 ns', '999 ns', '1.0 µs', '45 µs']);
});
await test(
    'durations are rounded once',
    () => equal(
        [499, 59499, 59500, 3599500, 90061000].map(duration),
        ['0s', '59s', '1m 00s', '1h 00m', '1d 1h']));
await test(
    'sizes have three digits at most',
    () => equal(
        [0, 999, 999.6, 9960, 999499, 999500, 1e15].map(bytes),
        ['0 B', '999 B', '1.0 kB', '10 kB', '999 kB', '1.0 MB', '1000 TB']));
await test('counts are grouped', () => equal(count(1234567), '1,234,567'));
await test('an error has two digits, and its value as many decimals', () => {
  equal(
      [0.0021, 0.0096, 0.00996, 0.5, 12, 490.01522].map((se) => decimalsFor(0.9, se)),
      [4, 4, 3, 2, 0, 0]);
  equal(fixed(490.01522, decimalsFor(10234.5, 490.01522)), '490');
  equal(fixed(3.14e-7, decimalsFor(3.14e-7, 2.1e-8)), '0.000000314');
});
await test('without an error five digits of the value are shown', () => {
  equal(
      [0, 0.93124, 9.99999, 12.3456, 123456].map((v) => fixed(v, decimalsFor(v))),
      ['0.0000', '0.93124', '10.000', '12.346', '123,456']);
});
await test(
    'a column has one count of decimals',
    () => equal(
        columnDecimals(
            [{ s: 0.5, e: 0.01 }, { s: 0.6, e: 0.002 }, { s: 0.7, e: 0.003 }, { s: null }], 's',
            'e'),
        4));
await test('shares are never 0 % of some nor 100 % of not all', () => {
  equal(
      [[0, 20], [13, 20], [1, 5000], [4999, 5000], [20, 20], [1, 300]].map(
          ([a, b]) => percent(a, b)),
      ['0 %', '65 %', 'under 0.1 %', '99.9 %', '100 %', '0.3 %']);
});
await test(
    'values of a configuration are short',
    () => equal(
        [0.1 + 0.2, 64, 'by loss', true, null, [1, 2], 1.23456789e-7].map(value),
        ['0.3', '64', 'by loss', 'true', 'null', '[1,2]', '1.2346e-7']));
await test('dates say their zone', () => {
  const text = when(Date.UTC(2026, 10, 22, 17, 45));
  ok(/UTC|GMT|[A-Z]{3,4}|[+-]\d/.test(text) && text.includes('2026'), text);
});
end();
