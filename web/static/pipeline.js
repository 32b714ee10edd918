// pipeline.js - draws what becomes of the columns of a table until a model reads them: groups of
// columns with the same steps, the steps, and the model. The JSON is that of ml/prep/describe.h.

import {h, patch} from './dom.js';
import {count} from './format.js';

const TYPES = {
  number: ['number', 'numbers'],
  category: ['category', 'categories'],
  code: ['code', 'codes'],
  date: ['date', 'dates'],
  text: ['text', 'texts'],
  list: ['list', 'lists'],
  pair: ['pair of columns', 'pairs of columns'],
  together: ['column', 'columns together'],
  pixel: ['pixel', 'pixels'],
  other: ['other column', 'other columns']
};
const SHOWN = 4;

/** "3 dates" */
export function sizeText(group) {
  const words = TYPES[group.type] || ['column', 'columns'];
  return `${count(group.n)} ${words[group.n === 1 ? 0 : 1]}`;
}

/** "age, hours and 3 more" */
export function namesText(group, most = SHOWN) {
  const names = group.columns.slice(0, most), more = group.n - names.length;
  if (!more) return names.join(', ');
  return names.length ? `${names.join(', ')} and ${count(more)} more` : `${count(more)} columns`;
}

/** What the model reads, in words. */
export function readText(pipeline) {
  if (pipeline.form === 'none') return 'reads no column';
  const inputs = `${count(pipeline.inputs)} ${pipeline.inputs === 1 ? 'input' : 'inputs'}`;
  return pipeline.width ? `reads ${inputs} as a row of ${count(pipeline.width)} numbers` :
                          `reads ${inputs}`;
}

function laneOf(group) {
  const steps = group.steps.length ? group.steps : [{ say: 'in several ways', inputs: 0 }];
  return h(
      'li', { class: 'lane' },
      h('div', { class: 'lane-from', title: namesText(group, group.columns.length) },
        h('b', {}, sizeText(group)), h('span', {}, namesText(group))),
      h('ul', { class: 'lane-steps' },
        steps.map(
            (step) =>
                h('li', {}, step.say,
                  step.inputs > 1 && step.inputs !== group.n ?
                      h('span', { class: 'lane-n' }, ` ${count(step.inputs)}`) :
                      null))),
      h('div', { class: 'lane-to', title: 'inputs of the model' }, count(group.inputs)));
}

function droppedOf(pipeline) {
  if (!pipeline.dropped.length) return null;
  return h(
      'p', { class: 'lane-dropped' },
      'Left out: ', pipeline.dropped.map((d) => `${namesText(d)} (${d.why})`).join('; '));
}

function drawn(pipeline, model) {
  return [
    h('p', { class: 'lanes-head' }, 'What becomes of the columns'),
    h('div', { class: 'lanes' },
      h('ul', { class: 'lanes-in', 'aria-label': 'Columns and what becomes of them' },
        pipeline.groups.map(laneOf)),
      h('div', { class: 'lanes-model' }, h('b', {}, model), h('span', {}, readText(pipeline)))),
    droppedOf(pipeline)
  ];
}

/** {el, update(pipeline, model), clear()}: hidden while there is nothing to show. */
export function makePipeline() {
  const el = h('div', { class: 'pipeline', role: 'group', 'aria-label': 'Pipeline', hidden: true });
  return {
    el,
    update(pipeline, model) {
      el.hidden = !pipeline?.groups;
      patch(el, JSON.stringify([pipeline, model]), () => (el.hidden ? [] : drawn(pipeline, model)));
    },
    clear() {
      this.update(null, '');
    }
  };
}
