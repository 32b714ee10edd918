// test_columns.mjs - the columns of one model, and of an ensemble: by weight, without members that
// tell nothing. Run by tests/run.sh.

import {adjustedOf, inputsOf, pipelineOf} from '../../../web/static/columns.js';

import {end, equal, test} from './cases.mjs';

const inputs = [{ name: 'a', importance: 0.75 }, { name: 'b', importance: 0.25 }];
const schema = {
  members: [
    { weight: 0.5, family: 'mlp', schema: { inputs: [{ name: 'a' }], pipeline: 'dense' } },
    { weight: 0.3, family: 'boost', schema: { inputs, pipeline: 'bins' } },
    { weight: 0.2, family: 'linear', schema: { inputs: [{ name: 'c', importance: 1 }] } }
  ]
};

await test('the columns of one model are as they stand', () => {
  equal(inputsOf({ inputs }), inputs);
  equal(pipelineOf({ family: 'boost', pipeline: 'x' }), ['x', 'boost']);
});

await test('those of an ensemble count by the weights of members that tell something', () => {
  const rounded = inputsOf(schema).map((c) => [c.name, Number(c.importance.toFixed(6))]);
  equal(rounded, [['a', 0.45], ['b', 0.15], ['c', 0.4]]);
  equal(inputsOf({ members: [{ weight: 1 }] }), []);
});

await test('of an ensemble the heaviest member is drawn', () => {
  equal(pipelineOf(schema), ['dense', 'mlp']);
});

await test('what is done to the outputs is told, and nothing else', () => {
  equal(adjustedOf({ classes: ['no', 'yes'] }), []);
  equal(
      adjustedOf({ classes: ['no', 'yes'], calibration: { slope: 1.5 }, threshold: 0.25 }),
      ['probabilities calibrated (slope 1.50)', '“yes” predicted above 0.250']);
  equal(adjustedOf({ intervals: { rows: 1500 } }), ['intervals from 1,500 held-out rows']);
});

end();
