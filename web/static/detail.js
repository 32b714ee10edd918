// detail.js - the details below an opened row of the leaderboard: the reason for the trial's state,
// its configuration, its curves and its attempts. Each part is filled when its data arrives, and is
// drawn again only when its data changes.

import {downloadLink} from './cells.js';
import {h, patch} from './dom.js';
import {makeEpochs} from './epochs.js';
import {duration, value, when} from './format.js';
import {makeOutput} from './output.js';
import {makePipeline} from './pipeline.js';
import {attemptText, reasonText} from './why.js';

function configOf(r) {
  if (!r.config) return [h('p', { class: 'quiet' }, 'Asking for the configuration…')];
  const all = Object.entries(r.config).filter(([k]) => k !== 'family');
  if (!all.length) return [h('p', { class: 'quiet' }, 'This trial has no parameters to choose.')];
  return [
    h('dl', { class: 'config' },
      all.map(([k, v]) => h('div', {}, h('dt', {}, k.replaceAll('_', ' ')), h('dd', {}, value(v)))))
  ];
}

function noModel(r) {
  if (r.family === 'own') return 'Its program keeps what it makes.';
  if (['failed', 'cancelled', 'pruned'].includes(r.state))
    return 'No model: this trial did not run to its end.';
  return r.state === 'completed' ? 'The model of this trial was not kept.' : 'No model yet.';
}

/** Attempts are shown only if there was more than one, or if the only one did not end well. */
function attemptsOf(attempts) {
  const worth = attempts.length > 1 ||
      attempts.some((a) => a.end_reason && !['complete', 'prune', 'pause'].includes(a.end_reason));
  if (!worth) return [];
  const heads = ['Attempt', 'Runner', 'Levels', 'Took', 'Ended'];
  return [h(
      'table', { class: 'attempts' }, h('caption', { class: 'unseen' }, 'Attempts'),
      h('thead', {}, h('tr', {}, heads.map((t) => h('th', { scope: 'col' }, t)))),
      h('tbody', {},
        attempts.slice(-20).map(
            (a) =>
                h('tr', {}, h('th', { scope: 'row' }, `#${a.fence}`),
                  h('td', {}, `${a.runner} · ${a.device}`),
                  h('td', {}, a.from === a.to ? `${a.to}` : `${a.from} to ${a.to}`),
                  h('td', { title: when(a.started_at) },
                    a.ended_at ? duration(a.ended_at - a.started_at) : 'runs'),
                  h('td', {}, a.end_reason ? attemptText(a.end_reason) : '–')))))];
}

export function makeDetail(span, {onVariant}) {
  const why = h('p', { class: 'trial-why' }), config = h('div'),
        curves = h('div', { class: 'curve-room' }), epochs = makeEpochs(), output = makeOutput(),
        pipeline = makePipeline(), attempts = h('div'), links = h('p', { class: 'detail-links' });
  const tr =
      h('tr', { class: 'detail' },
        h('td', { colspan: span },
          h('div', { class: 'detail-in' }, why, config, curves, epochs.el, pipeline.el, output.el,
            attempts, links)));
  let drawn = null;

  return {
    tr,
    update(r) {
      if (drawn !== r) {
        patch(curves, `${r.number}`, () => []);
        patch(attempts, `${r.number}`, () => []);
        epochs.clear();
        output.clear();
        pipeline.clear();
      }
      drawn = r;
      const text = r.state === 'completed' && !r.detail ? '' : reasonText(r);
      why.hidden = !text;
      patch(why, `${r.number} ${text}`, () => text);
      patch(config, `${r.number} ${r.config ? 1 : 0}`, () => configOf(r));
      patch(
          links, `${r.number} ${r.artifact} ${r.state} ${r.config ? 1 : 0}`,
          () =>
              [r.artifact ? downloadLink(r, 'Download this model') :
                            h('span', { class: 'quiet' }, noModel(r)),
               r.config ? h('button', {
                 type: 'button',
                 class: 'plain link',
                 onclick: () => navigator.clipboard?.writeText(JSON.stringify(r.config))
               },
                            'Copy as JSON') :
                          null,
               onVariant && r.config ?
                   h('button', { type: 'button', class: 'plain link', onclick: () => onVariant(r) },
                     'Try a variant') :
                   null]);
    },
    /**
     * Shows what the complete answer of the API about this trial adds, and the curves made from it.
     */
    show(r, trial, pictures) {
      if (drawn !== r) return;
      patch(
          curves, `${r.number} ${JSON.stringify([trial.reports, trial.info?.curve, trial.score])}`,
          () => (pictures ? [pictures] : []));
      patch(
          attempts, `${r.number} ${JSON.stringify(trial.attempts)}`,
          () => attemptsOf(trial.attempts || []));
    },
    /** Shows how the networks of this trial learned, as the API tells it. */
    showEpochs(r, answer) {
      if (drawn === r) epochs.update(answer);
    },
    /** The number of the last piece of output that is shown of this trial. */
    outputAt: (r) => (drawn === r ? output.next() : 0),
    /** Shows what the program of this trial printed since then, as the API tells it. */
    showOutput(r, answer) {
      if (drawn === r) output.update(answer);
    },
    /** Shows what becomes of the table's columns in this trial, as the API tells it. */
    showPipeline(r, answer) {
      if (drawn === r) pipeline.update(answer.pipeline, answer.family);
    },
  };
}
