// test_pipeline.mjs - the words of a drawn pipeline (web/static/pipeline.js).

import {namesText, readText, sizeText} from '../../../web/static/pipeline.js';

import {end, equal, test} from './cases.mjs';

const group = (type, n, columns) => ({ type, n, columns, inputs: n, steps: [] });

await test('a group is counted in words', () => {
  equal(sizeText(group('number', 1, ['a'])), '1 number');
  equal(sizeText(group('category', 12, ['a'])), '12 categories');
  equal(sizeText(group('pair', 2, ['a, b'])), '2 pairs of columns');
  equal(sizeText(group('something new', 3, ['a'])), '3 columns');
});

await test('a few names stand for many', () => {
  equal(namesText(group('number', 2, ['a', 'b'])), 'a, b');
  equal(
      namesText(group('number', 1000, ['a', 'b', 'c', 'd', 'e', 'f'])), 'a, b, c, d and 996 more');
  equal(namesText(group('number', 5, [])), '5 columns');
});

await test('what the model reads', () => {
  equal(readText({ form: 'none', inputs: 3 }), 'reads no column');
  equal(readText({ form: 'bins', inputs: 1 }), 'reads 1 input');
  equal(readText({ form: 'dense', inputs: 3, width: 40 }), 'reads 3 inputs as a row of 40 numbers');
});

end();
