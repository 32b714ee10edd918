// test_pareto.mjs - where trials stand in the chart and the trade-off (pareto.js): what lies beyond
// the axis of the good scores stands apart, at its edge, and never inside the frame as if it were a
// score there. Run by tests/run.sh.

import {tradeoff} from '../../../web/static/pareto.js';
import {axisOf, logTicks, niceStep, placeOf, thin, ticksOf} from '../../../web/static/scale.js';

import {end, equal, ok, test} from './cases.mjs';

const many = (n, score) => Array.from(
    { length: n },
    (_, i) => ({ trial: i, number: i + 1, family: 'boost', score: score(i), fit_us: 10 + i }));

await test('a trade-off draws outliers at the edge, apart from all that is on its axis', () => {
  for (const isLower of [false, true]) {
    const sign = isLower ? -1 : 1, points = [
      ...many(40, (i) => sign * (0.9 + i / 1000)),
      { trial: 99, number: 41, family: 'linear', score: sign * -40, fit_us: 500 }
    ];
    const m = tradeoff(points, 'fit_us', isLower, 800), out = points.filter(m.isOut),
          within = points.filter((p) => !m.isOut(p)).map(m.py);
    ok(out.length >= 1 && out.includes(points[40]), 'the outlier is known as one');
    for (const p of out)
      ok(isLower ? m.py(p) <= Math.min(...within) - 10 : m.py(p) >= Math.max(...within) + 10,
         `${p.score} stands at ${m.py(p)}, the others within ${Math.min(...within)} and ${
             Math.max(...within)}`);
  }
});
await test('better scores stand higher', () => {
  const points = many(10, (i) => i), m = tradeoff(points, 'fit_us', false, 800),
        ys = points.filter((p) => !m.isOut(p)).map(m.py);
  ok(ys.every((y, i) => i === 0 || y < ys[i - 1]), ys.join());
});
await test('costs stand by their logarithm, within the frame', () => {
  const points =
            [
              { family: 'a', score: 1, fit_us: 1 }, { family: 'a', score: 2, fit_us: 10 },
              { family: 'a', score: 3, fit_us: 100 }
            ],
        m = tradeoff(points, 'fit_us', false, 800);
  const [a, b, c] = points.map(m.px);
  ok(Math.abs((b - a) - (c - b)) < 1e-9 && a > 58 && c < 800, `${a} ${b} ${c}`);
});
await test('one trial alone has a scale, too', () => {
  const m = tradeoff([{ family: 'a', score: 0, fit_us: 7 }], 'fit_us', true, 500);
  ok(Number.isFinite(m.px({ fit_us: 7 })) && Number.isFinite(m.py({ score: 0 })), 'places');
});
await test('a baseline that beats all models is still within the axis', () => {
  for (const isLower of [false, true]) {
    const axis = axisOf(
              [...many(20, (i) => i / 100), { family: 'baseline', score: isLower ? -5 : 5 }],
              isLower),
          best = isLower ? -5 : 5;
    ok(axis.lo < best && best < axis.hi && !axis.isOut(best), `${axis.lo}..${axis.hi}`);
  }
});
await test(
    'a hundred thousand scores have an axis',
    () => ok(axisOf(many(100000, (i) => Math.sin(i)), false).ticks.length > 2));
await test('where nothing is beyond, no strip is kept for it', () => {
  const p = many(2, (i) => i), axis = axisOf(p, false),
        y = placeOf(axis, p, false, { top: 0, bottom: 100, beyond: 14 });
  equal([y(axis.hi), y(axis.lo)], [0, 100]);
});
await test('ticks are round, inside, and told apart by their decimals', () => {
  equal(ticksOf(0, 1, 5), { out: [0, 0.2, 0.4, 0.6000000000000001, 0.8, 1], decimals: 1 });
  equal(
      ticksOf(0.9, 1, 4).out.map((x) => x.toFixed(ticksOf(0.9, 1, 4).decimals)),
      ['0.900', '0.925', '0.950', '0.975', '1.000']);
  equal(ticksOf(25, 125, 4), { out: [25, 50, 75, 100, 125], decimals: 0 });
  equal(niceStep(100, 5), 20);
  const tiny = ticksOf(1e-8, 5e-8, 4);
  ok(new Set(tiny.out.map((x) => x.toFixed(tiny.decimals))).size === tiny.out.length,
     'tiny ones differ');
});
await test('ticks of logarithms are powers of ten', () => {
  equal(logTicks(1, 1000), [1, 10, 100, 1000]);
  equal(logTicks(1, 9), [1, 1.5, 2, 3, 5, 7]);
});
await test(
    'points that cover each other are drawn once',
    () => equal(thin(many(1000, () => 1), () => 3, () => 4, 1.5).length, 1));
end();
