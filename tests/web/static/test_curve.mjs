// test_curve.mjs - what the pictures of one trial show: the metric that the engine chose the step
// by, its direction, and the step that the model was taken at. Run by tests/run.sh.

import {curvesOf, rungPoints, stepPoints} from '../../../web/static/curve.js';
import {metricName} from '../../../web/static/metrics.js';

import {end, equal, fakeDocument, ok, test} from './cases.mjs';

fakeDocument();
const study = (metric, lower = false) => ({ metric, larger_is_better: !lower });
const trial = (curve, select, more = {}) => ({ select, reports: [], info: { curve, ...more } });
const rising = [[10, 0.7], [20, 0.8], [30, 0.95], [40, 0.9]],
      falling = [[10, 0.9], [20, 0.5], [30, 0.3], [40, 0.4]];

await test('a curve of AUC is called AUC, and its best step is the highest', () => {
  const c = stepPoints(trial(rising, 0.95), study('auc'));
  equal([c.name, c.isLower, c.best.x], ['AUC', false, 30]);
});
await test('a curve of log loss is called so, and its best step is the lowest', () => {
  const c = stepPoints(trial(falling, 0.3), study('logloss', true));
  equal([c.name, c.isLower, c.best.x], ['Log loss', true, 30]);
});
await test('accuracy is chosen by log loss, R² by RMSE', () => {
  equal(stepPoints(trial(falling, 0.3), study('accuracy')).name, 'Log loss');
  equal(stepPoints(trial(falling, 0.3), study('accuracy')).best.x, 30);
  equal(stepPoints(trial(falling, 0.3), study('r2')).name, 'RMSE');
  equal(stepPoints(trial(falling, 0.3), study('r2')).best.x, 30);
});
await test('AUC that a fold lacks is chosen by log loss, which the chosen value tells', () => {
  const c = stepPoints(trial(falling, 0.3), study('auc'));
  equal([c.name, c.isLower, c.best.x], ['Log loss', true, 30]);
});
await test(
    'the marked step is the one the model was taken at',
    () => equal(stepPoints(trial(rising, 0.95, { steps: 20 }), study('auc')).best.x, 20));
await test('metrics that are not known go the study’s way under their own name', () => {
  const c = stepPoints(trial(falling, 0.3), study('pinball_05', true));
  equal([c.name, c.best.x], ['pinball 05', 30]);
  equal(metricName(null), 'Score');
});
await test(
    'holes in a curve are left out',
    () => equal(
        stepPoints(trial([[1, null], [2, 0.5], [3, 0.6], [4, 0.7]], 0.7), study('auc'))
            .points.length,
        3));
await test('the score where a trial stands belongs to its rungs, in order', () => {
  const t = {
    level: 3,
    score: 0.9,
    se: 0.01,
    reports: [{ level: 2, value: 0.8, se: 0.02 }, { level: 1, value: 0.7, se: 0.03 }]
  };
  equal(rungPoints(t).map((p) => [p.x, p.y]), [[1, 0.7], [2, 0.8], [3, 0.9]]);
});
await test('pictures have a caption and words that name the metric', () => {
  const box = curvesOf(
      {...trial(rising, 0.95), reports: [{ level: 1, value: 0.7 }, { level: 2, value: 0.8 }] },
      study('auc'));
  equal(
      box.all('figcaption').map((c) => c.textContent),
      ['AUC at each rung', 'AUC on validation rows by step']);
  ok(box.all('svg').every((s) => s.getAttribute('aria-label').includes('AUC')),
     'every picture says AUC');
  ok(!box.textContent.includes('loss'), 'nothing speaks of a loss');
});
await test(
    'two points make no curve',
    () => equal(curvesOf(trial(rising.slice(0, 2), 0.8), study('auc')), null));
end();
