// epochs.js - how the networks of one trial learned: a small chart over the epochs for the training
// loss, the score on the held-out rows, the learning rate, the length of the gradient and the rows
// trained per second, and the same numbers as a table. The numbers are means over the folds. They
// arrive while the trial trains. What is not known for any epoch has no chart.

import {frame, path, span} from './curve.js';
import {h, patch, replace, s, setText} from './dom.js';
import {count, fixed} from './format.js';
import {metricName} from './metrics.js';

/** Formats a number that may be very large or very small, such as 0.0412, 116,223 or 3.1e+30. */
export function shortNumber(v) {
  if (!Number.isFinite(v)) return fixed(v, 0);
  const size = Math.abs(v);
  if (size !== 0 && (size < 1e-4 || size >= 1e8)) return v.toExponential(1);
  return fixed(v, size >= 1000 ? 0 : size >= 10 ? 2 : 4);
}

/** Returns the columns of a run that have numbers: key, name, and the points {x: epoch, y}. */
export function epochColumns(run) {
  const all = [
    ['train_loss', 'Training loss'], ['score', `${metricName(run.metric)} on validation rows`],
    ['learning_rate', 'Learning rate'], ['gradient_norm', 'Length of the gradient'],
    ['samples_per_s', 'Rows trained per second']
  ];
  return all
      .map(
          ([key, name]) => ({
            key,
            name,
            points:
                run.epoch.map((x, i) => ({ x, y: run[key][i] })).filter((p) => Number.isFinite(p.y))
          }))
      .filter((c) => c.points.length > 0);
}

/** Returns the point with the best score of a run. */
export function bestPoint(run, points) {
  const isBetter = (a, b) => (run.larger_is_better ? a.y > b.y : a.y < b.y);
  return points.reduce((best, p) => (best === null || isBetter(p, best) ? p : best), null);
}

/** Returns the epochs that a new attempt of the trial began with. */
export function newAttempts(run) {
  const known = run.epoch.map((x, i) => ({ x, by: run.fence[i] })).filter((p) => p.by !== null);
  return known.filter((p, i) => i > 0 && p.by !== known[i - 1].by).map((p) => p.x);
}

function chart(run, column) {
  const { key, name, points } = column, last = points.at(-1);
  const marked = key === 'score' ? bestPoint(run, points) : last;
  const mark = key === 'score' ? `best ${shortNumber(marked.y)} in epoch ${count(marked.x)}` :
                                 `${shortNumber(last.y)} in epoch ${count(last.x)}`;
  const f = frame(
      points,
      `${name} by epoch, from ${shortNumber(points[0].y)} in epoch ${count(points[0].x)} to ${
          shortNumber(last.y)} in epoch ${count(last.x)}${key === 'score' ? `, ${mark}` : ''}`,
      (v) => `epoch ${count(v)}`, shortNumber);
  for (const x of newAttempts(run))
    if (x >= points[0].x && x <= last.x)
      f.svg.append(s('line', { class: 'c-rung', x1: f.x(x), x2: f.x(x), ...span }));
  f.svg.append(
      s('path', { class: 'c-line', d: path(points, f) }),
      s('circle', { class: 'c-dot', cx: f.x(marked.x), cy: f.y(marked.y), r: 3.2 }));
  return h('figure', {}, h('figcaption', {}, `${name}: ${mark}`), f.svg);
}

/** Says in words what the charts are of. */
export function epochsText(answer) {
  const run = answer.runs.at(-1), before = answer.runs.slice(0, -1), n = run.epoch.at(-1);
  const of = (k, one, many) => `${count(k)} ${k === 1 ? one : many}`;
  const folds = (r) => (r.folds === 1 ? 'on one fold' : `on ${r.folds} folds`);
  const resumed = newAttempts(run);
  return [
    `${of(n, 'epoch', 'epochs')} ${folds(run)}${answer.live ? ' so far' : ''}.`,
    run.folds > 1 ? 'The numbers are means over the folds.' : '',
    resumed.length ? `Dashed: another attempt went on from its checkpoint in ${
                         resumed.map((x) => `epoch ${count(x)}`).join(', ')}.` :
                     '',
    before.length ? `Before that, lower levels took ${
                        before.map((r) => `${of(r.epoch.at(-1), 'epoch', 'epochs')} ${folds(r)}`)
                            .join(' and ')}.` :
                    ''
  ].filter(Boolean)
      .join(' ');
}

function table(run, columns) {
  const heads = ['Epoch', ...columns.map((c) => c.name)];
  return h(
      'table', {}, h('caption', { class: 'unseen' }, 'Numbers of each epoch'),
      h('thead', {}, h('tr', {}, heads.map((t) => h('th', { scope: 'col' }, t)))),
      h('tbody', {},
        run.epoch.map(
            (x, i) =>
                h('tr', {}, h('th', { scope: 'row' }, count(x)),
                  columns.map(
                      (c) => h(
                          'td', {}, run[c.key][i] === null ? '–' : shortNumber(run[c.key][i])))))));
}

/** Makes the part of an opened trial that shows its epochs; it is hidden until it is given some. */
export function makeEpochs() {
  const about = h('p', { class: 'quiet' }), charts = h('div', { class: 'curves' });
  const box = h(
      'div',
      { class: 'epochs-box', tabindex: 0, role: 'region', 'aria-label': 'Numbers of each epoch' });
  const more = h('details', {}, h('summary', {}, 'Numbers of each epoch'), box);
  const el =
      h('section', { class: 'epochs', hidden: true, 'aria-label': 'Training by epoch' }, about,
        charts, more);
  let run = null;

  function fillTable() {
    if (run && more.open)
      patch(box, `${run.level} ${run.epoch.at(-1)}`, () => [table(run, epochColumns(run))]);
  }
  more.addEventListener('toggle', fillTable);

  return {
    el,
    clear() {
      run = null;
      el.hidden = true;
      more.open = false;
      patch(box, '', () => []);
      replace(charts);
    },
    /** Shows the answer of /trials/ID/epochs. */
    update(answer) {
      if (!answer.runs.length) return;
      run = answer.runs.at(-1);
      const columns = epochColumns(run);
      el.hidden = columns.length === 0;
      setText(about, epochsText(answer));
      replace(charts, columns.map((c) => chart(run, c)));
      fillTable();
    },
  };
}
