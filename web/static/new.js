// new.js - the view that starts a new study. The spec is a text on the left. The right side shows
// what the study would do, or the first error with its line. Both come from the server, which is
// asked while the user types; the page does not check the spec itself.

import * as api from './api.js';
import {announce, h, replace, setText} from './dom.js';
import {count, duration} from './format.js';
import {lineOf} from './where.js';

/**
 * Writes a name for YAML, in quotes if it holds anything but letters, digits, underscores, dots and
 * dashes.
 */
const plain = (name) => /^[\w.-]+$/.test(name) ? name : JSON.stringify(name);

const ASK_MS = 350;

/** Lists names in comments, several in a line. */
function listed(searchers) {
  const lines = [];
  for (const { name } of searchers) {
    if (!lines.length || lines[lines.length - 1].length + name.length > 32)
      lines.push(name);
    else
      lines[lines.length - 1] += `, ${name}`;
  }
  return lines.join(`\n#${' '.repeat(23)}# `);
}

/** Returns the metric that `auto` would choose for a target column. */
function metricOf(column) {
  if (column?.type === 'numeric') return 'rmse';
  return column?.levels?.length > 2 ? 'logloss' : 'auc';
}

function template(dataset, names) {
  const columns = dataset?.schema?.columns || [], last = columns[columns.length - 1],
        target = last?.name || 'TARGET', metric = metricOf(last);
  return `dataset: ${dataset?.name || 'DATASET'}
target: ${plain(target)}
budget: {time: 10m}     # or {trials: 200}
# metric: ${metric}
# objectives: [${metric}, predict_time]
# sampler: tpe          # ${names.samplers}
# scheduler: asha       # ${names.schedulers}
# resource: rows        # or rounds: what halving spends
# space:
#   - {family: boost, learning_rate: {log: [0.01, 0.3]}}
`;
}

/**
 * Returns the spec with another dataset. Only the value after `dataset:` is changed, so that
 * everything else that the user wrote is kept. Returns null if there is no such line.
 */
export function withDataset(text, name) {
  const re = /^(dataset:[ \t]*)(?:"[^"\n]*"|'[^'\n]*'|[^#\n]*?)([ \t]*(?:#[^\n]*)?)$/m,
        value = plain(name);
  return re.test(text) ?
      text.replace(re, (all, key, comment) => `${key.trimEnd()} ${value}${comment}`) :
      null;
}

/** Returns true if a spec has nothing but comments and empty lines. */
export function isEmpty(text) {
  return text.split('\n').every((line) => /^\s*(#.*)?$/.test(line));
}

function searcher(name, chosen, why) {
  return h(
      'p', {}, h('span', { class: 'quiet' }, `${name} `), h('strong', {}, chosen),
      why ? h('span', { class: 'quiet' }, ` (auto: ${why})`) : null);
}

function linesTable(lines) {
  const heads = [
    ['Family'], ['Level', true], ['Trials', true], ['At worst', true], ['What a trial does there']
  ];
  return h(
      'table', { class: 'list' }, h('caption', { class: 'unseen' }, 'Trials by family and level'),
      h('thead', {},
        h('tr', {},
          heads.map(([name, num]) => h('th', { scope: 'col', class: num ? 'num' : null }, name)))),
      h('tbody', {},
        lines.map(
            (l) =>
                h('tr', {}, h('th', { scope: 'row' }, l.family),
                  h('td', { class: 'num' }, `${l.level}/${l.max_level}`),
                  h('td', { class: 'num' }, count(l.typical)),
                  h('td', { class: 'num' }, count(l.most)),
                  h('td', { class: 'quiet' }, l.what || '')))));
}

function costText(cost) {
  if (!cost || !Number.isFinite(cost.typical_ms))
    return 'How long it takes is unknown: the table has not been read yet.';
  return `About ${duration(cost.typical_ms)} of one device, at most ${duration(cost.most_ms)} (${
      cost.measured ? 'from trials on this table' : 'by formula: no trial has run on it'}).`;
}

function previewBox(p) {
  return [
    searcher('Sampler', p.sampler, p.sampler_why),
    searcher('Scheduler', p.scheduler, p.scheduler_why),
    h('p', {}, h('strong', {}, count(p.trials)),
      p.open ? ' trials to begin with: the spec limits the time, not their number' : ' trials',
      p.deterministic ?
          h('span', { class: 'quiet' }, ' · deterministic: the same result on any machine') :
          null),
    h('p', { class: 'quiet' }, costText(p.cost)),
    h('div', { class: 'wide-table' }, linesTable(p.lines))
  ];
}

export function newView(root, params, showError) {
  const told =
      h('div', { class: 'told', role: 'status', 'aria-live': 'polite' },
        h('p', { class: 'quiet' }, 'What the spec would do is shown here.'));
  const text = h('textarea', {
    id: 'spec',
    rows: 18,
    spellcheck: 'false',
    autocomplete: 'off',
    'aria-label': 'Search spec, YAML or JSON',
    oninput: () => ask()
  });
  const start = h('button', { type: 'submit', class: 'button primary', disabled: '' }, 'Start');
  const tables = h('select', { 'aria-label': 'Dataset', onchange: () => fill(tables.value) });
  let names = { samplers: 'random', schedulers: 'none' }, asked = 0, isStopped = false,
      timer = null, filled = '', hasTables = true;

  /** Shows an error of the spec with its key and its line. */
  function wrong(err) {
    const line = lineOf(text.value, err.where);
    start.disabled = true;
    text.setAttribute('aria-invalid', 'true');
    replace(
        told,
        h('p', { class: 'bad' },
          err.where && !err.message.startsWith(err.where) ? h('strong', {}, `${err.where}: `) :
                                                            null,
          err.message, line ? h('span', { class: 'quiet' }, ` (line ${line})`) : null));
  }

  async function preview() {
    const mine = ++asked, spec = text.value;
    if (isEmpty(spec)) {
      text.removeAttribute('aria-invalid');
      replace(
          told, h('p', {}, 'The spec is empty. It needs two lines at least:'),
          h('pre', {}, h('code', {}, 'dataset: NAME\ntarget: COLUMN')));
      return;
    }
    if (!hasTables && spec === filled) {
      replace(
          told, h('p', {}, 'A study needs a table, and there is none yet. Add one in a terminal:'),
          h('pre', {}, h('code', {}, 'assay data add train.csv --name mytable')),
          h('p', { class: 'quiet' }, 'Then open this page again.'));
      return;
    }
    try {
      const p = await api.sendSpec('/studies:preview', spec);
      if (mine !== asked || isStopped) return;
      text.removeAttribute('aria-invalid');
      start.disabled = !api.mayWrite();
      replace(told, previewBox(p));
    } catch (err) {
      if (mine !== asked || isStopped) return;
      if ([400, 404, 409, 413, 422].includes(err.status))
        wrong(err);
      else
        showError(err);
    }
  }

  function ask() {
    clearTimeout(timer);
    start.disabled = true;
    timer = setTimeout(preview, ASK_MS);
  }

  async function fill(name) {
    try {
      const changed = text.value !== filled && !isEmpty(text.value) ?
          withDataset(text.value, name || 'DATASET') :
          undefined;
      if (changed === null) {
        announce('The spec has no line that begins with dataset: it was left as it is');
        replace(
            told,
            h('p', { class: 'quiet' },
              `The spec has no line that begins with “dataset:”. Write dataset: ${name}.`));
        return;
      }
      text.value = changed ??
          (filled = template(
               name ? await api.get(`/datasets/${encodeURIComponent(name)}`) : null, names));
      ask();
    } catch (err) {
      showError(err);
    }
  }

  async function submit(e) {
    e.preventDefault();
    start.disabled = true;
    try {
      const study = await api.sendSpec('/studies', text.value);
      announce(`Study ${study.name} was started`);
      location.hash = `#/studies/${study.id}`;
    } catch (err) {
      if ([400, 404, 409, 413, 422].includes(err.status))
        wrong(err);
      else
        showError(err);
    }
  }

  async function load() {
    try {
      const known = await api.get('/searchers');
      names = { samplers: listed(known.samplers), schedulers: listed(known.schedulers) };
      const ready = (await api.get('/datasets')).datasets.filter((d) => d.state === 'ready');
      replace(tables, ready.map((d) => h('option', { value: d.name }, d.name)));
      tables.hidden = ready.length === 0;
      hasTables = ready.length > 0;
      await fill(ready[0]?.name || null);
      text.focus();
    } catch (err) {
      showError(err);
    }
  }

  document.title = 'New study · Assay';
  root.append(
      h('p', { class: 'crumb' }, h('a', { href: '#/' }, 'Studies')),
      h('form', { onsubmit: submit },
        h('div', { class: 'bar head spec-head' }, h('h1', {}, 'New study'),
          h('span', { class: 'grow' }), tables, start),
        h('div', { class: 'spec' }, h('section', { class: 'card', 'aria-label': 'Spec' }, text),
          h('section', { class: 'card', 'aria-label': 'Preview' }, told))));
  if (!api.mayWrite()) setText(told, 'This token may look at studies, but not start them.');
  load();
  return {
    stop() {
      isStopped = true;
      clearTimeout(timer);
    }
  };
}
