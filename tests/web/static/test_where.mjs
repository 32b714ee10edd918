// test_where.mjs - the line of a spec that an error speaks of, in every form that a spec is written
// in. Run by tests/run.sh.

import {lineOf} from '../../../web/static/where.js';

import {end, equal, test} from './cases.mjs';

const block = `# a spec
dataset: train

target: y
budget:
  # how much
  time: 10m
  trials: 20
space:
  - family: boost
    leaves: {int_log: [4, 256]}
    learning_rate:
      log: [0.1, 0.2]
  - family: linear
    l1: 3
seed: 1
`;
const flow = `dataset: train
target: y
space: [{family: boost, leaves: 3},
        {family: linear,
         l1: "a, b: {c}", l2: 4}]
budget: {time: 10m,  # or
  trials: 3}
`;
const json = JSON.stringify(
    {
      dataset: 'train',
      space: [{ family: 'boost' }, { family: 'linear', l1: 3 }],
      budget: { trials: 3 }
    },
    null, 2);

await test(
    'keys of the first level',
    () => equal(
        ['dataset', 'target', 'budget', 'space', 'seed'].map((w) => lineOf(block, w)),
        [2, 4, 5, 9, 16]));
await test(
    'keys within keys',
    () => equal(
        ['budget.time', 'budget.trials', 'space[0].learning_rate.log'].map((w) => lineOf(block, w)),
        [7, 8, 13]));
await test(
    'keys within the items of a list',
    () => equal(
        [
          'space[0]', 'space[0].family', 'space[0].leaves', 'space[0].learning_rate', 'space[1]',
          'space[1].family', 'space[1].l1'
        ].map((w) => lineOf(block, w)),
        [10, 10, 11, 12, 14, 14, 15]));
await test(
    'items that stand below their key without a further indent',
    () => equal(
        lineOf(
            'space:\n- family: boost\n  leaves: 3\n- family: linear\n  l1: 2\nseed: 1\n',
            'space[1].l1'),
        5));
await test(
    'flow form over lines',
    () => equal(
        [
          'space[0].leaves', 'space[1]', 'space[1].l1', 'space[1].l2', 'budget.time',
          'budget.trials'
        ].map((w) => lineOf(flow, w)),
        [3, 4, 5, 5, 6, 7]));
await test(
    'JSON',
    () =>
        equal(['dataset', 'space[1].l1', 'budget.trials'].map((w) => lineOf(json, w)), [2, 9, 13]));
await test(
    'a path leads as far as the text does',
    () => equal(
        [
          lineOf(block, 'budget.memory'), lineOf(block, 'space[7].l1'),
          lineOf(block, 'scheduler.eta'), lineOf(block, ''), lineOf('', 'dataset'),
          lineOf(block, null)
        ],
        [5, 9, null, null, null, null]));
await test(
    'a key of the same name elsewhere is not taken for it',
    () => equal(lineOf('a:\n  trials: 1\nbudget:\n  trials: 2\n', 'budget.trials'), 4));
end();
