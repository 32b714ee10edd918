// test_11_22_curve_filter.mjs - what the page said wrongly in silence: curves of AUC were labelled
// "Validation loss" with the best dot on the worst step; the filter answered questions it had not
// understood with a wrong or an empty table; the trade-off drew outliers inside its frame. Run by
// tests/run.sh.

import {curvesOf} from '../../web/static/curve.js';
import {compile} from '../../web/static/filter.js';
import * as pareto from '../../web/static/pareto.js';
import {end, equal, fakeDocument, ok, refuses, test} from '../web/static/cases.mjs';

fakeDocument();
const known = {
  families: ['boost', 'linear'],
  parameters: ['bins'],
  isWhole: true
};
const rows = [
  {
    number: 1,
    family: 'boost',
    state: 'completed',
    score: 0.9,
    predict_ns_row: 12e3,
    config: { bins: '255' }
  },
  { number: 2, family: 'linear', state: 'failed', score: null, predict_ns_row: 90e3, config: {} }
];
const chosen = (text) =>
    rows.filter(compile(text, known).test || compile(text)).map((r) => r.number);

await test('a curve of AUC says AUC and marks its highest step', () => {
  const curve = [[10, 0.7], [20, 0.8], [30, 0.95], [40, 0.9]];
  const box = curvesOf(
      { select: 0.95, reports: [], info: { curve, steps: 30 } },
      { metric: 'auc', larger_is_better: true });
  const [dot] = box.all('circle'),
        line = box.all('path')[0].getAttribute('d').split('L')[2].split(' ');
  ok(!box.textContent.includes('loss'), box.textContent);
  equal(
      [Number(dot.getAttribute('cx')).toFixed(1), Number(dot.getAttribute('cy')).toFixed(1)], line,
      'the marked step');
});
await test('predict < 20us is a time', () => equal(chosen('predict < 20us'), [1]));
await test('bins = 255 finds 255', () => equal(chosen('bins = 255'), [1]));
await test('names nobody knows are refused', () => refuses(() => chosen('unheard = 1'), 'unheard'));
await test('or and not are understood', () => {
  equal(chosen('family = linear or score > 0.8'), [1, 2]);
  equal(chosen('not family = linear'), [1]);
});
await test('outliers of the trade-off stand at the edge, apart from the others', () => {
  const points = Array.from(
      { length: 30 }, (_, i) => ({ family: 'boost', score: 0.9 + i / 1000, fit_us: 10 + i }));
  const far = { family: 'boost', score: -3, fit_us: 20 },
        m = pareto.tradeoff([...points, far], 'fit_us', false, 800);
  ok(m.isOut(far) && m.py(far) >= Math.max(...points.filter((p) => !m.isOut(p)).map(m.py)) + 10,
     'apart');
});
end();
