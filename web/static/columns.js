// columns.js - the card with the importance of the table's columns for the best model. The shares
// are read from the model's file. The file may have megabytes, but its description stands near its
// beginning, so only that part is fetched.

import * as api from './api.js';
import {h, replace, setText} from './dom.js';
import {count, fixed} from './format.js';
import {makePipeline} from './pipeline.js';

const SHOWN = 10, FRONT = 1 << 16, HEAD = 20, ENTRY = 56;

/**
 * The section "schema" of a model file (ml/model/artifact.h): magic, three numbers, then a table
 * of {name[8], offset, length, hash}.
 */
async function schemaOf(path, signal) {
  let front = await api.bytes(path, 0, FRONT, signal);
  const view = new DataView(front), text = new TextDecoder();
  if (text.decode(front.slice(0, 8)) !== 'ASSAYMDL') throw new Error('not a model file');
  for (let i = 0; i < view.getUint32(16, true) && HEAD + (i + 1) * ENTRY <= front.byteLength; i++) {
    const at = HEAD + i * ENTRY, from = Number(view.getBigUint64(at + 8, true)),
          length = Number(view.getBigUint64(at + 16, true));
    if (text.decode(front.slice(at, at + 6)) !== 'schema') continue;
    if (from + length <= front.byteLength)
      front = front.slice(from, from + length);
    else
      front = await api.bytes(path, from, length, signal);
    return JSON.parse(text.decode(front));
  }
  throw new Error('a model file without a description');
}

/**
 * The columns with their importance. Those of an ensemble's members count by weight, as in `assay
 * explain`; members that tell nothing of it (networks) are left out.
 */
export function inputsOf(schema) {
  if (!schema.members) return schema.inputs;
  const sums = new Map();
  let known = 0;
  for (const m of schema.members) {
    const inputs = (m.schema?.inputs || []).filter((c) => Number.isFinite(c.importance));
    const weight = Math.abs(m.weight);
    if (inputs.length) known += weight;
    for (const c of inputs) sums.set(c.name, (sums.get(c.name) || 0) + weight * c.importance);
  }
  return [...sums].map(([name, sum]) => ({ name, importance: sum / known }));
}

/** Of an ensemble that of its member with the largest weight. */
export function pipelineOf(schema) {
  const heaviest = [...schema.members || []].sort((a, b) => b.weight - a.weight)[0];
  return heaviest ? [heaviest.schema?.pipeline, heaviest.family] : [schema.pipeline, schema.family];
}

/** What is done to the outputs of the model before people see them. */
export function adjustedOf(schema) {
  const { classes, calibration, power, threshold, intervals } = schema;
  return [
    calibration && `probabilities calibrated (slope ${fixed(calibration.slope, 2)})`,
    power && `mean of the fold models made surer (power ${fixed(power, 2)})`,
    threshold && `“${classes?.[1]}” predicted above ${fixed(threshold, 3)}`,
    intervals && `intervals from ${count(intervals.rows)} held-out rows`
  ].filter(Boolean);
}

function rowOf(column, most) {
  const fill = h('span', { class: 'share-fill' });
  fill.style.width = `${100 * column.importance / most}%`;
  return h(
      'tr', {}, h('th', { scope: 'row', title: column.name }, column.name),
      h('td', { class: 'share', 'aria-hidden': 'true' }, fill),
      h('td', { class: 'num' }, `${fixed(100 * column.importance, 1)} %`));
}

export function makeColumns(path, showError) {
  const body = h('tbody'), note = h('p', { class: 'sub' }), pipeline = makePipeline();
  const table =
      h('table', { class: 'shares columns' },
        h('caption', { class: 'unseen' }, 'Importance of columns'),
        h('thead', { class: 'unseen' },
          h('tr', {}, ['Column', 'Bar', 'Importance'].map((t) => h('th', { scope: 'col' }, t)))),
        body);
  const more = h('button', {
    type: 'button',
    class: 'plain link',
    hidden: true,
    onclick: () => {
      isAll = !isAll;
      draw();
    }
  });
  const box =
      h('section', { class: 'card', 'aria-labelledby': 'columns-head', hidden: true },
        h('div', { class: 'bar tight' }, h('h2', { id: 'columns-head' }, 'Columns')), table, more,
        note, pipeline.el);
  let schema = null, isAll = false, asked = null, shownOf = null;

  function draw() {
    const all = inputsOf(schema)
                    .filter((c) => Number.isFinite(c.importance))
                    .sort((a, b) => b.importance - a.importance);
    const most = Math.max(1e-9, ...all.map((c) => c.importance)),
          unread = all.filter((c) => c.importance === 0).length;
    const [drawn, family] = pipelineOf(schema);
    box.hidden = !all.length && !drawn;
    pipeline.update(drawn, family);
    replace(body, (isAll ? all : all.slice(0, SHOWN)).map((c) => rowOf(c, most)));
    more.hidden = all.length <= SHOWN;
    setText(more, isAll ? 'Show fewer' : `Show all ${count(all.length)}`);
    setText(note, [
      schema.family === 'linear' ?
          'Shares of the weights of standardised columns in the best model' :
          'Shares of what splits gained in the best model',
      unread ? `${count(unread)} worth nothing` : '', ...adjustedOf(schema)
    ].filter(Boolean).join(' · '));
  }

  return {
    box,
    /** `key` identifies the best model. A second call with the same key does nothing. */
    async show(key) {
      if (key === shownOf) return;
      shownOf = key;
      asked?.abort();
      asked = new AbortController();
      try {
        schema = await schemaOf(`${path}/best/artifact`, asked.signal);
        draw();
      } catch (err) {
        if (err.status === 404) return;  // there is no file yet; the next best model is tried
        shownOf = null;
        if (err.name !== 'AbortError') showError(err);
      }
    },
    stop() {
      asked?.abort();
    },
  };
}
